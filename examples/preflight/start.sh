#!/usr/bin/env bash
# Starts an SGLang server only when sglplan says that it will fit this machine.
#
#   ./start.sh --model-path Qwen/Qwen3-32B --tp-size 2
#
# Options for sglplan itself go into SGLPLAN_OPTIONS, for example
#   SGLPLAN_OPTIONS='--sglang 0.5.23 --tokens-per-request 8000' ./start.sh ...
set -euo pipefail

launch=(python3 -m sglang.launch_server "$@")

# shellcheck disable=SC2086  # several options in one variable are meant
if ! sglplan check ${SGLPLAN_OPTIONS:-} -- "${launch[@]}"; then
  echo "not started: see the findings above" >&2
  exit 1
fi
exec "${launch[@]}"
