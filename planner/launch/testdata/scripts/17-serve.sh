#!/bin/bash
source /opt/venv/bin/activate
/opt/venv/bin/sglang serve Qwen/Qwen3-8B --tp 2 --json-model-override-args '{"num_hidden_layers": 12}'
