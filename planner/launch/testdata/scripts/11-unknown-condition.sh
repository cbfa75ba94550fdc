#!/bin/bash
ARGS=(--model-path Qwen/Qwen3-32B --tp 4)
if [ -f /etc/big-host ]; then
  ARGS+=(--enable-hierarchical-cache --hicache-size 60)
fi
python3 -m sglang.launch_server "${ARGS[@]}"
