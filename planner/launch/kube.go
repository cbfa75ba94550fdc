package launch

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// workload is the object that pods come from.
type workload struct {
	name  string // kind/name
	nodes int    // hosts that one replica spans
	env   map[string]string
	late  map[string]string // variables set by the controller to what only it knows
	seen  map[*yaml.Node]bool
}

// kubernetes reads an object: the pods in it, whatever its kind, since custom
// resources carry pod templates too.
func (d *document) kubernetes(n *yaml.Node) {
	kind := d.text(d.get(n, "kind"))
	if strings.HasSuffix(kind, "List") {
		for _, item := range d.items(d.get(n, "items")) {
			d.kubernetes(item)
		}
		return
	}
	w := workload{name: kind + "/" + d.holes.show(d.text(d.path(n, "metadata", "name")))}
	if kind == "LeaderWorkerSet" {
		d.leaderWorkerSet(n, w)
		return
	}
	d.podSpecs(n, w, 0)
}

// leaderWorkerSet reads a group of hosts: the leader runs node 0, the workers
// the others. Without a leader's template all run the worker's.
func (d *document) leaderWorkerSet(n *yaml.Node, w workload) {
	t := d.path(n, "spec", "leaderWorkerTemplate")
	w.nodes = 1
	if size, err := strconv.Atoi(d.text(d.get(t, "size"))); err == nil && size > 0 && size <= 1<<16 {
		w.nodes = size
	}
	// The controller sets these in every container of the group.
	w.env = map[string]string{"LWS_GROUP_SIZE": strconv.Itoa(w.nodes)}
	w.late = map[string]string{"LWS_LEADER_ADDRESS": "the leader's address", "LWS_WORKER_INDEX": "the index of the pod"}
	worker := w
	worker.name += " (worker)"
	if leader := d.get(t, "leaderTemplate"); leader != nil {
		w.name += " (leader)"
		w.env = map[string]string{"LWS_GROUP_SIZE": strconv.Itoa(w.nodes), "LWS_WORKER_INDEX": "0"}
		w.late = map[string]string{"LWS_LEADER_ADDRESS": "the leader's address"}
		d.podSpecs(leader, w, 0)
	}
	d.podSpecs(d.get(t, "workerTemplate"), worker, 0)
}

// podSpecs finds the pod templates below a node: mappings with a list of
// containers.
func (d *document) podSpecs(n *yaml.Node, w workload, depth int) {
	n = d.follow(n)
	if n == nil || depth > maxNesting || w.seen[n] || !d.spend() {
		return
	}
	if w.seen == nil {
		w.seen = map[*yaml.Node]bool{}
	}
	w.seen[n] = true // an alias adds nothing new
	switch n.Kind {
	case yaml.MappingNode:
		if list := d.get(n, "containers"); list != nil && list.Kind == yaml.SequenceNode {
			d.pod(n, w)
			return
		}
		for _, p := range d.pairs(n) {
			d.podSpecs(p.value, w, depth+1)
		}
	case yaml.SequenceNode:
		for _, c := range d.items(n) {
			d.podSpecs(c, w, depth+1)
		}
	}
}

// pod reads the containers of a pod, which share one host.
func (d *document) pod(n *yaml.Node, w workload) {
	for _, list := range []string{"initContainers", "containers"} {
		for _, c := range d.items(d.get(n, list)) {
			d.podContainer(n, c, w)
		}
	}
}

func (d *document) podContainer(pod, n *yaml.Node, w workload) {
	c := &Container{Name: d.shown(d.get(n, "name")), Image: d.shown(d.get(n, "image")), Exclusive: true}
	k := &kubeContainer{d: d, c: c, env: map[string]string{}, unknown: map[string]Word{}}
	for name, v := range w.env {
		k.env[name] = v
	}
	for name, source := range w.late {
		k.unknown[name] = Word{Text: source, Unknown: true}
	}
	k.environment(n)
	k.limits(n)
	k.sharedMemory(pod, n)
	command, args := k.words(d.get(n, "command")), k.words(d.get(n, "args"))
	at := place{
		pos: d.at(n), container: c, env: k.env, unknownEnv: k.unknown,
		host: fmt.Sprintf("%s at line %d", w.name, d.first+pod.Line), nodes: w.nodes,
	}
	before := len(d.r.commands)
	d.r.notes = nil
	if len(command) > 0 {
		at.pos = command[0].Pos
		d.r.recognise(append(command, args...), at)
	} else {
		if len(args) > 0 {
			at.pos = args[0].Pos
		}
		d.r.command(nil, args, at)
	}
	for _, cmd := range d.r.commands[before:] {
		k.notExpanded(cmd)
		cmd.Findings = append(cmd.Findings, placed(k.findings, c.Name)...)
	}
}

