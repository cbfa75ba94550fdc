package args

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// pyDict is a Python dict: keys in order, the last of equal keys counts.
type pyDict []pyItem

type pyItem struct {
	key, value any
	line       int
}

// Bounds on what a config file may ask of us.
const (
	maxConfigBytes = 1 << 20
	maxConfigNodes = 100_000 // aliases are expanded
)

// readYAML reads a document as PyYAML's safe_load does, which is YAML 1.1: yes
// and on are true, 010 is 8, 1e3 is text. An empty file is an empty mapping.
func readYAML(data []byte) (pyDict, error) {
	if len(data) > maxConfigBytes {
		return nil, fmt.Errorf("larger than %d bytes", maxConfigBytes)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	l := yamlLoader{left: maxConfigNodes}
	v, err := l.value(doc.Content[0], 0)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case pyDict:
		return v, nil
	}
	return nil, errors.New("not a mapping at its root")
}

type yamlLoader struct{ left int }

const maxConfigDepth = 100

func (l *yamlLoader) value(n *yaml.Node, depth int) (any, error) {
	if l.left--; l.left < 0 || depth > maxConfigDepth {
		return nil, errors.New("too large or too deep")
	}
	if n.Kind == yaml.AliasNode {
		return l.value(n.Alias, depth+1)
	}
	tag := ""
	if n.Style&yaml.TaggedStyle != 0 {
		tag = n.ShortTag()
	}
	switch n.Kind {
	case yaml.MappingNode:
		if tag != "" && tag != "!!map" {
			return nil, fmt.Errorf("line %d: tag %s", n.Line, tag)
		}
		return l.mapping(n, depth)
	case yaml.SequenceNode:
		if tag != "" && tag != "!!seq" {
			return nil, fmt.Errorf("line %d: tag %s", n.Line, tag)
		}
		out := []any{}
		for _, c := range n.Content {
			v, err := l.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	}
	return scalar(n, tag)
}

func (l *yamlLoader) mapping(n *yaml.Node, depth int) (pyDict, error) {
	var own, merged pyDict
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind == yaml.ScalarNode && k.Style == 0 && k.Value == "<<" {
			from, err := l.merged(v, depth)
			if err != nil {
				return nil, err
			}
			merged = append(merged, from...)
			continue
		}
		key, err := l.value(k, depth+1)
		if err != nil {
			return nil, err
		}
		switch key.(type) {
		case pyDict, []any:
			return nil, fmt.Errorf("line %d: a key that is no plain value", k.Line)
		}
		value, err := l.value(v, depth+1)
		if err != nil {
			return nil, err
		}
		own = own.with(pyItem{key, value, k.Line})
	}
	if merged == nil {
		return own, nil
	}
	var out pyDict
	for _, e := range append(merged, own...) {
		out = out.with(e)
	}
	return out, nil
}

// merged are the entries of a << key: of one mapping or of several, the last
// of which wins (PyYAML 6.0.3).
func (l *yamlLoader) merged(n *yaml.Node, depth int) (pyDict, error) {
	v, err := l.value(n, depth+1)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case pyDict:
		return v, nil
	case []any:
		var out pyDict
		for _, x := range v {
			m, ok := x.(pyDict)
			if !ok {
				return nil, fmt.Errorf("line %d: << of something that is no mapping", n.Line)
			}
			out = append(out, m...)
		}
		return out, nil
	}
	return nil, fmt.Errorf("line %d: << of something that is no mapping", n.Line)
}

// with sets a key: an equal one keeps its place and gets the new value. Keys
// are few, so looking for it one by one is fine.
func (d pyDict) with(e pyItem) pyDict {
	for i := range d {
		if d[i].key == e.key {
			d[i].value, d[i].line = e.value, e.line
			return d
		}
	}
	return append(d, e)
}

// The plain scalars of YAML 1.1 as PyYAML resolves them (resolver.py).
var (
	yamlBool  = map[string]bool{"yes": true, "true": true, "on": true, "no": false, "false": false, "off": false}
	yamlInt   = regexp.MustCompile(`^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$`)
	yamlFloat = regexp.MustCompile(`^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
)

func scalar(n *yaml.Node, tag string) (any, error) {
	const quotedStyles = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if tag == "" && n.Style&quotedStyles != 0 {
		return n.Value, nil
	}
	if tag == "" && n.Value == "=" {
		return nil, fmt.Errorf("line %d: a plain = has no value", n.Line)
	}
	bad := fmt.Errorf("line %d: %q is no %s", n.Line, n.Value, tag)
	switch tag {
	case "":
		return plainScalar(n.Value), nil
	case "!!str":
		return n.Value, nil
	case "!!null":
		return nil, nil
	case "!!bool":
		if b, ok := yamlBool[strings.ToLower(n.Value)]; ok {
			return b, nil
		}
		return nil, bad
	case "!!int":
		if v, ok := yaml11Int(n.Value); ok {
			return v, nil
		}
		return nil, bad
	case "!!float":
		if v, ok := yaml11Float(n.Value); ok {
			return v, nil
		}
		return nil, bad
	}
	return nil, fmt.Errorf("line %d: tag %s", n.Line, tag)
}

func plainScalar(s string) any {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil
	}
	if b, ok := yamlBool[strings.ToLower(s)]; ok && oneCase(s) {
		return b
	}
	if yamlInt.MatchString(s) {
		if v, ok := yaml11Int(s); ok {
			return v
		}
	}
	if yamlFloat.MatchString(s) {
		if v, ok := yaml11Float(s); ok {
			return v
		}
	}
	return s
}

// oneCase reports yes, Yes or YES, but not yEs.
func oneCase(s string) bool {
	return s == strings.ToLower(s) || s == strings.ToUpper(s) || s[1:] == strings.ToLower(s[1:])
}

func yaml11Int(s string) (int64, bool) {
	s = strings.ReplaceAll(s, "_", "")
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimLeft(s, "+-")
	base := 10
	switch {
	case s == "0":
	case strings.HasPrefix(s, "0b"):
		s, base = s[2:], 2
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
	case strings.HasPrefix(s, "0"):
		s, base = s[1:], 8
	case strings.Contains(s, ":"):
		v, ok := sexagesimal(s)
		return signed(int64(v), neg), ok
	}
	n, err := strconv.ParseInt(s, base, 64)
	return signed(n, neg), err == nil
}

func signed(n int64, neg bool) int64 {
	if neg {
		return -n
	}
	return n
}

// sexagesimal reads 1:30 as 90, as YAML 1.1 does.
func sexagesimal(s string) (float64, bool) {
	total := 0.0
	for _, part := range strings.Split(s, ":") {
		f, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return 0, false
		}
		total = total*60 + f
	}
	return total, true
}

func yaml11Float(s string) (float64, bool) {
	s = strings.ToLower(strings.ReplaceAll(s, "_", ""))
	sign := 1.0
	if strings.HasPrefix(s, "-") {
		sign = -1
	}
	s = strings.TrimLeft(s, "+-")
	switch {
	case s == ".inf":
		return math.Inf(int(sign)), true
	case s == ".nan":
		return math.NaN(), true
	case strings.Contains(s, ":"):
		v, ok := sexagesimal(s)
		return sign * v, ok
	}
	f, err := strconv.ParseFloat(s, 64)
	return sign * f, err == nil || errors.Is(err, strconv.ErrRange)
}
