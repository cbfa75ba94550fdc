package model

import "bytes"

// pythonWords are the numbers that Python's json module writes and the JSON
// standard does not have; configs of public models contain them
// (time_step_limit of the Mamba families). No memory rule reads such a value,
// so they become null.
var pythonWords = [][]byte{[]byte("-Infinity"), []byte("Infinity"), []byte("NaN")}

// standardJSON replaces Python's non-standard numbers outside of strings. It
// returns b itself when there are none.
func standardJSON(b []byte) []byte {
	if !bytes.Contains(b, []byte("Infinity")) && !bytes.Contains(b, []byte("NaN")) {
		return b
	}
	out := make([]byte, 0, len(b))
	inString := false
next:
	for i := 0; i < len(b); {
		if inString {
			if b[i] == '\\' && i+1 < len(b) {
				out = append(out, b[i], b[i+1])
				i += 2
				continue
			}
			inString = b[i] != '"'
		} else if b[i] == '"' {
			inString = true
		} else {
			for _, w := range pythonWords {
				if bytes.HasPrefix(b[i:], w) {
					out = append(out, "null"...)
					i += len(w)
					continue next
				}
			}
		}
		out = append(out, b[i])
		i++
	}
	return out
}
