#!/bin/bash
sudo docker run --rm -itv /m:/models --runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=0,1 -m 256g --ulimit memlock=-1:-1 \
  lmsysorg/sglang:latest bash -c 'export SGLANG_X=1; python3 -m sglang.launch_server --model-path /models/qwen --tp 2 --port $PORT'
