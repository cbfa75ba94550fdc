package launch

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// runtimes are the programs that take a docker command line.
var runtimes = words("docker podman nerdctl")

// dockerSwitches are the long options of docker, podman and nerdctl run, exec
// and create that take no value; every other option takes one.
var dockerSwitches = words(`--detach --disable-content-trust --help --init --interactive --no-healthcheck
	--oom-kill-disable --privileged --publish-all --quiet --read-only --rm --sig-proxy --tty --use-api-socket
	--env-host --http-proxy --no-hosts --no-hostname --passwd --read-only-tmpfs --replace --rmi --rootfs --tls-verify --unsetenv-all --debug --tls --tlsverify`)

// dockerShort are the one-letter options that take no value.
const dockerShort = "ditPqD"

// imageName is the last part of an image's name, without its tag.
func imageName(image string) string {
	name, _, _ := strings.Cut(path.Base(image), "@")
	name, _, _ = strings.Cut(name, ":")
	return name
}

// defaultSHM is what docker, containerd and podman give /dev/shm when nothing
// is said.
const defaultSHM = 64 * units.MiB

// containerLine reads `docker run`, `podman create` or `nerdctl exec` at i.
func (r *reader) containerLine(ws []Word, i int, w place) bool {
	k := i + 1
	for k < len(ws) && strings.HasPrefix(ws[k].Text, "-") { // options of the runtime itself
		_, _, k = dockerOption(ws, k)
	}
	if k < len(ws) && ws[k].Text == "container" {
		k++
	}
	if k >= len(ws) || !slices.Contains([]string{"run", "create", "exec"}, ws[k].Text) {
		return false
	}
	d := &dockerLine{r: r, c: &Container{}, env: map[string]string{}, unknownEnv: map[string]Word{}}
	exec := ws[k].Text == "exec"
	if !exec {
		shm := defaultSHM
		d.c.SHMBytes = &shm
	}
	for k++; k < len(ws) && strings.HasPrefix(ws[k].Text, "-") && len(ws[k].Text) > 1; {
		name, v, next := dockerOption(ws, k)
		if name == "--" {
			k = next
			break
		}
		d.option(name, v)
		k = next
	}
	if k >= len(ws) {
		return false
	}
	d.c.visible(d.env)
	if exec {
		d.c.Name = r.holes.show(ws[k].Text)
	} else {
		d.c.Image = r.holes.show(ws[k].Text)
		if d.c.Name == "" {
			d.c.Name = imageName(d.c.Image)
		}
	}
	d.start(ws, k, w)
	return true
}

// dockerOption takes an option and its value from the words; next is the index
// of the word behind them.
func dockerOption(ws []Word, k int) (name string, v Word, next int) {
	t := ws[k].Text
	if strings.HasPrefix(t, "--") {
		if n, value, ok := strings.Cut(t, "="); ok {
			return n, Word{Text: value, Unknown: ws[k].Unknown, Pos: ws[k].Pos}, k + 1
		}
		if t == "--" || dockerSwitches[t] || k+1 >= len(ws) {
			return t, Word{}, k + 1
		}
		return t, ws[k+1], k + 2
	}
	for j := 1; j < len(t); j++ { // -it, -p80:80, -itv /a:/b
		if strings.ContainsRune(dockerShort, rune(t[j])) {
			continue
		}
		if rest := strings.TrimPrefix(t[j+1:], "="); rest != "" {
			return "-" + t[j:j+1], Word{Text: rest, Unknown: ws[k].Unknown, Pos: ws[k].Pos}, k + 1
		}
		if k+1 < len(ws) {
			return "-" + t[j:j+1], ws[k+1], k + 2
		}
	}
	return t, Word{}, k + 1
}

// dockerLine is a container as its options describe it.
type dockerLine struct {
	r          *reader
	c          *Container
	env        map[string]string
	unknownEnv map[string]Word
	entrypoint *Word
	findings   []finding.Finding
}

func (d *dockerLine) option(name string, v Word) {
	switch name {
	case "--name":
		d.c.Name = d.r.holes.show(v.Text)
	case "--gpus":
		d.gpus(v)
	case "--device": // the container device interface
		if id, ok := strings.CutPrefix(v.Text, "nvidia.com/gpu="); ok && id != "all" {
			d.c.GPUDevices = append(d.c.GPUDevices, id)
		}
	case "--memory", "-m":
		d.size(name, v, &d.c.MemoryBytes)
	case "--shm-size":
		d.size(name, v, &d.c.SHMBytes)
	case "--ipc":
		if v.Text == "host" {
			d.c.IPCHost, d.c.SHMBytes = true, nil
		}
	case "--ulimit":
		d.ulimit(v)
	case "--entrypoint":
		d.entrypoint = &v
	case "--env", "-e":
		d.variable(v)
	case "--env-file":
		d.unknown(v, fmt.Sprintf("The variables of the env file %s were not read.", v.Text))
	}
}

