package launch

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// compose reads the services of a Compose file, which all run on one host.
func (d *document) compose(root *yaml.Node) {
	services := d.get(root, "services")
	for _, p := range d.pairs(services) {
		if p.value.Kind == yaml.MappingNode {
			d.service(services, d.text(p.key), p.value)
		}
	}
}

// composeService is one service while it is read. Its own keys come first,
// then those of the services that it extends.
type composeService struct {
	d        *document
	layers   []*yaml.Node
	c        *Container
	env      map[string]string
	unknown  map[string]Word
	findings []finding.Finding
	said     map[string]bool
}

func (d *document) service(services *yaml.Node, name string, n *yaml.Node) {
	s := &composeService{
		d: d, env: map[string]string{}, unknown: map[string]Word{}, said: map[string]bool{},
		c: &Container{Name: d.holes.show(name)},
	}
	s.extend(services, n)
	s.c.Image = d.holes.show(s.scalar("image"))
	s.environment()
	s.memory()
	s.gpus()
	command := s.commandLine("command")
	entrypoint := s.commandLine("entrypoint")
	at := place{pos: d.at(n), container: s.c, env: s.env, unknownEnv: s.unknown, host: s.profiles()}
	before := len(d.r.commands)
	d.r.notes = nil
	if len(entrypoint) > 0 {
		d.r.recognise(append(entrypoint, command...), at)
	} else {
		d.r.command(nil, command, at)
	}
	for _, c := range d.r.commands[before:] {
		if len(c.Prefix)+len(c.Flags) > 0 {
			c.Source.Line = firstLine(c, c.Source.Line)
		}
		c.Findings = append(c.Findings, placed(s.findings, s.c.Name)...)
	}
}

// firstLine is the line of the first word of a command.
func firstLine(c *Command, line int) int {
	for _, ws := range [][]Word{c.Prefix, c.Flags} {
		if len(ws) > 0 && ws[0].Pos.Line > 0 {
			return ws[0].Pos.Line
		}
	}
	return line
}

// extend lays the services that this one extends below it.
func (s *composeService) extend(services, n *yaml.Node) {
	for range maxNesting {
		s.layers = append(s.layers, n)
		e := s.d.get(n, "extends")
		if e == nil {
			return
		}
		name := s.d.text(e)
		if e.Kind == yaml.MappingNode {
			name = s.d.text(s.d.get(e, "service"))
			if file := s.d.get(e, "file"); file != nil {
				s.findings = append(s.findings, s.d.say(CodeNotKnown, finding.Warning, e, fmt.Sprintf("The service extends %s of %s, which was not read: what it adds is not known.", name, s.d.shown(file))))
				return
			}
		}
		if n = s.d.get(services, name); n == nil {
			return
		}
	}
}

// find returns a key of the service or of what it extends.
func (s *composeService) find(keys ...string) *yaml.Node {
	for _, l := range s.layers {
		if n := s.d.path(l, keys...); n != nil {
			return n
		}
	}
	return nil
}

// scalar returns the interpolated text of a key.
func (s *composeService) scalar(keys ...string) string { return s.text(s.find(keys...)) }

func (s *composeService) text(n *yaml.Node) string { return s.interpolate(n, s.d.text(n)) }

// environment reads a mapping or a list of NAME=value; a bare name passes on
// what the caller has.
func (s *composeService) environment() {
	d := s.d
	if f := s.find("env_file"); f != nil {
		s.findings = append(s.findings, d.say(CodeNotKnown, finding.Info, f, "The variables of the env file are not in this file and were not read."))
	}
	for i := len(s.layers) - 1; i >= 0; i-- {
		n := d.get(s.layers[i], "environment")
		for _, p := range d.pairs(n) {
			if p.value.Tag == "!!null" {
				s.setUnknown(d.text(p.key), "what the caller has", p.key)
				continue
			}
			s.set(d.text(p.key), s.text(p.value), p.key)
		}
		for _, item := range d.items(n) {
			name, value, ok := strings.Cut(s.text(item), "=")
			if !ok {
				s.setUnknown(name, "what the caller has", item)
				continue
			}
			s.set(name, value, item)
		}
	}
}

func (s *composeService) set(name, value string, at *yaml.Node) {
	if hole(value) {
		s.setUnknown(name, s.d.holes.show(value), at)
		return
	}
	s.env[name] = value
	delete(s.unknown, name)
}

func (s *composeService) setUnknown(name, source string, at *yaml.Node) {
	delete(s.env, name)
	s.unknown[name] = Word{Text: source, Unknown: true, Pos: s.d.at(at)}
}

