package loading

import (
	"math"
	"os"
	"strings"
	"testing"
)

// TestDebug compares group by group what SGLANG_VECTORS names.
func TestDebug(t *testing.T) {
	want := os.Getenv("VEC")
	if want == "" {
		t.Skip()
	}
	all := configs(t)
	n := 0
	brief := os.Getenv("BRIEF") != ""
	for _, v := range vectors(t) {
		if v.Error != "" {
			continue
		}
		hit := true
		for _, w := range strings.Split(want, ",") {
			hit = hit && strings.Contains(v.String(), w)
		}
		if !hit {
			continue
		}
		res, err := v.run(all)
		if err != nil {
			if !brief {
				t.Logf("%s: %v", v, err)
			}
			continue
		}
		w := v.Built
		if v.Resident != nil {
			w = *v.Resident
		}
		e := float64(res.Resident.Value)/float64(w) - 1
		e2 := float64(res.Load.Value)/float64(v.Load) - 1
		if math.Abs(e) < 1e-4 && math.Abs(e2) < 0.005 && os.Getenv("ALL") == "" {
			continue
		}
		n++
		if brief {
			t.Logf("%+.4f%% load %+.3f%% peak %+.2f%% built %+.3f%% %s", 100*e, 100*e2, 100*(float64(res.Peak.Value)/float64(v.Peak)-1), 100*(float64(res.Constructed.Value)/float64(v.Built)-1), v)
			continue
		}
		if n > 12 {
			continue
		}
		t.Logf("%s\n resident %+.4f%% load %+.3f%% peak %+.2f%% built %d/%d res %d/%d", v, 100*e, 100*e2, 100*(float64(res.Peak.Value)/float64(v.Peak)-1), res.Constructed.Value, v.Built, res.Resident.Value, w)
		got := map[string]int64{}
		for _, g := range res.Groups {
			got[strings.ReplaceAll(g.Name, " ", "_")] = g.Bytes
		}
		for k, x := range v.Groups {
			if k == "vision_audio" {
				k = "vision"
			}
			if got[k] != x {
				t.Logf("   %s got %d want %d (%+d)", k, got[k], x, got[k]-x)
			}
			delete(got, k)
		}
		for k, x := range got {
			t.Logf("   %s got %d want none", k, x)
		}
	}
	t.Logf("%d differ", n)
}