// gpus reads all, a number, "device=0,1" or count=N, in the quotes that docker
// wants around a list.
func (d *dockerLine) gpus(v Word) {
	t := strings.Trim(v.Text, `"'`)
	if v.Unknown {
		d.unknown(v, fmt.Sprintf("--gpus %s is known only when the command runs; all GPUs were taken as granted.", v.Text))
		return
	}
	var last string
	for part := range strings.SplitSeq(t, ",") {
		key, value, keyed := strings.Cut(strings.TrimSpace(part), "=")
		if !keyed {
			key, value = last, key
		}
		switch {
		case key == "device":
			d.c.GPUDevices = append(d.c.GPUDevices, value)
		case (key == "count" || key == "") && value != "all" && value != "-1":
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 {
				d.unreadable(v, "--gpus")
				return
			}
			d.c.GPUs = &n
		}
		last = key
	}
}

func (d *dockerLine) size(name string, v Word, into **units.Bytes) {
	if v.Unknown {
		d.unknown(v, fmt.Sprintf("%s %s is known only when the command runs and was not applied.", name, v.Text))
		return
	}
	b, err := dockerSize(v.Text)
	if err != nil {
		d.unreadable(v, name)
		return
	}
	*into = &b
}

// ulimit reads memlock=-1:-1.
func (d *dockerLine) ulimit(v Word) {
	limits, ok := strings.CutPrefix(v.Text, "memlock=")
	if !ok || v.Unknown {
		return
	}
	soft, _, _ := strings.Cut(limits, ":")
	n, err := strconv.ParseInt(soft, 10, 64)
	if err != nil || n < -1 {
		d.unreadable(v, "--ulimit")
		return
	}
	d.c.Memlock = &n
}

// variable reads NAME=value; a bare NAME passes on what the caller has.
func (d *dockerLine) variable(v Word) {
	name, value, ok := strings.Cut(v.Text, "=")
	switch {
	case !ok || v.Unknown:
		d.unknownEnv[name] = Word{Text: firstText(value, "what the caller has"), Unknown: true, Pos: v.Pos}
	default:
		d.env[name] = value
	}
}

func firstText(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (d *dockerLine) unknown(v Word, detail string) {
	f := finding.New(CodeNotKnown, finding.Warning, "", clip(d.r.holes.show(detail)))
	f.Position = position(v.Pos)
	d.findings = append(d.findings, f)
}

func (d *dockerLine) unreadable(v Word, name string) {
	f := finding.New(CodeLimitUnreadable, finding.Warning, "", fmt.Sprintf("%s %q cannot be read and was not applied.", name, clip(d.r.holes.show(v.Text))))
	f.Position = position(v.Pos)
	d.findings = append(d.findings, f)
}

// start recognises the command of the container: the words after the image,
// behind the entrypoint that an option names.
func (d *dockerLine) start(ws []Word, image int, w place) {
	w.container, w.env, w.unknownEnv, w.strict = d.c, d.env, d.unknownEnv, false
	w.depth++
	outer, inner := ws[:image+1], slices.Clone(ws[image+1:])
	n := len(d.r.commands)
	d.r.command(d.entrypoint, inner, w)
	for _, c := range d.r.commands[n:] {
		c.Findings = append(d.findings, c.Findings...)
		words := &c.Prefix
		if c.Quoted != nil {
			words = &c.Quoted.Outer
		}
		own := *words
		if d.entrypoint != nil && len(own) > 0 {
			own = own[1:] // stands among the options already
		}
		*words = slices.Concat(d.r.holes.words(outer), own)
		if c.Source.File != "" || c.Quoted != nil {
			continue
		}
		number(c)
	}
}

// command recognises what a container runs: its entrypoint with the command
// behind it. Bare flags after an SGLang image are the flags of its own
// entrypoint.
func (r *reader) command(entrypoint *Word, inner []Word, w place) {
	if entrypoint != nil && entrypoint.Text != "" {
		inner = append([]Word{*entrypoint}, inner...)
	}
	n := len(r.commands)
	bare := entrypoint == nil && len(inner) > 0 && strings.HasPrefix(inner[0].Text, "-")
	if !bare {
		r.recognise(inner, w)
		return
	}
	if !strings.Contains(strings.ToLower(w.container.Image), "sglang") {
		return
	}
	r.add(inner, 0, w)
	f := finding.New(CodeEntrypoint, finding.Info, "", fmt.Sprintf("The entrypoint of %s was taken for python3 -m sglang.launch_server.", clip(w.container.Image)))
	f.Position = position(w.pos)
	r.commands[n].Findings = append(r.commands[n].Findings, f)
}

// dockerSize reads a size as docker, podman and Compose do: every suffix is
// binary, with or without b.
func dockerSize(s string) (units.Bytes, error) {
	t := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), " ", ""))
	t = strings.TrimSuffix(strings.TrimSuffix(t, "b"), "i")
	if t == "" {
		return 0, &units.SyntaxError{Text: s, Why: "no number"}
	}
	return units.Parse(t)
}
