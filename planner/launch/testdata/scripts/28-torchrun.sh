#!/bin/bash
export OMP_NUM_THREADS=8
time taskset -c 0-31 setsid env FOO=1 torchrun --nproc_per_node 1 -m sglang.launch_server --model-path Qwen/Qwen3-8B
uv run --with sglang python -m sglang.launch_server --model-path Qwen/Qwen3-4B --base-gpu-id 1
