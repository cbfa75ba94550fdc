#!/bin/bash
CMD="python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B"
CMD+=" --tp 2"
echo "+ $CMD"
eval "$CMD --port 30000 &"
