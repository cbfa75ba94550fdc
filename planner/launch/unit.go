package launch

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// setting is one Key=value of a unit with the line it begins on. Lines that
// are joined by a backslash keep their newlines, which split words as spaces
// do.
type setting struct {
	section, key, value string
	line                int
}

// unitSettings reads the lines of a unit file.
func unitSettings(text string) []setting {
	var out []setting
	section := ""
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		l := strings.TrimSpace(lines[i])
		if l == "" || l[0] == '#' || l[0] == ';' {
			continue
		}
		if l[0] == '[' {
			section = strings.Trim(l, "[]")
			continue
		}
		key, value, ok := strings.Cut(l, "=")
		if !ok {
			continue
		}
		s := setting{section: section, key: strings.TrimSpace(key), line: i + 1}
		var b strings.Builder
		value = strings.TrimLeft(value, " \t")
		for strings.HasSuffix(value, `\`) && i+1 < len(lines) {
			b.WriteString(strings.TrimSuffix(value, `\`) + "\n")
			i++
			for value = strings.TrimSpace(lines[i]); isComment(value) && i+1 < len(lines); value = strings.TrimSpace(lines[i]) {
				b.WriteString("\n") // a comment between joined lines is left out
				i++
			}
		}
		b.WriteString(value)
		s.value = b.String()
		out = append(out, s)
	}
	return out
}

func isComment(s string) bool { return s != "" && (s[0] == '#' || s[0] == ';') }

// unitFile is a unit while it is read. A podman quadlet has its container in a
// section of its own.
type unitFile struct {
	r          *reader
	file       string
	c          *Container
	env        map[string]string
	unknown    map[string]Word
	holes      *holes
	starts     []setting
	exec       *setting // command of a quadlet
	entrypoint *setting
	docker     dockerLine // options of podman that a quadlet names
	findings   []finding.Finding
}

// unit reads a systemd service, or a quadlet of podman.
func (r *reader) unit(file, text string) {
	u := &unitFile{
		r: r, file: file, env: map[string]string{}, unknown: map[string]Word{},
		c: &Container{Name: path.Base(file), HostFiles: true}, holes: &r.holes,
	}
	u.docker = dockerLine{r: r, c: u.c, env: u.env, unknownEnv: u.unknown}
	text, _ = u.holes.withoutTemplates(text)
	for _, s := range unitSettings(text) {
		if read := unitKeys[s.section+"."+s.key]; read != nil {
			read(u, s)
		}
	}
	u.docker.c.visible(u.env)
	before := len(r.commands)
	for _, s := range u.starts {
		r.recognise(u.words(s, strings.TrimLeft(s.value, "-@:+!|")), u.place(s))
	}
	if u.exec != nil {
		var entrypoint *Word
		if u.entrypoint != nil {
			entrypoint = &Word{Text: u.entrypoint.value, Pos: u.at(*u.entrypoint, 0)}
		}
		r.command(entrypoint, u.words(*u.exec, u.exec.value), u.place(*u.exec))
	}
	for _, c := range r.commands[before:] {
		c.Findings = append(c.Findings, placed(append(u.findings, u.docker.findings...), u.c.Name)...)
	}
}

func (u *unitFile) place(s setting) place {
	return place{pos: u.at(s, 0), container: u.c, env: u.env, unknownEnv: u.unknown}
}

func (u *unitFile) at(s setting, line int) finding.Position {
	return finding.Position{File: u.file, Line: s.line + line}
}

// unitKeys are the settings that bear on a launch, by section and key.
var unitKeys = map[string]func(*unitFile, setting){
	"Service.ExecStart": func(u *unitFile, s setting) {
		if strings.TrimSpace(s.value) == "" {
			u.starts = nil // an empty one takes back those before
			return
		}
		u.starts = append(u.starts, s)
	},
	"Service.Environment":       (*unitFile).environment,
	"Container.Environment":     (*unitFile).environment,
	"Service.EnvironmentFile":   (*unitFile).environmentFile,
	"Container.EnvironmentFile": (*unitFile).environmentFile,
	"Service.PassEnvironment": func(u *unitFile, s setting) {
		for _, name := range strings.Fields(s.value) {
			u.unknown[name] = Word{Text: "what the service manager has", Unknown: true, Pos: u.at(s, 0)}
		}
	},
	"Service.MemoryMax":    (*unitFile).memory,
	"Service.MemoryLimit":  (*unitFile).memory, // the name before systemd 231
	"Container.Memory":     (*unitFile).memory,
	"Service.LimitMEMLOCK": (*unitFile).memlock,
	"Container.Image":      func(u *unitFile, s setting) { u.quadlet().Image = s.value },
	"Container.Exec":       func(u *unitFile, s setting) { u.exec = &s },
	"Container.Entrypoint": func(u *unitFile, s setting) { u.entrypoint = &s },
	"Container.ShmSize":    func(u *unitFile, s setting) { u.option("--shm-size", s) },
	"Container.AddDevice":  func(u *unitFile, s setting) { u.option("--device", s) },
	"Container.Ulimit":     func(u *unitFile, s setting) { u.option("--ulimit", s) },
	"Container.PodmanArgs": func(u *unitFile, s setting) {
		ws := u.words(s, s.value)
		for k := 0; k < len(ws); {
			name, v, next := dockerOption(ws, k)
			u.docker.option(name, v)
			k = next
		}
	},
}

// quadlet is the container of a quadlet, with podman's own /dev/shm.
func (u *unitFile) quadlet() *Container {
	if u.c.HostFiles {
		shm := defaultSHM
		u.c.HostFiles, u.c.SHMBytes = false, &shm
	}
	return u.c
}

func (u *unitFile) option(name string, s setting) {
	u.quadlet()
	u.docker.option(name, Word{Text: s.value, Pos: u.at(s, 0)})
}

// environment reads Environment=A=1 "B=2 3".
func (u *unitFile) environment(s setting) {
	parts, _ := splitWords(s.value)
	for _, p := range parts {
		name, value, ok := assignment(u.specifiers(p.text))
		switch {
		case !ok:
		case hole(value):
			delete(u.env, name)
			u.unknown[name] = Word{Text: u.holes.show(value), Unknown: true, Pos: u.at(s, p.line)}
		default:
			u.env[name] = value
			delete(u.unknown, name)
		}
	}
}

func (u *unitFile) environmentFile(s setting) {
	u.say(CodeNotKnown, finding.Info, s, fmt.Sprintf("The variables of %s are not in this file and were not read.", strings.TrimPrefix(s.value, "-")))
}

func (u *unitFile) say(code finding.Code, sev finding.Severity, s setting, detail string) {
	f := finding.New(code, sev, "", detail)
	pos := u.at(s, 0)
	f.Position = &pos
	u.findings = append(u.findings, f)
}

// memory reads a size in systemd's binary units. A percentage is of a host
// that is not known here.
func (u *unitFile) memory(s setting) {
	v := strings.TrimSpace(s.value)
	switch {
	case v == "" || v == "infinity":
		u.c.MemoryBytes = nil
	case strings.HasSuffix(v, "%"):
		u.say(CodeNotKnown, finding.Warning, s, fmt.Sprintf("%s=%s is a share of the host's memory and was not applied.", s.key, v))
	default:
		b, err := units.Parse(v)
		if err != nil {
			u.say(CodeLimitUnreadable, finding.Warning, s, fmt.Sprintf("%s=%s is no size and was not applied.", s.key, clip(v)))
			return
		}
		u.c.MemoryBytes = &b
	}
}

func (u *unitFile) memlock(s setting) {
	soft, _, _ := strings.Cut(s.value, ":")
	n := int64(-1)
	if soft != "infinity" {
		b, err := units.Parse(soft)
		if err != nil {
			u.say(CodeLimitUnreadable, finding.Warning, s, fmt.Sprintf("LimitMEMLOCK=%s is no size and was not applied.", clip(s.value)))
			return
		}
		n = int64(b)
	}
	u.c.Memlock = &n
}

// specifiers hides what systemd fills in, such as %i and %n; %% is a percent
// sign.
func (u *unitFile) specifiers(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '%' || i+1 == len(text):
			b.WriteByte(text[i])
		case text[i+1] == '%':
			b.WriteByte('%')
			i++
		case strings.IndexByte("abBCdDEfgGhHiIjJlLmMnNopPqrRsStTuUvVwWyY", text[i+1]) >= 0:
			b.WriteString(u.holes.mark(text[i : i+2]))
			i++
		default:
			b.WriteByte('%')
		}
	}
	return b.String()
}

// words splits a command line as systemd does and replaces its variables: a
// ${NAME} inside a word, a $NAME that is a word of its own by all its words.
func (u *unitFile) words(s setting, text string) []Word {
	parts, err := splitWords(text)
	if err != nil {
		u.say(CodeSyntax, finding.Warning, s, s.key+": "+err.Error()+".")
	}
	var out []Word
	for _, p := range parts {
		pos := u.at(s, p.line)
		if name, ok := strings.CutPrefix(p.text, "$"); ok && isName(name) {
			v, known := u.env[name]
			if !known {
				out = append(out, Word{Text: p.text, Unknown: true, Pos: pos})
				continue
			}
			for _, f := range strings.Fields(v) {
				out = append(out, Word{Text: f, Pos: pos})
			}
			continue
		}
		t := u.variables(u.specifiers(p.text))
		out = append(out, Word{Text: t, Unknown: hole(t), Pos: pos})
	}
	return out
}

// variables replaces ${NAME}; $$ is a single $.
func (u *unitFile) variables(text string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		end := strings.IndexByte(text[i:], '}')
		switch {
		case text[i] == '$' && i+1 < len(text) && text[i+1] == '$':
			b.WriteByte('$')
			i++
		case strings.HasPrefix(text[i:], "${") && end > 2 && isName(text[i+2:i+end]):
			name := text[i+2 : i+end]
			if v, ok := u.env[name]; ok {
				b.WriteString(v)
			} else {
				b.WriteString(u.holes.mark("${" + name + "}"))
			}
			i += end
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// atoi reads a small positive number; 0 for anything else.
func atoi(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 || n > 1<<20 {
		return 0
	}
	return n
}
