// Package model turns a model's own files into what the ledgers need. This
// file reads config.json; what a release of SGLang makes of it is in
// planner/sglang/modelcfg.
package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// MaxConfigBytes bounds the size of a config.json; the largest public ones,
// with a quantisation entry for every module, are a few MB.
const MaxConfigBytes = 32 << 20

// A ConfigError reports a config.json that cannot be used.
type ConfigError struct {
	File  string // "" when read from a stream
	Field string // dotted path of the field, "" for the file as a whole
	Err   error
}

func (e *ConfigError) Error() string {
	where := e.File
	if where == "" {
		where = "config.json"
	}
	if e.Field != "" {
		where += ": " + e.Field
	}
	return where + ": " + e.Err.Error()
}

func (e *ConfigError) Unwrap() error { return e.Err }

// Section is one object of a config.json. Numbers are json.Number.
type Section map[string]any

// Config is a model's config.json, with the quantisation file beside it
// (hf_quant_config.json) where there is one.
type Config struct {
	Top   Section // the whole object
	Quant Section // hf_quant_config.json, nil when absent
}

// ParseConfig reads a config.json from r. It reads at most MaxConfigBytes and
// never allocates by a length that the file claims.
func ParseConfig(r io.Reader) (*Config, error) {
	s, err := ParseSection(r)
	if err != nil {
		return nil, err
	}
	return &Config{Top: s}, nil
}

// ParseSection reads one JSON object under the same bounds as ParseConfig.
func ParseSection(r io.Reader) (Section, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxConfigBytes+1))
	if err != nil {
		return nil, &ConfigError{Err: err}
	}
	if len(b) > MaxConfigBytes {
		return nil, &ConfigError{Err: fmt.Errorf("larger than %d MiB", MaxConfigBytes>>20)}
	}
	d := json.NewDecoder(bytes.NewReader(standardJSON(b)))
	d.UseNumber()
	var s Section
	if err := d.Decode(&s); err != nil {
		return nil, &ConfigError{Err: notAnObject(err)}
	}
	if s == nil {
		return nil, &ConfigError{Err: errors.New("not a JSON object")}
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, &ConfigError{Err: errors.New("text after the JSON object")}
	}
	return s, nil
}

// notAnObject says what is wrong with a file in words of the file, not of Go.
func notAnObject(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not JSON: it ends in the middle (a partial download?)")
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON: %w at byte %d", err, syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Errorf("not a JSON object but %s", kind.Value)
	}
	return err
}

// Arch returns the first entry of architectures, "" when there is none.
func (c *Config) Arch() string {
	l, _ := c.Top["architectures"].([]any)
	if len(l) == 0 {
		return ""
	}
	s, _ := l[0].(string)
	return s
}

// textKeys are the names under which wrappers keep the language model, in the
// order in which SGLang looks (get_hf_text_config).
var textKeys = []string{"llm_config", "language_config", "text_config"}

// Text returns the section of the language model: the nested one of a
// wrapper, else the whole object.
func (c *Config) Text() Section {
	if t := c.Top.Sub("thinker_config"); t != nil {
		if in := t.Sub("text_config"); in != nil {
			return in
		}
		return t
	}
	for _, k := range textKeys {
		if s := c.Top.Sub(k); s != nil {
			return s
		}
	}
	return c.Top
}

// Sub returns a nested object, nil when absent or of another kind.
func (s Section) Sub(key string) Section {
	m, _ := s[key].(map[string]any)
	return m
}

// Has reports whether the key is present and not null.
func (s Section) Has(key string) bool { return s[key] != nil }

// Int returns a whole number; ok is false when absent, null, not whole or out
// of range.
func (s Section) Int(key string) (int64, bool) { return number(s[key]) }

func number(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if i, err := n.Int64(); err == nil {
		return i, true
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// FirstInt returns the first of the keys that holds a whole number.
func (s Section) FirstInt(keys ...string) (int64, bool) {
	for _, k := range keys {
		if n, ok := s.Int(k); ok {
			return n, true
		}
	}
	return 0, false
}

// IntOr returns a whole number, or def when absent.
func (s Section) IntOr(key string, def int64) int64 {
	if n, ok := s.Int(key); ok {
		return n
	}
	return def
}

// Float returns a number.
func (s Section) Float(key string) (float64, bool) {
	n, ok := s[key].(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// Str returns a text, "" when absent.
func (s Section) Str(key string) string { t, _ := s[key].(string); return t }

// Bool returns a truth value; ok is false when absent.
func (s Section) Bool(key string) (v, ok bool) { v, ok = s[key].(bool); return v, ok }

// List returns a list, nil when absent.
func (s Section) List(key string) []any { l, _ := s[key].([]any); return l }

// Ints returns a list of whole numbers; nil when absent or when an entry is
// not one.
func (s Section) Ints(key string) []int64 {
	l := s.List(key)
	if l == nil {
		return nil
	}
	out := make([]int64, len(l))
	for i, v := range l {
		n, ok := number(v)
		if !ok {
			return nil
		}
		out[i] = n
	}
	return out
}

// Strs returns a list of texts; nil when absent or when an entry is not one.
func (s Section) Strs(key string) []string {
	l := s.List(key)
	if l == nil {
		return nil
	}
	out := make([]string, len(l))
	for i, v := range l {
		t, ok := v.(string)
		if !ok {
			return nil
		}
		out[i] = t
	}
	return out
}
