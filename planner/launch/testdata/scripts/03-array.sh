#!/usr/bin/env bash
MODEL=moonshotai/Kimi-K2.5
ARGS=(
  --model-path "$MODEL"
  --tp-size 8
)
ARGS+=(--enable-hierarchical-cache --hicache-size 300)
exec python3 -m sglang.launch_server "${ARGS[@]}"
echo never reached
python3 -m sglang.launch_server --model-path never
