#!/bin/bash
docker run --gpus '"device=2,3"' --env-file prod.env ghcr.io/acme/sglang-runtime:0.5.18 --model-path Qwen/Qwen3-32B --tp 2
