package ranks

import (
	"fmt"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// collisions finds ranks that SGLang's arithmetic puts on one GPU.
func collisions(r release.Release, s sizes, l Layout) []finding.Finding {
	first := make(map[int]Rank, len(l.Ranks))
	for _, k := range l.Ranks {
		other, taken := first[k.GPU]
		if !taken {
			first[k.GPU] = k
			continue
		}
		flag := "--gpu-id-step"
		if s.replicas > 1 && r.Before("0.5.3") {
			flag = "--dp-size"
		}
		return []finding.Finding{finding.New(CodeTwoOnOneGPU, finding.Error, flag,
			fmt.Sprintf("rank dp %d pp %d tp %d and rank dp %d pp %d tp %d both take GPU %d.",
				other.DP, other.PP, other.TP, k.DP, k.PP, k.TP, k.GPU))}
	}
	return nil
}

// CheckGPUs finds ranks beyond the GPUs that the launch can see on its host.
func CheckGPUs(l Layout, gpus int) []finding.Finding {
	need := 0
	for _, k := range l.Ranks {
		need = max(need, k.GPU+1)
	}
	if need <= gpus {
		return nil
	}
	f := finding.New(CodeTooFewGPUs, finding.Error, "--tp-size",
		fmt.Sprintf("%d ranks on this host need GPUs up to index %d, and %s visible.", l.OnThisHost, need-1, counted(gpus)))
	f.Figures = map[string]int64{"ranks": int64(l.OnThisHost), "gpus": int64(gpus)}
	if l.PP == 1 && l.Replicas == 1 && l.Nodes == 1 && l.AttentionDP == 1 && gpus > 0 {
		if tp := largestDivisor(l.TP, gpus); tp < l.TP {
			f = f.With(fmt.Sprintf("use %d of the GPUs", tp), finding.Edit{Flag: "--tp-size", Value: fmt.Sprint(tp)})
		}
	}
	return []finding.Finding{f}
}

func counted(gpus int) string {
	if gpus == 1 {
		return "1 GPU is"
	}
	return fmt.Sprintf("%d GPUs are", gpus)
}

// largestDivisor returns the largest divisor of n that is at most limit: a
// smaller tensor-parallel size under which what divided before divides still.
func largestDivisor(n, limit int) int {
	for d := min(n, limit); d > 1; d-- {
		if n%d == 0 {
			return d
		}
	}
	return 1
}
