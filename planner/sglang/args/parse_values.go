package args

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/sglang/release"
)

// convert reads one word as the flag's type function does. The second result
// says why it cannot, "" when it can.
func (s *span) convert(text string, r release.Release) (any, string) {
	switch s.conv {
	case convInt:
		return pyInt(text)
	case convFloat:
		return pyFloat(text)
	case convHumanInt:
		return humanInt(text)
	case convNullable:
		if text == "" || text == "None" {
			return nil, ""
		}
	case convJSON, convJSONList:
		return fromJSON(text)
	case convGraph:
		return graphConfig(text, r)
	case convLoRA:
		return loraPath(text)
	}
	return text, ""
}

// outside says why a value is not one of the flag's choices. Choices are
// compared after conversion and by case.
func (s *span) outside(v any) string {
	if s.choices == nil {
		return ""
	}
	for _, c := range s.choices {
		if c == v {
			return ""
		}
	}
	return "not one of " + showList(s.choices)
}

// collect makes the value of a list flag.
func (s *span) collect(vals []any) any {
	if s.conv == convLoRAByName {
		m := make(map[string]any, len(vals))
		for _, v := range vals {
			text, _ := v.(string)
			if name, path, named := strings.Cut(text, "="); named {
				m[name] = path
			} else {
				m[text] = text
			}
		}
		return m
	}
	if vals == nil {
		return []any{}
	}
	return vals
}

var (
	integer  = regexp.MustCompile(`^[+-]?\d+(?:_\d+)*$`)
	decimal  = regexp.MustCompile(`^(?i:[+-]?(?:(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?|inf|infinity|nan))$`)
	suffixed = regexp.MustCompile(`^(\d+)(\.\d+)?(Ki|Mi|Gi|Ti|k|M|G|T)$`)
)

// notWhole says why a text is no integer.
const notWhole = "not a whole number"

// pyInt is Python's int(text): blanks around, a sign, underscores between
// digits. Python has no bounds; a number beyond 64 bits is given as the bound.
func pyInt(text string) (any, string) {
	t := strings.TrimSpace(text)
	if !integer.MatchString(t) {
		return nil, notWhole
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(t, "_", ""), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, notWhole
	}
	return n, ""
}

// pyFloat is Python's float(text).
func pyFloat(text string) (any, string) {
	t := strings.TrimSpace(text)
	if !decimal.MatchString(t) {
		return nil, "not a number"
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(t, "_", ""), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, "not a number"
	}
	return f, ""
}

var sizeUnit = map[string]int64{
	"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
}

// humanInt is SGLang's human_readable_int (from 0.5.10): decimals are allowed
// for the decimal suffixes only, and cut off after multiplying.
func humanInt(text string) (any, string) {
	t := strings.TrimSpace(text)
	m := suffixed.FindStringSubmatch(t)
	if m == nil {
		v, why := pyInt(t)
		if why != "" {
			why = "neither a whole number nor one with a suffix k, M, G, T, Ki, Mi, Gi or Ti"
		}
		return v, why
	}
	if m[2] != "" && strings.HasSuffix(m[3], "i") {
		return nil, "decimals are not allowed with " + m[3]
	}
	x, ok := new(big.Rat).SetString(m[1] + m[2])
	if !ok {
		return nil, notWhole
	}
	x.Mul(x, new(big.Rat).SetInt64(sizeUnit[m[3]]))
	n := new(big.Int).Quo(x.Num(), x.Denom())
	if !n.IsInt64() {
		return int64(math.MaxInt64), ""
	}
	return n.Int64(), ""
}

// fromJSON is json.loads: whole numbers stay whole.
func fromJSON(text string) (any, string) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, "not JSON: " + err.Error()
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, "not JSON: more text after the value"
	}
	return fromNumbers(v), ""
}

func fromNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := strconv.ParseFloat(v.String(), 64)
		return f
	case []any:
		for i, x := range v {
			v[i] = fromNumbers(x)
		}
	case map[string]any:
		for k, x := range v {
			v[k] = fromNumbers(x)
		}
	}
	return v
}

// loraPath reads one item of --lora-paths (from 0.5.1): a path, name=path, or a
// JSON object with lora_name and lora_path.
func loraPath(text string) (any, string) {
	t := strings.TrimSpace(text)
	if !strings.HasPrefix(t, "{") || !strings.HasSuffix(t, "}") {
		return t, ""
	}
	v, why := fromJSON(t)
	if why != "" {
		return nil, why
	}
	m, _ := v.(map[string]any)
	for _, key := range []string{"lora_name", "lora_path"} {
		if _, ok := m[key]; !ok {
			return nil, "a JSON object without " + key
		}
	}
	return v, ""
}
