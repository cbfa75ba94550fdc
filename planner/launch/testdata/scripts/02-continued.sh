#!/bin/bash
# DeepSeek on one node
set -euo pipefail
export NCCL_DEBUG=INFO
export SGLANG_ENABLE_JIT_DEEPGEMM=1
python3 -m sglang.launch_server \
    --model-path deepseek-ai/DeepSeek-R1 \
    --tp 8 \
    --trust-remote-code \
    --mem-fraction-static 0.9 \
    --cuda-graph-max-bs 128   # enough for us
