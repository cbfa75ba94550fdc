package launch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// document is one YAML document of a file, with what is needed to walk it
// safely: aliases are followed one at a time, and every step counts.
type document struct {
	r      *reader
	file   string
	first  int // lines of the file before it
	budget int
	holes  *holes
	root   *yaml.Node
}

// maxNodes bounds the nodes that are visited in one document, aliases
// included: a few lines of YAML can stand for billions of nodes.
const maxNodes = 200_000

// maxNesting bounds how deep mappings and lists are followed.
const maxNesting = 64

// yaml reads every document of a file. A document without SGLang in it is left
// alone, so that large files cost little.
func (r *reader) yaml(file, text string) {
	line := 0
	for part := range documents(text) {
		if mentionsSGLang(part) {
			r.document(file, part, line)
		}
		line += strings.Count(part, "\n")
	}
}

func mentionsSGLang(s string) bool {
	return strings.Contains(s, "sglang") || strings.Contains(s, "launch_server")
}

// documents splits a file at its --- lines; each part keeps its newlines.
func documents(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for text != "" {
			end := len(text)
			for i := 0; i < len(text); {
				j := strings.IndexByte(text[i:], '\n')
				if j < 0 {
					break
				}
				i += j + 1
				if rest := text[i:]; strings.HasPrefix(rest, "---") && (len(rest) == 3 || strings.ContainsRune(" \t\n", rune(rest[3]))) {
					end = i
					break
				}
			}
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}

func (r *reader) document(file, text string, first int) {
	d := &document{r: r, file: file, first: first, budget: maxNodes, holes: &r.holes}
	if len(text) > maxDocument {
		r.findings = append(r.findings, tooLarge(file, first+1, fmt.Sprintf("The document at line %d has %v; documents are read up to %v.", first+1, units.Bytes(len(text)), units.Bytes(maxDocument))))
		return
	}
	text, templates := d.holes.withoutTemplates(text)
	d.sayTemplates(templates)
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		d.broken(text, err)
		return
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) == 0 {
		return
	}
	d.root = root.Content[0]
	d.duplicates(d.root, 0)
	switch {
	case d.get(d.root, "kind") != nil && d.get(d.root, "apiVersion") != nil:
		d.kubernetes(d.root)
	case d.get(d.root, "services") != nil:
		d.compose(d.root)
	default:
		d.podSpecs(d.root, workload{name: "document"}, 0)
	}
	if d.budget <= 0 {
		r.findings = append(r.findings, tooLarge(file, first+1, fmt.Sprintf("The document at line %d unfolds to more than %d nodes (aliases included); it was read up to there.", first+1, maxNodes)))
	}
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// broken says where a document stops being YAML, and reads what stands before
// that line when it is a document of its own.
func (d *document) broken(text string, err error) {
	line := 0
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	why := strings.TrimPrefix(yamlLine.ReplaceAllString(err.Error(), ""), "yaml: ")
	f := finding.New(CodeSyntax, finding.Warning, "", fmt.Sprintf("The document at line %d is no valid YAML near line %d%s; launches in it were not checked.", d.first+1, d.first+line, clip(": "+strings.Trim(why, ": "))))
	f.Position = &finding.Position{File: d.file, Line: d.first + max(line, 1)}
	d.r.findings = append(d.r.findings, f)
}

// spend counts a step; false when the document has used up its own.
func (d *document) spend() bool { d.budget--; return d.budget > 0 }

// follow returns the node that an alias stands for.
func (d *document) follow(n *yaml.Node) *yaml.Node {
	for range maxNesting {
		if n == nil || n.Kind != yaml.AliasNode {
			return n
		}
		n = n.Alias
	}
	return nil
}

// get returns a key of a mapping, merge keys (<<) included; of a key that
// stands twice the last one. Nil when it is not there.
func (d *document) get(n *yaml.Node, key string) *yaml.Node { return d.getDeep(n, key, 0) }

func (d *document) getDeep(n *yaml.Node, key string, depth int) *yaml.Node {
	n = d.follow(n)
	if n == nil || n.Kind != yaml.MappingNode || depth > maxNesting {
		return nil
	}
	var own, merged *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !d.spend() {
			return nil
		}
		switch k := d.follow(n.Content[i]); {
		case k == nil:
		case k.Value == key:
			own = d.follow(n.Content[i+1])
		case k.Value == "<<" && merged == nil:
			for _, m := range d.mergeList(n.Content[i+1]) {
				if merged = d.getDeep(m, key, depth+1); merged != nil {
					break
				}
			}
		}
	}
	if own != nil {
		return own
	}
	return merged
}

