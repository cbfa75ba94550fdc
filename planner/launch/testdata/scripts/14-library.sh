#!/bin/bash
# sourced by others
run_server() { python3 -m sglang.launch_server --model-path "$MODEL" --tp "${TP:-8}"; }
