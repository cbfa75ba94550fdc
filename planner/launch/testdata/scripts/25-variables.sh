#!/bin/bash
ROOT=/data/models
NAME=Qwen/Qwen3-32B
SHORT=${NAME##*/}
LOWER=${SHORT,,}
BS=(1 2 4 8)
export CUDA_VISIBLE_DEVICES=${GPUS:-0,1}
python3 -m sglang.launch_server --model-path "$ROOT/${NAME%%/*}--$SHORT" --served-model-name "${LOWER/-32b/}" --cuda-graph-bs "${BS[@]:0:3}" --max-running-requests $(( ${#BS[@]} * 16 )) --log-level {info,}
