#!/bin/bash
docker rm -f sglang || true
docker run -d --name sglang --gpus all \
  --shm-size 32g --ipc=host \
  -p 30000:30000 -v ~/.cache/huggingface:/root/.cache/huggingface \
  -e HF_TOKEN="$HF_TOKEN" --env SGLANG_LOG_MS=1 \
  lmsysorg/sglang:v0.5.9-cu130 \
  python3 -m sglang.launch_server --model-path moonshotai/Kimi-K2.5 --tp 8 --enable-hierarchical-cache --hicache-size 300 --host 0.0.0.0
