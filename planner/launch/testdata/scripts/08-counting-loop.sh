#!/bin/bash
N=4
for ((i = 0; i < N; i++)); do
  python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --base-gpu-id $i --port $((30000 + i)) &
done
