package args

import (
	"testing"

	"github.com/sglplan/sglplan/planner/sglang/release"
)

func BenchmarkParse(b *testing.B) {
	r := release.MustParse("0.5.23")
	ws := words("--model-path", "moonshotai/Kimi-K2.5", "--tp-size", "8", "--mem-fraction-static", "0.88",
		"--enable-hierarchical-cache", "--hicache-size", "48", "--trust-remote-code", "--cuda-graph-bs-decode", "1", "2", "4",
		"--served-model-name", "kimi", "--host", "0.0.0.0", "--port=30000", "--chunked", "8192")
	b.ReportAllocs()
	for b.Loop() {
		Parse(r, ws, ParseOptions{})
	}
}

func BenchmarkParseUnknownFlag(b *testing.B) {
	r := release.MustParse("0.5.23")
	ws := words("--model-path", "m", "--hicach-size", "48")
	for b.Loop() {
		Parse(r, ws, ParseOptions{})
	}
}

func BenchmarkParseConfig(b *testing.B) {
	r := release.MustParse("0.5.23")
	ws := words("--config", "serve.yaml")
	file := []byte("model-path: m\ntp-size: 8\ncuda-graph-bs-decode: [1, 2, 4]\nenable-hierarchical-cache: true\n")
	for b.Loop() {
		Parse(r, ws, ParseOptions{ReadFile: func(string) ([]byte, error) { return file, nil }})
	}
}
