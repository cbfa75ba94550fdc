package weights

import (
	"regexp"
	"strconv"
	"strings"
)

// matchStyle is how a quantisation method reads its list of modules that stay
// unquantised.
type matchStyle uint8

const (
	byPath   matchStyle = iota // dotted sub-path (fp8, mxfp4): "mlp.gate" is not "mlp.gate_up_proj"
	byGlob                     // ModelOpt: sub-path, or a glob over the name or one part of it
	byTarget                   // compressed-tensors: equal, dotted suffix, or "re:" expression
)

// fusedShards names the checkpoint's modules behind a fused one.
var fusedShards = map[string][]string{
	"qkv_proj":       {"q_proj", "k_proj", "v_proj"},
	"gate_up_proj":   {"gate_proj", "up_proj"},
	"in_proj_qkvz":   {"in_proj_qkv", "in_proj_z"},
	"in_proj_ba":     {"in_proj_b", "in_proj_a"},
	"index_qkv_proj": {"index_q_proj", "index_k_proj", "index_v_proj"},
}

// matcher answers whether a module is in the list. Lists name the same
// modules for every layer, so answers are kept per class of layers: those with
// the same entries but for the layer's number.
type matcher struct {
	style    matchStyle
	global   []pattern            // entries without a layer number
	numbered map[string][]pattern // by the digits of the layer
	prefixes []string             // digits that end in a glob ("layers.1*")
	classes  map[int]int
	classOf  map[string]int
	known    map[matchKey]bool
}

type matchKey struct {
	class        int
	prefix, leaf string
	kind         Kind
}

type pattern struct {
	text string
	re   *regexp.Regexp // for "re:"
	glob bool           // the layer number itself ends in a glob
}

// canonical drops the wrappers' parts from the front of a name and the names
// that classes map, so that the checkpoint's names and SGLang's meet.
func canonical(s string) string {
	s = strings.Replace(s, ".block_sparse_moe.", ".mlp.", 1)
	for {
		t := s
		for _, p := range []string{"model.", "language_model.", "backbone."} {
			t = strings.TrimPrefix(t, p)
		}
		if t == s {
			return s
		}
		s = t
	}
}

func newMatcher(style matchStyle, list []string) *matcher {
	m := &matcher{style: style, numbered: map[string][]pattern{}, classes: map[int]int{}, classOf: map[string]int{}, known: map[matchKey]bool{}}
	for _, s := range list {
		m.insert(s)
	}
	return m
}

func (m *matcher) insert(s string) {
	if expr, ok := strings.CutPrefix(s, "re:"); ok {
		// Python's re.match anchors at the start. An expression that RE2
		// cannot read matches nothing.
		if re, err := regexp.Compile("^(?:" + expr + ")"); err == nil {
			m.global = append(m.global, pattern{text: s, re: re})
		}
		return
	}
	p := pattern{text: canonical(strings.TrimRight(s, "."))}
	digits, glob := layerDigits(p.text)
	if digits == "" {
		m.global = append(m.global, p)
		return
	}
	if p.glob = glob; glob {
		m.prefixes = append(m.prefixes, digits)
	}
	m.numbered[digits] = append(m.numbered[digits], p)
}

// layerDigits finds the layer number in a name.
func layerDigits(s string) (digits string, glob bool) {
	i := strings.Index(s, "layers.")
	if i < 0 {
		return "", false
	}
	rest := s[i+len("layers."):]
	n := 0
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	return rest[:n], n < len(rest) && rest[n] == '*'
}

// of returns the entries that can touch a layer.
func (m *matcher) of(layer int) []pattern {
	if layer < 0 || len(m.numbered) == 0 {
		return nil
	}
	d := strconv.Itoa(layer)
	list := m.numbered[d]
	for _, p := range m.prefixes {
		if p != d && strings.HasPrefix(d, p) {
			for _, q := range m.numbered[p] {
				if q.glob {
					list = append(list[:len(list):len(list)], q)
				}
			}
		}
	}
	return list
}

// class numbers the layers by their entries.
func (m *matcher) class(layer int) int {
	if c, ok := m.classes[layer]; ok {
		return c
	}
	d := "layers." + strconv.Itoa(layer)
	var sig strings.Builder
	for _, p := range m.of(layer) {
		sig.WriteString(strings.Replace(p.text, d, "layers.N", 1))
		sig.WriteByte('\n')
	}
	c, ok := m.classOf[sig.String()]
	if !ok {
		c = len(m.classOf)
		m.classOf[sig.String()] = c
	}
	m.classes[layer] = c
	return c
}

