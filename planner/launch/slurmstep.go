package launch

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// stepOptions are the options of srun that bear on a launch. Each takes a
// value.
var stepOptions = words("-N --nodes -n --ntasks --ntasks-per-node --gres --gpus-per-node -G --gpus --gpus-per-task --mem --mem-per-gpu -w --nodelist --container-image")

// step lays what srun asks for over the place of the command that it starts:
// fewer GPUs than the job has, other hosts, an image.
func (r *reader) step(ws []Word, w *place) {
	b := &batchJob{c: &Container{Name: "step", HostFiles: true, Exclusive: true}, env: map[string]string{}}
	if w.container != nil {
		c := *w.container
		b.c = &c
	}
	granted := *b.c
	for _, name := range []string{"--gres", "--gpus-per-node", "-G", "--gpus", "--gpus-per-task"} {
		if slices.ContainsFunc(ws, func(w Word) bool { return w.Text == name || strings.HasPrefix(w.Text, name+"=") }) {
			b.c.GPUs = nil // the step says its own
		}
	}
	for i := 0; i < len(ws) && !program(ws[i].Text); i++ {
		name, value, joined := strings.Cut(ws[i].Text, "=")
		if !strings.HasPrefix(name, "--") && len(name) > 2 && stepOptions[name[:2]] {
			name, value, joined = name[:2], ws[i].Text[2:], true // -N2
		}
		switch {
		case !stepOptions[name]:
			continue
		case !joined && i+1 < len(ws):
			i++
			value = ws[i].Text
		}
		switch {
		case ws[i].Unknown && (name == "-w" || name == "--nodelist"):
			w.host += fmt.Sprintf("/%s for launch %d", r.holes.show(value), len(r.commands)) // a host of its own
		case ws[i].Unknown:
		case name == "-w" || name == "--nodelist":
			w.host += "/" + value
		case name == "--container-image":
			b.c.Image, b.c.HostFiles = value, false
		default:
			b.option(batchOption{name: name, value: value})
		}
	}
	b.finish()
	w.nodes = max(b.nodes, w.nodes)
	if b.nodes > 0 {
		w.nodes = b.nodes
	}
	if changed := *b.c; changed.GPUs != granted.GPUs || changed.MemoryBytes != granted.MemoryBytes || changed.Image != granted.Image {
		w.container = b.c
	}
}

// program reports a word that ends the options of a wrapper.
func program(s string) bool {
	base := path.Base(s)
	return strings.HasPrefix(base, "python") || base == "sglang" || shells[base] || runtimes[base]
}

// nodeCount reads a number of nodes; of a range the smallest counts.
func nodeCount(s string) int {
	least, _, _ := strings.Cut(s, "-")
	n, err := strconv.Atoi(strings.TrimSpace(least))
	if err != nil || n < 1 || n > 1<<16 {
		return 0
	}
	return n
}
