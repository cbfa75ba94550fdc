package loading

import "testing"

func BenchmarkEstimate(b *testing.B) {
	all := configs(b)
	var vs []vector
	for i, v := range vectors(b) {
		if i%40 == 0 && v.Error == "" {
			vs = append(vs, v)
		}
	}
	for b.Loop() {
		for _, v := range vs {
			_, _ = v.run(all)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(vs)), "ns/row")
}
