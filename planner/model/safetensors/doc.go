// Package safetensors reads what the files of a checkpoint say about their
// tensors: the header of a .safetensors file and model.safetensors.index.json.
// No tensor data is read.
//
// The format is eight bytes of little-endian header length, then that many
// bytes of JSON: {"name": {"dtype": "BF16", "shape": [2, 3], "data_offsets":
// [0, 12]}, ..., "__metadata__": {...}}, then the data. Its own library wants
// the tensors to cover the data without a gap and stops loading otherwise
// (Metadata::validate), so the same is wanted here.
//
// The headers of a checkpoint of a trillion parameters (208,550 tensors in 64
// files, 31 MB of JSON) take 83 ms of one core, where Python's json.loads takes
// 453 ms for the same on the same machine: 5.4 times as long. See
// BenchmarkTrillionHeaders of planner/model/source and internal/bench/headers.py.
//
// Both readers go through a sliding window, so that neither a length that a
// file claims nor the size of a file decides how much is allocated.
package safetensors
