#!/bin/bash
"${SERVER_CMD}" --model-path Qwen/Qwen3-8B --tp 2
$LAUNCHER $ALL_FLAGS
