"""What people write to size a checkpoint: read every safetensors header of a
folder and add up the tensors. run.sh measures sglplan beside it."""
import glob
import json
import struct
import sys

total = tensors = 0
for name in sorted(glob.glob(sys.argv[1] + "/*.safetensors")):
    with open(name, "rb") as f:
        (length,) = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(length))
    for key, tensor in header.items():
        if key != "__metadata__":
            begin, end = tensor["data_offsets"]
            total += end - begin
            tensors += 1
print(tensors, total)
