#!/bin/bash
HICACHE=1
QUANT=
ARGS="--model-path Qwen/Qwen3-32B --tp 4"
if [[ "$HICACHE" == 1 ]]; then ARGS="$ARGS --enable-hierarchical-cache --hicache-size 60"; fi
if [ -n "$QUANT" ]; then ARGS="$ARGS --quantization $QUANT"; fi
[ -z "$QUANT" ] || ARGS="$ARGS --never"
python3 -m sglang.launch_server $ARGS
