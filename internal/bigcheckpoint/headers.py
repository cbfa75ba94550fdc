"""Reads the safetensors headers of a folder with json.loads and adds up their
tensors, to compare with BenchmarkTrillionHeaders of planner/model/source:

    go run ./internal/bigcheckpoint/write /tmp/trillion
    python3 internal/bigcheckpoint/headers.py /tmp/trillion
    go test -run xxx -bench Trillion ./planner/model/source
"""

import glob
import json
import struct
import sys
import time


def read(folder):
    tensors = total = 0
    for name in sorted(glob.glob(folder + "/*.safetensors")):
        with open(name, "rb") as f:
            (length,) = struct.unpack("<Q", f.read(8))
            header = json.loads(f.read(length))
        for key, entry in header.items():
            if key != "__metadata__":
                begin, end = entry["data_offsets"]
                tensors += 1
                total += end - begin
    return tensors, total


def main():
    best = None
    for _ in range(5):
        began = time.process_time()
        tensors, total = read(sys.argv[1])
        took = time.process_time() - began
        best = took if best is None else min(best, took)
    print(f"{tensors} tensors, {total} bytes: {best * 1000:.0f} ms of CPU")


main()
