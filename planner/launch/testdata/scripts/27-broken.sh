#!/bin/bash
python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2
if [ -z "$X" ; then
  echo "no fi
