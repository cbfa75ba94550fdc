package serverlog

import (
	"bytes"
	"io"
	"testing"
)

// BenchmarkParser reads a start and then the traffic of a server at work, as a
// log that was followed for weeks has it.
func BenchmarkParser(b *testing.B) {
	head, err := io.ReadAll(openLog(b, "testdata/h200-0517-llama70b-tp2.log.gz"))
	if err != nil {
		b.Fatal(err)
	}
	var log bytes.Buffer
	log.Write(head)
	for log.Len() < 64<<20 {
		log.WriteString("[2026-11-30 21:25:12 TP0] Decode batch, #running-req: 17, #token: 41234, token usage: 0.11, cuda graph: True, gen throughput (token/s): 1711.21, #queue-req: 0\n")
		log.WriteString("[2026-11-30 21:25:12] INFO:     127.0.0.1:47228 - \"POST /generate HTTP/1.1\" 200 OK\n")
		log.WriteString("[2026-11-30 21:25:13 TP0] Prefill batch, #new-seq: 1, #new-token: 512, #cached-token: 0, token usage: 0.12, #running-req: 17, #queue-req: 0\n")
		log.WriteString("Capturing batches (bs=232 avail_mem=9.86 GB):   6%|\xe2\x96\x8c         | 2/36 [00:00<00:09,  3.42it/s]\n")
		log.WriteString("[2026-11-30 21:25:13 TP0] Using default MoE kernel config. Performance might be sub-optimal! Config file not found at /x/E=64,N=1408.json\n")
		log.WriteString("INFO:     127.0.0.1:47228 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n")
	}
	b.SetBytes(int64(log.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(bytes.NewReader(log.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}