// shown is the text of a scalar with its template expressions put back.
func (d *document) shown(n *yaml.Node) string { return d.holes.show(d.text(n)) }

// kubeContainer is one container of a pod while it is read.
type kubeContainer struct {
	d        *document
	c        *Container
	env      map[string]string
	unknown  map[string]Word
	findings []finding.Finding
}

// environment reads env and envFrom. Values from elsewhere are not known.
func (k *kubeContainer) environment(n *yaml.Node) {
	d := k.d
	for _, from := range d.items(d.get(n, "envFrom")) {
		k.findings = append(k.findings, d.say(CodeNotKnown, finding.Info, from, "The variables that envFrom takes from "+d.reference(from)+" are not in this file and were not read."))
	}
	for _, e := range d.items(d.get(n, "env")) {
		name, v := d.text(d.get(e, "name")), d.get(e, "value")
		from := d.get(e, "valueFrom")
		switch {
		case name == "":
		case from != nil:
			delete(k.env, name)
			k.unknown[name] = Word{Text: "a value from " + d.reference(from), Unknown: true, Pos: d.at(from)}
		default:
			text := k.expand(d.text(v))
			if hole(text) {
				delete(k.env, name)
				k.unknown[name] = Word{Text: d.holes.show(text), Unknown: true, Pos: d.at(e)}
				continue
			}
			k.env[name] = text
			delete(k.unknown, name)
		}
	}
}

// reference names where a valueFrom or envFrom takes its value.
func (d *document) reference(n *yaml.Node) string {
	for key, what := range map[string]string{
		"configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret", "configMapRef": "ConfigMap", "secretRef": "Secret",
	} {
		if ref := d.get(n, key); ref != nil {
			return what + " " + d.shown(d.get(ref, "name"))
		}
	}
	if ref := d.get(n, "fieldRef"); ref != nil {
		return "the pod's " + d.shown(d.get(ref, "fieldPath"))
	}
	if ref := d.get(n, "resourceFieldRef"); ref != nil {
		return "the container's " + d.shown(d.get(ref, "resource"))
	}
	return "elsewhere"
}

// words reads command or args: a list of texts in which $(NAME) is replaced.
func (k *kubeContainer) words(n *yaml.Node) []Word {
	var out []Word
	for _, item := range k.d.items(n) {
		text := k.expand(k.d.text(item))
		out = append(out, Word{Text: text, Unknown: hole(text), Pos: k.d.at(item)})
	}
	return out
}

// expand replaces $(NAME) as the kubelet does; $$ is a single $. A name that
// the container does not set can come from a service, so it is not known.
func (k *kubeContainer) expand(s string) string {
	if !strings.Contains(s, "$") || len(s) > maxDocument {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		end := strings.IndexByte(s[i:], ')')
		switch {
		case s[i+1] == '$':
			b.WriteByte('$')
			i++
		case s[i+1] == '(' && end > 2 && isName(s[i+2:i+end]):
			b.WriteString(k.value(s[i+2 : i+end]))
			i += end
		default:
			b.WriteByte('$')
		}
		if b.Len() > maxDocument {
			return k.d.holes.mark("...")
		}
	}
	return b.String()
}

func (k *kubeContainer) value(name string) string {
	if v, ok := k.env[name]; ok {
		return v
	}
	return k.d.holes.mark("$(" + name + ")")
}

