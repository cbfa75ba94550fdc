#!/bin/bash
GPUS=$(nvidia-smi -L | wc -l)
HOST=`hostname -i`
read -r CTX
python3 -m sglang.launch_server --model-path "$1" --tp "$GPUS" --host "$HOST" --context-length "$CTX" --served-model-name "$(basename "$1")" "${@:2}"
