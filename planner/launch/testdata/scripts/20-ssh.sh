#!/bin/bash
ssh -p 2222 node0 "python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp 16 --nnodes 2 --node-rank 0 --dist-init-addr node0:5000" &
ssh node1 python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp 16 --nnodes 2 --node-rank 1 --dist-init-addr node0:5000 &
