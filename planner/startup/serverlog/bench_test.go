package serverlog

import (
	"bytes"
	"io"
	"testing"
)

// traffic64 is a start and then the lines of a server at work, as a log that
// was kept for weeks has them.
func traffic64(b *testing.B) []byte {
	var log bytes.Buffer
	log.Write(head(b))
	for log.Len() < 64<<20 {
		log.WriteString("[2026-11-30 21:25:12 TP0] Decode batch, #running-req: 17, #token: 41234, token usage: 0.11, cuda graph: True, gen throughput (token/s): 1711.21, #queue-req: 0\n")
		log.WriteString("[2026-11-30 21:25:12] INFO:     127.0.0.1:47228 - \"POST /generate HTTP/1.1\" 200 OK\n")
		log.WriteString("[2026-11-30 21:25:13 TP0] Prefill batch, #new-seq: 1, #new-token: 512, #cached-token: 0, token usage: 0.12, #running-req: 17, #queue-req: 0\n")
		log.WriteString("[2026-11-30 21:25:13 TP0] Using default MoE kernel config. Performance might be sub-optimal! Config file not found at /x/E=64,N=1408.json\n")
		log.WriteString("INFO:     127.0.0.1:47228 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n")
	}
	return log.Bytes()
}

// starts64 is the start of a launcher that has tried for days: bars and
// arguments.
func starts64(b *testing.B) []byte {
	var log bytes.Buffer
	for log.Len() < 64<<20 {
		log.Write(head(b))
	}
	return log.Bytes()
}

func head(b *testing.B) []byte {
	text, err := io.ReadAll(openLog(b, "testdata/h200-0517-llama70b-tp2.log.gz"))
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// BenchmarkParser holds the reader to half a gigabyte a second.
func BenchmarkParser(b *testing.B) {
	for name, log := range map[string][]byte{"traffic": traffic64(b), "starts": starts64(b)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(bytes.NewReader(log)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
