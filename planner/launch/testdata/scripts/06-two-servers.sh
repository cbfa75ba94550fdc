#!/bin/bash
CUDA_VISIBLE_DEVICES=0,1,2,3 nohup python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 4 --port 30000 > a.log 2>&1 &
CUDA_VISIBLE_DEVICES=4,5,6,7 nohup python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 4 --port 30001 > b.log 2>&1 &
wait
