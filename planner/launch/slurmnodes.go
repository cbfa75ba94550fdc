package launch

import (
	"strconv"
	"strings"
)

// nodesOption reads -N or --nodes of srun and sbatch; 0 when not said.
func nodesOption(ws []Word) int {
	for i, w := range ws {
		name, value, ok := strings.Cut(w.Text, "=")
		switch {
		case !strings.HasPrefix(w.Text, "-"):
			continue
		case name == "--nodes" && ok:
		case (w.Text == "-N" || w.Text == "--nodes") && i+1 < len(ws):
			value = ws[i+1].Text
		case strings.HasPrefix(w.Text, "-N") && len(w.Text) > 2:
			value = w.Text[2:]
		default:
			continue
		}
		return nodeCount(value)
	}
	return 0
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
