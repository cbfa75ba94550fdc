package args

// memoryBefore053 is the handling of 0.4.6 to 0.5.2: captured sizes are built
// in the model runner, and the fraction comes from a table.
func (x *resolver) memoryBefore053() {
	m := x.card.TotalMiB
	if x.isNone("mem_fraction_static") {
		x.rule("mem_fraction_static", x.oldFraction(), "gpu-memory-fraction")
	}
	if x.isNone("chunked_prefill_size") {
		x.rule("chunked_prefill_size", x.oldChunk(), "gpu-size-chunk")
	}
	if small := x.oldSmall(); m > 0 && m < small && x.isNone("cuda_graph_max_bs") {
		n := int64(80)
		if x.Int("tp_size") < 4 {
			n = 8
		}
		x.rule("cuda_graph_max_bs", n, "decode-graph-sizes")
	}
	if x.isNone("cuda_graph_bs") {
		x.rule("cuda_graph_bs", listOf(x.oldDecodeList()), "decode-graph-sizes")
	}
}

// oldSmall is the size under which a card counts as small, in MiB.
func (x *resolver) oldSmall() int64 {
	if x.r.Before("0.4.7.post1") {
		return 25000
	}
	return 35 * 1024
}

func (x *resolver) oldChunk() int64 {
	m := x.card.TotalMiB
	switch {
	case m > 0 && m < x.oldSmall():
		return 2048
	case x.r.Before("0.4.6.post2"):
		return 8192
	case x.r.Before("0.4.7.post1"):
		if x.Str("disaggregation_mode") != "null" || x.r.AtLeast("0.4.7") && m > 180000 {
			return 16384
		}
		return 8192
	case m < 160*1024:
		return 8192
	}
	return 16384
}

// oldFraction is mem_fraction_static by era.
func (x *resolver) oldFraction() float64 {
	f := 0.0
	switch {
	case x.r.Before("0.4.6.post2"):
		f = x.fraction046()
	case x.r.Before("0.4.7.post1"):
		f = x.fraction047()
	default:
		f = x.fraction050()
	}
	switch {
	case !x.m.IsMultimodal || x.r.Before("0.4.9"): // the runner applies it, see the pool sizes
	case x.r.Before("0.4.9.post3"):
		f *= 0.9
	default:
		f = x.multimodalFraction(f, false)
	}
	return f
}

// byRanks is the first table: larger groups keep more for communication.
func byRanks(n int64) float64 {
	switch {
	case n >= 16:
		return 0.79
	case n >= 8:
		return 0.81
	case n >= 4:
		return 0.85
	case n >= 2:
		return 0.87
	}
	return 0.88
}

func (x *resolver) fraction046() float64 {
	m := float64(x.card.TotalMiB)
	if m <= 0 {
		return 0.88
	}
	if m <= 81920 {
		return byRanks(x.Int("tp_size"))
	}
	return (m - 13*1024) / m
}

func (x *resolver) fraction047() float64 {
	m := float64(x.card.TotalMiB)
	drafts := x.Has("speculative_algorithm")
	f := 0.88
	if m > 0 && m <= 81920 {
		f = byRanks(x.Int("tp_size") * max(x.Int("pp_size"), 1))
	}
	reserve := 18.0
	if drafts && x.r.AtLeast("0.4.7") {
		reserve = 20
	}
	switch {
	case m > 180000 && x.r.AtLeast("0.4.7"):
		return 0.79
	case m > 96*1024:
		return min(f+48*1024*(1-f)/m, (m-reserve*1024)/m)
	case drafts && x.r.AtLeast("0.4.7"):
		return f * 0.95
	}
	return f
}

func (x *resolver) fraction050() float64 {
	m := float64(x.card.TotalMiB)
	if m <= 0 {
		return 0.88
	}
	ranks := float64(x.Int("tp_size") * max(x.Int("pp_size"), 1))
	var r float64
	switch {
	case m < 35*1024:
		r = (2.8 + ranks/10) * 1024
	case m < 90*1024:
		r = (9.5 + ranks/2) * 1024
	case m < 160*1024:
		r = (12 + ranks/2) * 1024
	default:
		r = 32 * 1024
	}
	switch alg := x.Str("speculative_algorithm"); {
	case alg == "STANDALONE" && x.r.AtLeast("0.5.2"):
		r += 6 * 1024
	case alg != "":
		r += 2 * 1024
	}
	if x.Bool("enable_dp_attention") {
		r += 4 * 1024
	}
	return round3((m - r) / m)
}

// oldDecodeList is the list that the runner builds before it knows the number
// of request slots, which cuts it once more.
func (x *resolver) oldDecodeList() []int64 {
	after47 := x.r.AtLeast("0.4.7")
	var l []int64
	switch {
	case x.Has("speculative_algorithm"):
		l = steps64(steps64(nil, 1, 8, 1), 10, 32, 2)
		if after47 {
			l = steps64(append(l, 40, 48, 56), 80, 160, 16)
		} else {
			l = steps64(l, 40, 160, 16)
		}
	case x.Bool("disable_cuda_graph_padding"):
		from := int64(40)
		if after47 {
			from = 48
		}
		l = steps64(steps64(nil, 1, 32, 1), from, 160, 16)
	default:
		l = steps64([]int64{1, 2, 4, 8}, 16, 160, 8)
	}
	l = x.oldExtension(l)
	if x.isNone("cuda_graph_max_bs") {
		return l
	}
	top := x.Int("cuda_graph_max_bs")
	l = upTo(l, top)
	if x.r.AtLeast("0.4.6.post4") && maxOf(l) < top {
		l = steps64(l, maxOf(l)+16, top, 16)
	}
	return l
}

// oldExtension adds the sizes of large cards.
func (x *resolver) oldExtension(l []int64) []int64 {
	m := x.card.TotalMiB
	large, huge := int64(90*1024), int64(160000)
	switch {
	case x.r.Before("0.4.6.post2"):
		large, huge = 81920, 1<<40
		if x.Int("dp_size") > 1 {
			large = 1 << 40
		}
	case x.r.Before("0.4.7"):
		large, huge = 96*1024, 1<<40
	case x.r.Before("0.4.7.post1"):
		large, huge = 96*1024, 180000
	}
	if m > large {
		l = steps64(l, 168, 256, 8)
	}
	if m > huge {
		l = steps64(l, 272, 512, 16)
	}
	return l
}
