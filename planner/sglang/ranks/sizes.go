package ranks

import (
	"fmt"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/sglang/args"
	"github.com/sglplan/sglplan/planner/sglang/release"
)

// most bounds every single size, and the ranks of a launch, so that a typing
// error cannot ask for a layout of billions of ranks.
const most = 1 << 16

// sizes are the parallel sizes of a launch, each at least 1.
type sizes struct {
	tp, pp, replicas         int
	attentionDP, attentionCP int
	nodes, node              int
	gpuBase, gpuStep         int
}

// The findings of a layout.
var (
	CodeBadSize = finding.Define("parallel-size-invalid",
		"A parallel size is not a usable number",
		"Sizes of tensor, pipeline and data parallelism, --nnodes and --gpu-id-step count from 1, --node-rank and --base-gpu-id from 0, and --node-rank must be below --nnodes. SGLang stops at them or starts ranks that never meet.",
		"Correct the flag that the finding names.")
	CodeNotDividing = finding.Define("parallel-sizes-do-not-divide",
		"The parallel sizes do not divide",
		"SGLang demands that tp x pp is a multiple of --nnodes, and under DP attention that tp is a multiple of the attention groups. Otherwise its integer divisions leave ranks out and it refuses to start.",
		"Choose sizes that divide: for 8 GPUs on one host, tp 8, or tp 4 with pp 2.")
	CodeReplicasAcrossHosts = finding.Define("replicas-across-hosts",
		"Plain data parallelism does not go over several hosts",
		"--dp-size above 1 with --nnodes above 1 needs --enable-dp-attention in every release; replicas are otherwise placed on one host.",
		"Add --enable-dp-attention, or start one server per host behind a router.")
	CodeTwoOnOneGPU = finding.Define("ranks-share-gpu",
		"Two ranks are placed on the same GPU",
		"SGLang computes the GPU of a rank from --base-gpu-id and --gpu-id-step, and does not multiply the pipeline part by the step; before 0.5.3 it leaves the pipeline size out of the offset of a replica. Two ranks on one GPU run out of memory.",
		"Use --gpu-id-step 1 with pipeline parallelism, and SGLang 0.5.3 or later for replicas with pipeline stages.")
	CodeTooFewGPUs = finding.Define("ranks-exceed-gpus",
		"The launch places ranks on GPUs that are not there",
		"Every scheduler rank takes one GPU. The device index counts among the visible devices, that is after CUDA_VISIBLE_DEVICES.",
		"Lower --tp-size, --pp-size or --dp-size, make more GPUs visible, or start it over several hosts with --nnodes.")
)

// sizesOf reads and checks the sizes. Unusable ones are replaced by the
// nearest usable one beside their finding.
func sizesOf(r release.Release, a *args.Args) (sizes, []finding.Finding) {
	var found []finding.Finding
	read := func(field, flag string, def, low int64) int {
		v := a.IntOr(field, def)
		if v < low || v > most {
			found = append(found, finding.New(CodeBadSize, finding.Error, flag,
				fmt.Sprintf("%s is %d; it must be between %d and %d.", flag, v, low, most)))
			v = min(max(v, low), most)
		}
		return int(v)
	}
	s := sizes{
		tp: read("tp_size", "--tp-size", 1, 1), pp: 1, replicas: 1, attentionDP: 1, attentionCP: 1,
		nodes: read("nnodes", "--nnodes", 1, 1), node: read("node_rank", "--node-rank", 0, 0),
		gpuBase: read("base_gpu_id", "--base-gpu-id", 0, 0), gpuStep: read("gpu_id_step", "--gpu-id-step", 1, 1),
	}
	if r.AtLeast("0.4.6.post2") {
		s.pp = read("pp_size", "--pp-size", 1, 1)
	}
	if r.AtLeast("0.5.9") {
		s.attentionCP = read("attn_cp_size", "--attention-context-parallel-size", 1, 1)
	}
	dp := read("dp_size", "--dp-size", 1, 1)
	switch {
	case a.Int("attn_dp_size") > 1: // 0.5.22 on; the old spelling resolves to it
		s.attentionDP = read("attn_dp_size", "--attn-dp-size", 1, 1)
		s.replicas = dp
	case a.Bool("enable_dp_attention"):
		s.attentionDP = dp
	default:
		s.replicas = dp
	}
	return s, append(found, s.settle()...)
}

// settle finds sizes that do not go together and makes them go together.
func (s *sizes) settle() []finding.Finding {
	var found []finding.Finding
	add := func(code finding.Code, flag, format string, v ...any) {
		found = append(found, finding.New(code, finding.Error, flag, fmt.Sprintf(format, v...)))
	}
	if s.node >= s.nodes {
		add(CodeBadSize, "--node-rank", "--node-rank is %d with %d hosts: ranks count from 0 to %d.", s.node, s.nodes, s.nodes-1)
		s.node = s.nodes - 1
	}
	if s.tp*s.pp%s.nodes != 0 {
		add(CodeNotDividing, "--nnodes", "tp %d x pp %d = %d ranks do not divide over %d hosts.", s.tp, s.pp, s.tp*s.pp, s.nodes)
	}
	if s.attentionDP > 1 && s.tp%(s.attentionDP*s.attentionCP) != 0 {
		add(CodeNotDividing, "--dp-size", "tp %d is not a multiple of %d attention groups x %d context ranks.", s.tp, s.attentionDP, s.attentionCP)
	}
	if s.replicas > 1 && s.nodes > 1 {
		add(CodeReplicasAcrossHosts, "--dp-size", "--dp-size %d with --nnodes %d and no DP attention.", s.replicas, s.nodes)
	}
	if n := int64(s.tp) * int64(s.pp) * int64(s.replicas); n > most {
		add(CodeBadSize, "--tp-size", "tp %d x pp %d x dp %d = %d ranks; more than %d are not planned.", s.tp, s.pp, s.replicas, n, most)
		s.replicas = 1
		s.pp = max(min(s.pp, most/s.tp), 1)
	}
	return found
}
