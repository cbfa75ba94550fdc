#!/bin/bash
for i in {0..3}; do
  CUDA_VISIBLE_DEVICES=$((2 * i)),$((2 * i + 1)) python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 2 --port $((30000 + i)) &
done
