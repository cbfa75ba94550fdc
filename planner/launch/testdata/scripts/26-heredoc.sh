#!/bin/bash
cat > /tmp/run.sh <<'EOF'
python3 -m sglang.launch_server --model-path not-this-one
EOF
python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B
