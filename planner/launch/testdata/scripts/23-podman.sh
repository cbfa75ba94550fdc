#!/bin/bash
podman run --replace --device nvidia.com/gpu=0 --device nvidia.com/gpu=1 --memory=128g --entrypoint python3 docker.io/lmsysorg/sglang:v0.5.18 -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 2
