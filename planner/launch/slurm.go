package launch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// batchOption is one option of a #SBATCH line.
type batchOption struct {
	name, value string
	line        int
}

var batchLine = regexp.MustCompile(`^#SBATCH\s+(.*)$`)

// batchOptions reads the #SBATCH lines above the first command.
func batchOptions(text string) []batchOption {
	var out []batchOption
	line := 0
	for l := range strings.Lines(text) {
		line++
		l = strings.TrimSpace(l)
		if l != "" && l[0] != '#' {
			break
		}
		m := batchLine.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		parts, _ := splitWords(m[1])
		out = append(out, slurmOptions(parts, line)...)
	}
	return out
}

// slurmOptions reads --name=value, --name value, -N2 and -N 2 up to a comment
// or the first word that is no option.
func slurmOptions(parts []part, line int) []batchOption {
	var out []batchOption
	for i := 0; i < len(parts); i++ {
		t := parts[i].text
		if !strings.HasPrefix(t, "-") {
			break
		}
		o := batchOption{name: t, line: line}
		name, value, joined := strings.Cut(t, "=")
		switch {
		case joined:
			o.name, o.value = name, value
		case !strings.HasPrefix(t, "--") && len(t) > 2:
			o.name, o.value = t[:2], t[2:]
		case i+1 < len(parts) && !strings.HasPrefix(parts[i+1].text, "-"):
			o.value = parts[i+1].text
			i++
		}
		out = append(out, o)
	}
	return out
}

// batchHead lays what a batch job asks for over the place of its launches.
func (r *reader) batchHead(file, text string, w *place) {
	if !strings.Contains(text, "#SBATCH") {
		return
	}
	b := &batchJob{c: &Container{Name: "job", HostFiles: true, Exclusive: true}, env: map[string]string{}}
	for _, o := range batchOptions(text) {
		if err := b.option(o); err != "" {
			f := finding.New(CodeLimitUnreadable, finding.Warning, "", err)
			f.Position = &finding.Position{File: file, Line: o.line}
			r.findings = append(r.findings, f)
		}
	}
	b.finish()
	w.container, w.nodes, w.env = b.c, b.nodes, b.env
}

// batchJob is what a job or a step asks of each node.
type batchJob struct {
	c         *Container
	env       map[string]string // variables that Slurm sets and that follow from the request
	nodes     int
	total     int         // GPUs of all nodes together
	perGPU    units.Bytes // memory for each GPU
	tasks     int
	perTask   int
	tasksNode int
}

// option takes one option; it returns what is wrong with it, "" for nothing.
func (b *batchJob) option(o batchOption) string {
	switch o.name {
	case "-J", "--job-name":
		b.c.Name, b.env["SLURM_JOB_NAME"] = o.value, o.value
	case "-N", "--nodes":
		b.nodes = nodeCount(o.value)
	case "-n", "--ntasks":
		b.tasks = atoi(o.value)
	case "--ntasks-per-node":
		b.tasksNode = atoi(o.value)
	case "--gres", "--gpus-per-node":
		if n, ok := gresGPUs(o.value, o.name == "--gres"); ok {
			b.c.GPUs = &n
		} else if strings.Contains(o.value, "gpu") || o.name != "--gres" {
			return fmt.Sprintf("%s=%s is no number of GPUs and was not applied.", o.name, clip(o.value))
		}
	case "-G", "--gpus":
		b.total, _ = gresGPUs(o.value, false)
	case "--gpus-per-task":
		b.perTask, _ = gresGPUs(o.value, false)
	case "--mem", "--mem-per-gpu":
		m, err := slurmSize(o.value)
		if err != nil {
			return fmt.Sprintf("%s=%s is no size and was not applied.", o.name, clip(o.value))
		}
		if o.name == "--mem-per-gpu" {
			b.perGPU = m
		} else if m > 0 { // --mem=0 is all of the node
			b.c.MemoryBytes = &m
		}
	}
	return ""
}

// finish works out what each node gets from what was asked for in total.
func (b *batchJob) finish() {
	nodes := max(b.nodes, 1)
	if b.tasks == 0 && b.tasksNode > 0 {
		b.tasks = b.tasksNode * nodes
	}
	if b.c.GPUs == nil {
		n := b.total / nodes
		if n == 0 && b.perTask > 0 {
			n = b.perTask * max(b.tasksNode, (max(b.tasks, 1)+nodes-1)/nodes)
		}
		if n > 0 {
			b.c.GPUs = &n
		}
	}
	if n := b.c.GPUs; n != nil && b.perGPU > 0 && b.c.MemoryBytes == nil && *n < 1<<16 {
		m := b.perGPU * units.Bytes(*n)
		if m/units.Bytes(max(*n, 1)) == b.perGPU && m > 0 {
			b.c.MemoryBytes = &m
		}
	}
	if b.nodes > 0 {
		b.env["SLURM_NNODES"], b.env["SLURM_JOB_NUM_NODES"] = strconv.Itoa(b.nodes), strconv.Itoa(b.nodes)
	}
	if b.tasks > 0 {
		b.env["SLURM_NTASKS"] = strconv.Itoa(b.tasks)
	}
	if b.tasksNode > 0 {
		b.env["SLURM_NTASKS_PER_NODE"] = strconv.Itoa(b.tasksNode)
	}
	if b.c.GPUs != nil {
		b.env["SLURM_GPUS_ON_NODE"] = strconv.Itoa(*b.c.GPUs)
	}
}

// gresGPUs reads gpu:8, gpu:h100:8 and lists with other resources; without the
// kind of resource in front h100:8 and 8.
func gresGPUs(s string, kinds bool) (int, bool) {
	total, found := 0, false
	for item := range strings.SplitSeq(s, ",") {
		fields := strings.Split(item, ":")
		if kinds {
			if fields[0] != "gpu" && fields[0] != "gres/gpu" {
				continue
			}
			fields = fields[1:]
		}
		n := 1 // --gres=gpu is one
		if len(fields) > 0 {
			last, _, _ := strings.Cut(fields[len(fields)-1], "(")
			v, err := strconv.Atoi(last)
			switch {
			case err == nil:
				n = v
			case !kinds || len(fields) > 1:
				return 0, false
			}
		}
		if n < 0 || n > 1<<16 {
			return 0, false
		}
		total, found = total+n, true
	}
	return total, found
}

// slurmSize reads a size whose unit is binary and MB when none is given.
func slurmSize(s string) (units.Bytes, error) {
	t := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(s)), "b")
	if t != "" && t[len(t)-1] >= '0' && t[len(t)-1] <= '9' {
		t += "m"
	}
	return units.Parse(t)
}
