#!/bin/bash
for bs in 32 128; do
  python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --cuda-graph-max-bs $bs &
  PID=$!
  until curl -sf localhost:30000/health; do sleep 5; done
  python3 -m sglang.bench_serving --backend sglang --num-prompts 100
  kill $PID
  wait $PID
done
