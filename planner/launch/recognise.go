package launch

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/sglplan/sglplan/planner/finding"
)

// reader collects the launches of one input.
type reader struct {
	commands []*Command
	findings []finding.Finding
	// notes are about what a script was taken to mean so far; every launch
	// found after them carries them.
	notes []finding.Finding
	steps int
	full  bool // more launches than are read
	holes holes
}

// place is where a command runs and what it finds there.
type place struct {
	pos        finding.Position // where it stands
	container  *Container
	env        map[string]string
	unknownEnv map[string]Word // variables whose value is known only at run time
	host       string
	nodes      int
	// strict refuses words that only mention a launch: in a script, echo and
	// pgrep name servers too.
	strict bool
	depth  int
}

// position returns a copy to point at, nil when nothing is known.
func position(p finding.Position) *finding.Position {
	if p == (finding.Position{}) {
		return nil
	}
	return &p
}

// mentions are programs whose words are not a command to run.
var mentions = words("echo printf grep egrep fgrep rg pgrep pkill ps kill killall cat tee log logger curl wget which type man less tail head find ls cp mv rm mkdir touch chmod sed awk test [ trap alias git pip pip3 export cd logger")

// shells run the text after -c.
var shells = words("bash sh zsh dash ash ksh busybox")

// modules start the server under an interpreter.
var modules = words("sglang.launch_server sglang.srt.entrypoints.http_server")

func words(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

// entry reports that the word at i starts the server, so that the flags follow
// it.
func entry(ws []Word, i int) bool {
	w, prev := ws[i].Text, ""
	if i > 0 {
		prev = ws[i-1].Text
	}
	switch {
	case prev == "-m" || prev == "--module":
		return modules[w]
	case path.Base(w) == "launch_server.py":
		return true
	case w == "serve":
		return path.Base(prev) == "sglang" || prev == "sglang.cli.main"
	}
	return false
}

// recognise finds the launch that a command line makes: below wrappers such as
// env, numactl, nohup, torchrun or srun, inside a container, in the text of a
// shell. It adds what it finds and leaves everything else alone.
func (r *reader) recognise(ws []Word, w place) {
	if w.depth > maxDepth || len(ws) == 0 {
		return
	}
	w.env, w.unknownEnv = envOf(w.env), maps.Clone(w.unknownEnv)
	started := false // past the assignments that may come first
	for i := range ws {
		base := path.Base(ws[i].Text)
		name, value, assigns := assignment(ws[i].Text)
		switch {
		case assigns:
			w.setEnv(name, value, ws[i])
			continue
		case w.strict && !started && mentions[base]:
			return
		case base == "sglplan" && (i+1 == len(ws) || ws[i+1].Text != "run"):
			return // a check of a launch is no launch
		case entry(ws, i):
			r.add(ws, i+1, w)
			return
		case runtimes[base] && r.containerLine(ws, i, w):
			return
		case shells[base] && r.shellLine(ws, i, w):
			return
		case base == "ssh" && r.remoteLine(ws, i, w):
			return
		case base == "srun":
			r.step(ws[i+1:], &w)
		}
		started = true
	}
	r.hiddenProgram(ws, w)
}

func (w *place) setEnv(name, value string, word Word) {
	if word.Unknown {
		delete(w.env, name)
		if w.unknownEnv == nil {
			w.unknownEnv = map[string]Word{}
		}
		w.unknownEnv[name] = Word{Text: value, Unknown: true, Pos: word.Pos}
		return
	}
	w.env[name] = value
	delete(w.unknownEnv, name)
}

// hiddenProgram takes a command whose program is not known for a launch when
// it gives SGLang's flag for the model: "${SERVER_CMD}" --model-path ...
func (r *reader) hiddenProgram(ws []Word, w place) {
	i := slices.IndexFunc(ws, func(w Word) bool { _, _, is := assignment(w.Text); return !is })
	if i < 0 || !ws[i].Unknown {
		return
	}
	j := slices.IndexFunc(ws, func(w Word) bool { return strings.HasPrefix(w.Text, "--model-path") })
	if j < 0 {
		return
	}
	r.add(ws, i+1, w)
}

// maxLaunches bounds the launches of one file; loops can write many.
const maxLaunches = 1024

// add records a launch whose flags begin at end.
func (r *reader) add(ws []Word, end int, w place) {
	if len(r.commands) >= maxLaunches {
		if len(r.commands) == maxLaunches && !r.full {
			r.full = true
			r.findings = append(r.findings, tooLarge(w.pos.File, w.pos.Line, fmt.Sprintf("Only the first %d launches were read.", maxLaunches)))
		}
		return
	}
	ws = r.holes.words(ws)
	c := &Command{
		Prefix: slices.Clone(ws[:end]), Flags: slices.Clone(ws[end:]),
		Env: w.env, Container: w.container, Source: w.pos, Nodes: w.nodes, Host: w.host,
	}
	if w.container != nil && c.Source.File != "" {
		c.Source.Container = w.container.Name
	}
	c.Source.Word = 0
	c.Python = interpreter(c.Prefix)
	number(c)
	for _, name := range slices.Sorted(maps.Keys(w.unknownEnv)) {
		if v := w.unknownEnv[name]; v.Pos != (finding.Position{}) || w.pos.File == "" { // not of a controller
			c.Findings = append(c.Findings, r.unknownEnv(name, v))
		}
	}
	c.Findings = placed(append(c.Findings, r.notes...), c.Source.Container)
	r.commands = append(r.commands, c)
}

// placed names the container in the positions of findings.
func placed(fs []finding.Finding, container string) []finding.Finding {
	if container == "" {
		return fs
	}
	out := make([]finding.Finding, len(fs))
	for i, f := range fs {
		if f.Position != nil {
			p := *f.Position
			p.Container = container
			f.Position = &p
		}
		out[i] = f
	}
	return out
}

// number gives the words of a file their place in the command beside their
// place in the file, so that no two are the same.
func number(c *Command) {
	for i := range c.Prefix {
		c.Prefix[i].Pos = ordinal(c.Prefix[i].Pos, i+1, c)
	}
	for i := range c.Flags {
		c.Flags[i].Pos = ordinal(c.Flags[i].Pos, len(c.Prefix)+i+1, c)
	}
}

func ordinal(p finding.Position, n int, c *Command) finding.Position {
	if p.File == "" {
		if p.Word == 0 {
			p.Word = n
		}
		return p
	}
	p.Word, p.Container = n, c.Source.Container
	return p
}

// decides reports a variable that can bear on what a launch takes or sees:
// the devices, the allocator, and SGLang's own but for its addresses.
func decides(name string) bool {
	for _, address := range []string{"_IP", "_HOST", "_PORT", "_ADDR", "_KEY"} {
		if strings.HasSuffix(name, address) {
			return false
		}
	}
	return name == "CUDA_VISIBLE_DEVICES" || name == "PYTORCH_CUDA_ALLOC_CONF" || strings.HasPrefix(name, "SGLANG_") || strings.HasPrefix(name, "SGL_")
}

func (r *reader) unknownEnv(name string, v Word) finding.Finding {
	sev := finding.Info
	if decides(name) {
		sev = finding.Warning
	}
	f := finding.New(CodeNotKnown, sev, "", fmt.Sprintf("The variable %s is set to %s, which is known only when the launch runs; it was planned as not set.", name, clip(r.holes.show(v.Text))))
	f.Position = position(v.Pos)
	return f
}

// interpreter is the Python of a launch, or the path of the sglang script.
func interpreter(prefix []Word) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		switch base := path.Base(prefix[i].Text); {
		case prefix[i].Unknown:
		case strings.HasPrefix(base, "python") && !strings.ContainsAny(base, "=:"):
			return prefix[i].Text
		case base == "sglang" && base != prefix[i].Text:
			return prefix[i].Text
		}
	}
	return ""
}

