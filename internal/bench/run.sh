#!/usr/bin/env bash
# run.sh: measures what docs/benchmarks.md says and prints that page. Times are
# told as ratios, to an empty `python3 -c` or to a Python script that does the
# same, since machines differ. It needs Go, python3, GNU time, and takes
# hyperfine where it is installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$(python3 -c 'import sys; print(sys.executable)') # not a shim that starts a shell first

go build -o "$work/sglplan" ./cmd/sglplan
go build -trimpath -ldflags "-s -w" -o "$work/stripped" ./cmd/sglplan
go run ./internal/bench/setup "$work"

# ms COMMAND...: the fastest of 30 runs, in milliseconds: what else the machine
# does only ever adds.
ms() {
  if command -v hyperfine >/dev/null; then
    hyperfine --shell none --ignore-failure --warmup 5 --runs 30 --export-json "$work/h.json" "$(printf '%q ' "$@")" >/dev/null 2>&1
    python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["results"][0]["min"] * 1000)' "$work/h.json"
  else
    python3 - "$@" <<'P'
import subprocess, sys, time
def once():
    t = time.perf_counter(); subprocess.run(sys.argv[1:], capture_output=True); return time.perf_counter() - t
once(); print(min(once() for _ in range(30)) * 1000)
P
  fi
}

# peak COMMAND...: the resident peak, in MiB.
peak() {
  /usr/bin/time -f %M -o "$work/peak" "$@" >/dev/null 2>&1 || true
  tail -n 1 "$work/peak" | awk '{ printf "%.0f", $1 / 1024 }'
}

# bench PACKAGE NAME: nanoseconds and allocations of a Go benchmark, the fastest
# of three counts, the worst of its cases.
bench() {
  go test -run '^$' -bench "^$2\$" -benchmem -benchtime 0.3s -count 3 "$1" | awk '
    /^Benchmark/ { for (i = 2; i < NF; i++) {
      if ($(i+1) == "ns/op" && (!($1 in ns) || $i < ns[$1])) ns[$1] = $i
      if ($(i+1) == "allocs/op") al[$1] = $i } }
    END { for (k in ns) { if (ns[k] > n) n = ns[k]; if (al[k] > a) a = al[k] }; print n + 0, a + 0 }'
}

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { r = a / b; print (r >= 10) ? sprintf("%.0f", r) : sprintf("%.2f", r) }'; }
time_of() { awk -v n="$1" 'BEGIN { print (n < 1e3) ? sprintf("%.0f ns", n) : (n < 1e6) ? sprintf("%.1f us", n / 1e3) : sprintf("%.2f ms", n / 1e6) }'; }
mib() { awk -v b="$(stat -c %s "$1")" 'BEGIN { printf "%.1f", b / 1048576 }'; }

founding=(check --gpus 8xRTX-PRO-6000-Blackwell --gpu-free 94.04GiB --host-ram 449GB --host-available 445GB --sglang 0.5.9
  -- python3 -m sglang.launch_server --model-path moonshotai/Kimi-K2.5 --tp-size 8 --mem-fraction-static 0.93 --enable-hierarchical-cache --hicache-size 300)
check=("$work/stripped" "${founding[@]}")
headers=("$work/stripped" model "$work/Kimi-K2.5" --tp-size 8 --gpus 8xH200 --sglang 0.5.17)
script=("$python" internal/bench/headers.py "$work/Kimi-K2.5")
fleet=("$work/stripped" check --machines "$work/fleet.jsonl" --sglang 0.5.17 -o json -- --model-path deepseek-ai/DeepSeek-R1 --tp-size 8)

python_ms=$(ms "$python" -c pass)
check_ms=$(ms "${check[@]}")
headers_ms=$(ms "${headers[@]}")
script_ms=$(ms "${script[@]}")
machines=$(wc -l <"$work/fleet.jsonl")
read -r tensors _ < <("${script[@]}")

cat <<P
# Benchmarks

<!-- Written by \`make bench\`; run it again instead of changing this page. -->

Measured on $(nproc) cores of $(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo), $(go env GOVERSION), $(python3 --version). Times of processes are the fastest of 30 runs; absolute ones are of this machine alone.

| what | figure |
| --- | --- |
| the founding check, whole process, beside an empty \`python3 -c pass\` | $(ratio "$check_ms" "$python_ms") of its time ($(printf '%.1f' "$check_ms") ms beside $(printf '%.1f' "$python_ms") ms) |
| its resident peak | $(peak "${check[@]}") MiB |
| the command, stripped | $(mib "$work/stripped") MiB ($(mib "$work/sglplan") MiB with symbols) |
| headers of a checkpoint of a trillion parameters ($tensors tensors in $(find "$work/Kimi-K2.5" -name '*.safetensors' | wc -l) files) and the weights of a rank from them, beside a Python script that only adds the headers up | $(ratio "$headers_ms" "$script_ms") of its time, $(peak "${headers[@]}") MiB beside $(peak "${script[@]}") MiB |
P

go_row() { # what, package, benchmark
  read -r ns allocs < <(bench "$2" "$3")
  echo "| $1 | $(time_of "$ns"), $allocs allocations; $(awk -v p="$python_ms" -v n="$ns" 'BEGIN { printf "%.0f", p * 1e6 / n }') of them in the time of the empty python3 |"
}
go_row "one fraction of a prepared launch" ./planner BenchmarkFraction
go_row "what the start and serving take after the pools" ./planner/sglang/capture BenchmarkNeeds
go_row "check, as a library call" ./planner BenchmarkCheck
go_row "recommend, as a library call" ./planner BenchmarkRecommend

if "${fleet[@]}" >"$work/fleet.out" 2>/dev/null || [ $? -eq 1 ]; then
  fleet_ms=$(ms "${fleet[@]}")
  echo "| one launch on a fleet of $machines machines, one process | $(awk -v m="$fleet_ms" -v n="$machines" 'BEGIN { printf "%.0f us a machine", m * 1000 / n }'), $(peak "${fleet[@]}") MiB; $(ratio "$fleet_ms" "$check_ms") founding checks |"
fi
