#!/bin/bash
case "$1" in
  small) python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B ;;
  large|huge)
    python3 -m sglang.launch_server --model-path Qwen/Qwen3-235B-A22B --tp 8
    ;;
  *) echo "usage: $0 small|large"; exit 1 ;;
esac
