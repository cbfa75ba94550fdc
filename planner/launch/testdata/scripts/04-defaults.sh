#!/bin/sh
: "${PORT:=30000}"
MODEL=${MODEL:-Qwen/Qwen3-32B}
TP=${TP_SIZE:-4}
python3 -m sglang.launch_server --model-path $MODEL --tp $TP --port $PORT ${EXTRA_ARGS:-} ${TOKEN:+--api-key $TOKEN}
