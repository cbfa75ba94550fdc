#!/bin/bash
echo "starting python3 -m sglang.launch_server --model-path x"
echo python3 -m sglang.launch_server --model-path x
pkill -f sglang.launch_server
pgrep -f "sglang serve" && exit 1
ps aux | grep python3 -m sglang.launch_server
sglplan check -- python3 -m sglang.launch_server --model-path x || exit 1
python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B 2>&1 | tee server.log