// mergeList is what << names: one mapping or a list of them.
func (d *document) mergeList(n *yaml.Node) []*yaml.Node {
	n = d.follow(n)
	if n != nil && n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

// path follows keys downwards.
func (d *document) path(n *yaml.Node, keys ...string) *yaml.Node {
	for _, k := range keys {
		if n = d.get(n, k); n == nil {
			return nil
		}
	}
	return n
}

// items returns the elements of a list.
func (d *document) items(n *yaml.Node) []*yaml.Node {
	n = d.follow(n)
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	out := make([]*yaml.Node, 0, len(n.Content))
	for _, c := range n.Content {
		if !d.spend() {
			break
		}
		out = append(out, d.follow(c))
	}
	return out
}

// pair is a key of a mapping with its value.
type pair struct{ key, value *yaml.Node }

// pairs returns the keys of a mapping, merged ones first so that later ones
// win.
func (d *document) pairs(n *yaml.Node) []pair { return d.pairsDeep(n, 0) }

func (d *document) pairsDeep(n *yaml.Node, depth int) []pair {
	n = d.follow(n)
	if n == nil || n.Kind != yaml.MappingNode || depth > maxNesting {
		return nil
	}
	var merged, own []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !d.spend() {
			break
		}
		k, v := d.follow(n.Content[i]), d.follow(n.Content[i+1])
		switch {
		case k == nil || v == nil:
		case k.Value == "<<":
			list := d.mergeList(v)
			for j := len(list) - 1; j >= 0; j-- {
				merged = append(merged, d.pairsDeep(list[j], depth+1)...)
			}
		default:
			own = append(own, pair{k, v})
		}
	}
	return append(merged, own...)
}

// text returns the text of a scalar, "" for anything else.
func (d *document) text(n *yaml.Node) string {
	if n = d.follow(n); n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// at is where a node stands in the file.
func (d *document) at(n *yaml.Node) finding.Position {
	if n == nil {
		return finding.Position{File: d.file, Line: d.first + 1}
	}
	p := finding.Position{File: d.file, Line: d.first + n.Line, Column: n.Column}
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		p.Line++ // the text begins below the | or >
		p.Column = 0
	}
	return p
}

// say adds a finding about the file at a node.
func (d *document) say(code finding.Code, sev finding.Severity, n *yaml.Node, detail string) finding.Finding {
	f := finding.New(code, sev, "", detail)
	pos := d.at(n)
	f.Position = &pos
	return f
}

// duplicates says which keys stand twice in one mapping.
func (d *document) duplicates(n *yaml.Node, depth int) {
	if n == nil || depth > maxNesting || !d.spend() {
		return
	}
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]int, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind != yaml.ScalarNode || k.Value == "<<" {
				continue
			}
			if line, twice := seen[k.Value]; twice {
				d.r.findings = append(d.r.findings, d.say(CodeDuplicateKey, finding.Warning, k, fmt.Sprintf("%s stands at line %d and again at line %d; the last one was taken.", clip(k.Value), d.first+line, d.first+k.Line)))
			}
			seen[k.Value] = k.Line
		}
	}
	for _, c := range n.Content {
		d.duplicates(c, depth+1)
	}
}
