#!/bin/bash
tmux new-session -d -s sgl "true"
nohup bash -lc "cd /srv && source env.sh && exec python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --api-key '$KEY'" > log 2>&1 &
