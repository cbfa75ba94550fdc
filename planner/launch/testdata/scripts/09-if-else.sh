#!/bin/bash
if [ "$NODE_RANK" = 0 ]; then
  python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp 16 --nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:5000
else
  python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp 16 --nnodes 2 --node-rank 1 --dist-init-addr 10.0.0.1:5000
fi
