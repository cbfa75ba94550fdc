package loading

import (
	"os"
	"path/filepath"
	"sort"
	"testing"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

func TestSweep(t *testing.T) {
	if os.Getenv("SWEEP") == "" {
		t.Skip()
	}
	var dirs []string
	for _, g := range []string{"/work/shared/oracle/models/*", "/work/shared/corpus/models/*"} {
		d, _ := filepath.Glob(g)
		dirs = append(dirs, d...)
	}
	sort.Strings(dirs)
	seen := map[string]int{}
	var keys []string
	for _, d := range dirs {
		c, err := model.ReadDir(os.DirFS(d))
		if err != nil {
			t.Logf("%s: %v", d, err)
			continue
		}
		for _, tag := range []string{"v0.5.9", "v0.5.17", "v0.5.23"} {
			for _, card := range []machine.Card{{Name: "H200", TotalMiB: 143771, Major: 9}, {Name: "B200", TotalMiB: 183359, Major: 10}, {Name: "RTX", TotalMiB: 97887, Major: 12}} {
				for _, tp := range []int64{1, 2, 4, 8} {
					a := args.New()
					a.Set("tp_size", tp, args.Origin{Kind: args.FromFlag})
					for _, dr := range []bool{false, true} {
						if dr && os.Getenv("SWEEP") != "draft" {
							continue
						}
						res, fs := Estimate(release.MustParse(tag), a, c, card, Options{Draft: dr, Target: c})
						if res == nil {
							k := filepath.Base(d) + " " + fs[0].Detail
							if dr {
								k += " DRAFT"
							}
							if seen[k] == 0 {
								keys = append(keys, k)
							}
							seen[k]++
						}
					}
				}
			}
		}
	}
	for _, k := range keys {
		t.Log(seen[k], k)
	}
}
