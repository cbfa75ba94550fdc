package args

// DecodeGraphs returns the largest batch that the resolved arguments capture
// decode graphs for (0 when none are), and the flag of that release which
// lowers it: --cuda-graph-max-bs, since 0.5.20 --cuda-graph-max-bs-decode.
func DecodeGraphs(a *Args) (most int64, flag string) {
	flag = "--cuda-graph-max-bs"
	if _, ok := a.Get("cuda_graph_max_bs_decode"); ok {
		flag = "--cuda-graph-max-bs-decode"
	}
	if a.Bool("disable_cuda_graph") {
		return 0, flag
	}
	if c, ok := a.Get("cuda_graph_config"); ok && c.V != nil {
		phases, _ := c.V.(map[string]any)
		decode, _ := phases["decode"].(map[string]any)
		if decode["backend"] == "disabled" {
			return 0, flag
		}
		most, _ = decode["max_bs"].(int64)
		return most, flag
	}
	return a.Int("cuda_graph_max_bs"), flag
}