// shellLine reads the text of `bash -c TEXT`.
func (r *reader) shellLine(ws []Word, i int, w place) bool {
	k := textAfter(ws, i+1)
	if k < 0 || k >= len(ws) {
		return false
	}
	r.text(ws, k, w)
	return true
}

// textAfter is the index of the text that a shell's -c names, -1 without one.
func textAfter(ws []Word, i int) int {
	for command := false; i < len(ws); i++ {
		t := ws[i].Text
		if len(t) < 2 || t[0] != '-' && t[0] != '+' {
			if command {
				return i
			}
			return -1
		}
		if strings.HasPrefix(t, "--") {
			continue
		}
		command = command || strings.Contains(t, "c")
		if last := t[len(t)-1]; last == 'o' || last == 'O' {
			i++ // -o pipefail
		}
	}
	return -1
}

// text follows the shell text at k; the words behind it are its parameters.
func (r *reader) text(ws []Word, k int, w place) {
	params := slices.Clone(ws[min(k+2, len(ws)):])
	base := ws[k].Pos
	sh := r.script(ws[k].Text, w, &params, inside(base), w.depth+1)
	sh.quoted = func(c *syntax.CallExpr) *Quoted {
		a, b := c.Pos().Offset(), c.End().Offset()
		if a > b || b > uint(len(sh.src)) {
			return nil
		}
		return &Quoted{
			Outer: r.holes.words(ws[:k]), Before: r.holes.show(sh.src[:a]), After: r.holes.show(sh.src[b:]), Rest: r.holes.words(ws[k+1:]),
		}
	}
	sh.run()
}

// inside maps places of a text to places of the file that it stands in.
func inside(base finding.Position) func(syntax.Pos) finding.Position {
	return func(p syntax.Pos) finding.Position {
		at := base
		if at.Line > 0 && p.IsValid() {
			at.Line += int(p.Line()) - 1
			if p.Line() > 1 {
				at.Column = 0
			}
		}
		return at
	}
}

// sshValues are the options of ssh that take a value.
const sshValues = "bceBDEeFIiJLlmOoPpQRSWw"

// remoteLine reads the command that ssh runs on another host.
func (r *reader) remoteLine(ws []Word, i int, w place) bool {
	k := i + 1
	for ; k < len(ws) && strings.HasPrefix(ws[k].Text, "-"); k++ {
		if t := ws[k].Text; len(t) == 2 && strings.Contains(sshValues, t[1:]) {
			k++
		}
	}
	if k+1 >= len(ws) {
		return false
	}
	w.host, w.env, w.unknownEnv = w.host+"/ssh "+r.holes.show(ws[k].Text), nil, nil
	if k+2 == len(ws) {
		r.text(ws, k+1, w)
		return true
	}
	rest := ws[k+1:]
	sh := r.script(strings.Join(texts(rest), " "), w, &[]Word{}, func(syntax.Pos) finding.Position { return rest[0].Pos }, w.depth+1)
	sh.run()
	return true
}
