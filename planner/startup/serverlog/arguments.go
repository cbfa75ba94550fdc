package serverlog

import (
	"bytes"

	"github.com/sglplan/sglplan/internal/pyrepr"
)

// argumentMarks are the two forms of the arguments line: a dataclass to
// 0.5.18, a dictionary since.
var argumentMarks = []string{"server_args=ServerArgs(", "server_args={"}

// isArguments returns the value of an arguments line.
func isArguments(line []byte) ([]byte, bool) {
	for _, m := range argumentMarks {
		if i := bytes.Index(line, []byte(m)); i >= 0 {
			return line[i+len("server_args="):], true
		}
	}
	return nil, false
}

// parseArguments reads the value of an arguments line as a map from SGLang's
// field names: nil, bool, int64, float64, string, []any and map[string]any.
// What it cannot read (the repr of some object) becomes its text; a line that
// was cut gives what came before the cut.
func parseArguments(b []byte) map[string]any {
	m := pyrepr.Fields(b)
	for k, v := range m {
		if o, ok := v.(pyrepr.Object); ok {
			m[k] = string(o)
		}
	}
	return m
}

// Arguments are the server's resolved arguments under SGLang's own names: nil,
// bool, int64, float64, string, []any and map[string]any. The map is empty
// when the log does not begin with them.
func (s *Start) Arguments() map[string]any {
	if s.arguments != nil {
		s.parsed, s.arguments = parseArguments(s.arguments), nil
	}
	return s.parsed
}

// Text returns a string argument, "" when it is not there.
func (s *Start) Text(name string) string {
	v, _ := s.Arguments()[name].(string)
	return v
}

// Int returns a whole number among the arguments, 0 when it is not there.
func (s *Start) Int(name string) int64 {
	v, _ := s.Arguments()[name].(int64)
	return v
}

// Float returns a number among the arguments; ok is false when it is not
// there.
func (s *Start) Float(name string) (v float64, ok bool) {
	switch n := s.Arguments()[name].(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	}
	return 0, false
}

// True reports a boolean argument that is set.
func (s *Start) True(name string) bool {
	v, _ := s.Arguments()[name].(bool)
	return v
}
