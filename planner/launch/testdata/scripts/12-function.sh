#!/bin/bash
start() {
  local model=$1 port=$2
  shift 2
  numactl --interleave=all python3 -m sglang.launch_server --model-path "$model" --port "$port" "$@"
}
start Qwen/Qwen3-8B 30000 --tp 2 &
start Qwen/Qwen3-32B 30001 --tp 4 --base-gpu-id 2 &