// skips reports whether the list names the module.
func (m *matcher) skips(n Name, kind Kind) bool {
	if m == nil || len(m.global)+len(m.numbered) == 0 {
		return false
	}
	k := matchKey{m.class(n.Layer), n.Prefix, n.Leaf, kind}
	v, ok := m.known[k]
	if !ok {
		v = m.eval(n, kind)
		m.known[k] = v
	}
	return v
}

func (m *matcher) eval(n Name, kind Kind) bool {
	full := n.String()
	if m.style == byTarget {
		if kind == MoE {
			return m.any(n.Layer, full+".0.gate_proj") // the method asks for an expert's projections
		}
		for _, s := range shards(full) {
			if m.any(n.Layer, s) {
				return true
			}
		}
		return m.any(n.Layer, full)
	}
	name := canonical(full)
	if kind == MoE && m.style == byGlob {
		return m.any(n.Layer, name)
	}
	for _, s := range shards(name) {
		if m.any(n.Layer, s) {
			return true
		}
	}
	return m.any(n.Layer, name) || kind == MoE && m.inside(n.Layer, name)
}

// inside reports an entry below the module that names experts.
func (m *matcher) inside(layer int, name string) bool {
	for _, p := range m.of(layer) {
		if strings.Contains(p.text, "experts") && strings.Contains(p.text, name) {
			return true
		}
	}
	return false
}

// shards returns the checkpoint's names of a fused module.
func shards(name string) []string {
	i := strings.LastIndexByte(name, '.')
	var out []string
	for _, s := range fusedShards[name[i+1:]] {
		out = append(out, name[:i+1]+s)
	}
	return out
}

func (m *matcher) any(layer int, name string) bool {
	for _, p := range m.global {
		if m.match(p, name) {
			return true
		}
	}
	for _, p := range m.of(layer) {
		if m.match(p, name) {
			return true
		}
	}
	return false
}

func (m *matcher) match(p pattern, name string) bool {
	switch {
	case p.re != nil:
		return p.re.MatchString(name)
	case m.style == byTarget:
		c := canonical(name)
		return p.text == c || strings.HasSuffix(c, "."+p.text)
	case pathMatch(p.text, name):
		return true
	case m.style == byGlob:
		return globMatch(p.text, name)
	}
	return strings.Contains(p.text, "*") && globPath(p.text, name)
}

// pathMatch reports whether entry is a run of whole parts of name.
func pathMatch(entry, name string) bool {
	i := strings.Index(name, entry)
	for i >= 0 {
		end := i + len(entry)
		if (i == 0 || name[i-1] == '.') && (end == len(name) || name[end] == '.') {
			return true
		}
		next := strings.Index(name[i+1:], entry)
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

// modelOptFused are the shards that ModelOpt lists under their own names
// though SGLang fuses them (q_a_proj in fused_qkv_a_proj_with_mqa).
var modelOptFused = []string{"q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj"}

// globMatch follows ModelOptQuantConfig.is_layer_excluded: the whole name, one
// of its parts, or a known shard inside a fused module's name.
func globMatch(p, name string) bool {
	if wild(p, name) {
		return true
	}
	for part := range strings.SplitSeq(name, ".") {
		if wild(p, part) {
			return true
		}
	}
	tail := p[strings.LastIndexByte(p, '.')+1:]
	last := name[strings.LastIndexByte(name, '.')+1:]
	for _, f := range modelOptFused {
		if tail == f && strings.Contains(last, tail) {
			return true
		}
		// q_a_proj is written qkv_a inside the fused name
		if tail == "q_a_proj" && last == "fused_qkv_a_proj_with_mqa" {
			return true
		}
	}
	return false
}

// globPath matches a pattern such as "layers.*.self_attn" as a sub-path.
func globPath(p, name string) bool {
	return wild(p, name) || wild(p+".*", name) || wild("*."+p, name) || wild("*."+p+".*", name)
}

// wild matches s against p, in which each * stands for any run of characters.
func wild(p, s string) bool {
	parts := strings.Split(p, "*")
	if len(parts) == 1 {
		return p == s
	}
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	for _, mid := range parts[1 : len(parts)-1] {
		i := strings.Index(s, mid)
		if i < 0 {
			return false
		}
		s = s[i+len(mid):]
	}
	return strings.HasSuffix(s, parts[len(parts)-1])
}
