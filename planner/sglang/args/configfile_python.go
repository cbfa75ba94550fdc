package args

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
)

// pyStr is Python's str(): what SGLang makes of a config value.
func pyStr(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return pyRepr(v)
}

// pyRepr is Python's repr() of the values a YAML file can hold.
func pyRepr(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return pyFloatRepr(v)
	case string:
		return pyQuote(v)
	case []any:
		return "[" + joinAny(v, pyRepr) + "]"
	case pyDict:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = pyRepr(e.key) + ": " + pyRepr(e.value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}

func joinAny(list []any, text func(any) string) string {
	parts := make([]string, len(list))
	for i, x := range list {
		parts[i] = text(x)
	}
	return strings.Join(parts, ", ")
}

// pyFloatRepr writes the shortest digits, with an exponent below 1e-4 and from
// 1e16 on.
func pyFloatRepr(f float64) string {
	switch a := math.Abs(f); {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+")
	case a != 0 && (a < 1e-4 || a >= 1e16):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// pyQuote quotes as repr does: single quotes, unless the text has some and no
// double quotes.
func pyQuote(s string) string {
	q := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		q = `"`
	}
	s = strings.ReplaceAll(s, `\`, `\\`)
	if q == "'" {
		s = strings.ReplaceAll(s, "'", `\'`)
	}
	return q + strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + q
}

// pyJSON is json.dumps(): blanks after commas and colons, ASCII only.
func pyJSON(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN"
		case math.IsInf(v, 1):
			return "Infinity"
		case math.IsInf(v, -1):
			return "-Infinity"
		}
		return pyFloatRepr(v)
	case string:
		return jsonQuote(v)
	case []any:
		return "[" + joinAny(v, pyJSON) + "]"
	case pyDict:
		parts := make([]string, len(v))
		for i, e := range v {
			key, isText := e.key.(string)
			if !isText {
				key = pyJSON(e.key)
			}
			parts[i] = jsonQuote(key) + ": " + pyJSON(e.value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return pyRepr(v)
}

func jsonQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r >= ' ' && r < 127:
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