// notExpanded says which words hold variables in the shell's form although no
// shell reads them.
func (k *kubeContainer) notExpanded(c *Command) {
	if c.Quoted != nil {
		return
	}
	for i, w := range c.Flags {
		at := strings.IndexByte(w.Text, '$')
		if w.Unknown || at < 0 || !strings.HasPrefix(w.Text[at:], "${") && !isName(strings.TrimSpace(w.Text[at+1:])) {
			continue
		}
		c.Flags[i].Unknown = true
		f := finding.New(CodeLiteral, finding.Warning, "", fmt.Sprintf("No shell reads %s, and Kubernetes replaces only $(NAME): unless a tool replaces it before, SGLang gets it as it is written.", clip(w.Text)))
		f.Position = position(w.Pos)
		c.Findings = append(c.Findings, f)
	}
}

// limits reads resources: the memory limit and the GPUs, of which requests and
// limits are equal where both are given.
func (k *kubeContainer) limits(n *yaml.Node) {
	d := k.d
	for _, list := range []string{"requests", "limits"} {
		for _, p := range d.pairs(d.path(n, "resources", list)) {
			switch name := d.text(p.key); {
			case name == "memory" && list == "limits":
				k.size(p.value, "the memory limit", &k.c.MemoryBytes)
			case isGPU(name):
				k.gpus(p.value, name)
			}
		}
	}
}

// isGPU reports the names under which device plugins offer GPUs: nvidia.com/gpu,
// amd.com/gpu, nvidia.com/mig-3g.40gb, nvidia.com/gpu.shared.
func isGPU(name string) bool {
	_, resource, ok := strings.Cut(name, "/")
	return ok && (resource == "gpu" || strings.HasPrefix(resource, "gpu.") || strings.HasPrefix(resource, "mig-"))
}

func (k *kubeContainer) gpus(n *yaml.Node, name string) {
	text := k.d.text(n)
	count, err := strconv.Atoi(text)
	switch {
	case hole(text):
		k.findings = append(k.findings, k.d.say(CodeNotKnown, finding.Warning, n, fmt.Sprintf("How many of %s are granted is known only when the file is rendered; all GPUs of the host were taken as granted.", name)))
	case err != nil || count < 0:
		k.findings = append(k.findings, k.d.say(CodeLimitUnreadable, finding.Warning, n, fmt.Sprintf("%s: %q is no number of GPUs and was not applied.", name, clip(text))))
	default:
		k.c.GPUs = &count
	}
}

func (k *kubeContainer) size(n *yaml.Node, what string, into **units.Bytes) {
	text := k.d.text(n)
	if hole(text) {
		k.findings = append(k.findings, k.d.say(CodeNotKnown, finding.Warning, n, fmt.Sprintf("%s is %s, which is known only when the file is rendered; it was not applied.", upper(what), k.d.holes.show(text))))
		return
	}
	b, err := kubeQuantity(text)
	if err != nil {
		k.findings = append(k.findings, k.d.say(CodeLimitUnreadable, finding.Warning, n, fmt.Sprintf("%s is %q, which is no quantity, and was not applied.", upper(what), clip(text))))
		return
	}
	*into = &b
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// sharedMemory finds what stands at /dev/shm: 64 MiB of the container runtime,
// the host's, or a volume in memory.
func (k *kubeContainer) sharedMemory(pod, n *yaml.Node) {
	d := k.d
	shm := defaultSHM
	k.c.SHMBytes = &shm
	if d.text(d.get(pod, "hostIPC")) == "true" {
		k.c.IPCHost, k.c.SHMBytes = true, nil
	}
	for _, m := range d.items(d.get(n, "volumeMounts")) {
		if strings.TrimRight(d.text(d.get(m, "mountPath")), "/") != "/dev/shm" {
			continue
		}
		k.volume(pod, d.text(d.get(m, "name")))
	}
}

func (k *kubeContainer) volume(pod *yaml.Node, name string) {
	d := k.d
	for _, v := range d.items(d.get(pod, "volumes")) {
		if d.text(d.get(v, "name")) != name {
			continue
		}
		dir := d.get(v, "emptyDir")
		switch {
		case dir == nil: // hostPath: the host's own
			k.c.IPCHost, k.c.SHMBytes = true, nil
		case d.get(dir, "sizeLimit") != nil:
			k.c.SHMBytes = nil
			k.size(d.get(dir, "sizeLimit"), "the size of /dev/shm", &k.c.SHMBytes)
		default: // in memory up to the container's limit, on disk without bound
			k.c.SHMBytes = k.c.MemoryBytes
		}
	}
}