// memory reads the limits: of the two places for a memory limit the smaller.
func (s *composeService) memory() {
	shm := defaultSHM
	s.c.SHMBytes = &shm
	s.size("shm_size", s.find("shm_size"), &s.c.SHMBytes)
	if ipc := s.scalar("ipc"); ipc == "host" {
		s.c.IPCHost, s.c.SHMBytes = true, nil
	}
	for _, keys := range [][]string{{"mem_limit"}, {"deploy", "resources", "limits", "memory"}} {
		var b *units.Bytes
		s.size(keys[len(keys)-1], s.find(keys...), &b)
		if b != nil && *b > 0 && (s.c.MemoryBytes == nil || *b < *s.c.MemoryBytes) {
			s.c.MemoryBytes = b
		}
	}
	lock := s.find("ulimits", "memlock")
	if lock != nil && lock.Kind == yaml.MappingNode {
		lock = s.d.get(lock, "soft")
	}
	if n, err := strconv.ParseInt(s.text(lock), 10, 64); err == nil && n >= -1 {
		s.c.Memlock = &n
	}
}

func (s *composeService) size(what string, n *yaml.Node, into **units.Bytes) {
	if n == nil {
		return
	}
	text := s.text(n)
	if hole(text) {
		s.findings = append(s.findings, s.d.say(CodeNotKnown, finding.Warning, n, fmt.Sprintf("%s is %s, which the file does not set; it was not applied.", what, s.d.holes.show(text))))
		return
	}
	b, err := dockerSize(text)
	if err != nil {
		s.findings = append(s.findings, s.d.say(CodeLimitUnreadable, finding.Warning, n, fmt.Sprintf("%s is %q, which is no size, and was not applied.", what, clip(text))))
		return
	}
	*into = &b
}

// gpus reads the devices that are reserved, the short form `gpus`, and the
// variable that the nvidia runtime obeys.
func (s *composeService) gpus() {
	d := s.d
	granted := append(d.items(s.find("deploy", "resources", "reservations", "devices")), d.items(s.find("gpus"))...)
	for _, g := range granted {
		driver := s.text(d.get(g, "driver"))
		if driver != "" && driver != "nvidia" && driver != "cdi" {
			continue
		}
		for _, id := range d.items(d.get(g, "device_ids")) {
			s.c.GPUDevices = append(s.c.GPUDevices, strings.TrimPrefix(d.holes.show(s.text(id)), "nvidia.com/gpu="))
		}
		count := d.get(g, "count")
		if text := s.text(count); text != "" && text != "all" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				s.findings = append(s.findings, d.say(CodeLimitUnreadable, finding.Warning, count, fmt.Sprintf("count is %q, which is no number of GPUs, and was not applied.", clip(d.holes.show(text)))))
				continue
			}
			s.c.GPUs = &n
		}
	}
	s.c.visible(s.env)
}

// visible takes the devices that NVIDIA_VISIBLE_DEVICES names where no option
// names any.
func (c *Container) visible(env map[string]string) {
	list := env["NVIDIA_VISIBLE_DEVICES"]
	if c.GPUs != nil || len(c.GPUDevices) > 0 || list == "" || list == "all" || list == "void" || list == "none" {
		return
	}
	c.GPUDevices = strings.Split(list, ",")
}

// profiles tell services apart that run only when they are asked for: those of
// different profiles usually do not run together.
func (s *composeService) profiles() string {
	var names []string
	for _, p := range s.d.items(s.find("profiles")) {
		names = append(names, s.d.text(p))
	}
	if len(names) == 0 {
		return ""
	}
	return path.Join("profile", strings.Join(names, ","))
}

// commandLine reads command or entrypoint: a list, or a text that is split as
// a shell splits words but expands nothing.
func (s *composeService) commandLine(key string) []Word {
	n := s.find(key)
	if n == nil {
		return nil
	}
	var out []Word
	if n.Kind == yaml.SequenceNode {
		for _, item := range s.d.items(n) {
			text := s.text(item)
			out = append(out, Word{Text: text, Unknown: hole(text), Pos: s.d.at(item)})
		}
		return out
	}
	pos := s.d.at(n)
	parts, err := splitWords(s.text(n))
	if err != nil {
		s.findings = append(s.findings, s.d.say(CodeSyntax, finding.Warning, n, key+": "+err.Error()+"."))
	}
	for _, p := range parts {
		at := pos
		if n.Style&yaml.LiteralStyle != 0 {
			at.Line += p.line
		}
		out = append(out, Word{Text: p.text, Unknown: hole(p.text), Pos: at})
	}
	return out
}
