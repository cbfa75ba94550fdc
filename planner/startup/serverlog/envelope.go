package serverlog

import "bytes"

// envelope is what SGLang's logger puts before a message:
// "[2026-11-30 21:24:01 TP1] ". Docker, journald and Compose put more in
// front, and a progress bar without a line end stands before it on the same
// line.
type envelope struct {
	before  []byte // what stands before the bracket
	stamp   []byte // "2026-11-30 21:24:01" or with milliseconds
	tags    []byte // "TP1", "DP0 TP3 EP3"
	message []byte
}

const (
	reach   = 600 // how far into a line an envelope is looked for: a bar's length
	longTag = 120
)

// open finds the envelope of a line; ok is false when it has none.
func open(line []byte) (e envelope, ok bool) {
	from := 0
	for {
		i := bytes.IndexByte(line[from:min(len(line), reach)], '[')
		if i < 0 {
			return e, false
		}
		i += from
		if isStamp(line[i+1:]) {
			end := bytes.IndexByte(line[i:min(len(line), i+longTag)], ']')
			if end < 0 {
				return e, false
			}
			inside := line[i+1 : i+end]
			e.before = line[:i]
			e.stamp, e.tags = cutStamp(inside)
			e.message = bytes.TrimLeft(line[i+end+1:], " ")
			return e, true
		}
		from = i + 1
		if from >= min(len(line), reach) {
			return e, false
		}
	}
}

// isStamp reports a date and time, "2026-11-30 21:24:01".
func isStamp(b []byte) bool {
	return len(b) >= 19 && b[0] == '2' && b[4] == '-' && b[7] == '-' && b[10] == ' ' && b[13] == ':' && b[16] == ':'
}

// cutStamp splits the inside of the bracket at the end of the time.
func cutStamp(b []byte) (stamp, tags []byte) {
	i := bytes.IndexByte(b[11:], ' ')
	if i < 0 {
		return b, nil
	}
	stamp, tags = b[:11+i], b[11+i+1:]
	if !isTags(tags) {
		return stamp, nil
	}
	return stamp, tags
}

// isTags accepts rank tags: capitals, digits, underscores and blanks.
func isTags(b []byte) bool {
	for _, c := range b {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != ' ' {
			return false
		}
	}
	return true
}

// starts calls try with every place where a message may begin in a line
// without SGLang's envelope: the beginning, and behind what other loggers put
// in front ("worker-1  | ", "host sglang[17]: ", "2026-..Z  INFO module: ").
// It stops when try returns true.
func starts(line []byte, try func(msg []byte) bool) bool {
	line = bytes.TrimLeft(line, " \t")
	if try(line) {
		return true
	}
	limit := min(len(line), 200)
	for i := 1; i < limit; {
		j := bytes.IndexByte(line[i:limit], ' ')
		if j < 0 {
			return false
		}
		i += j
		switch c := line[i-1]; c {
		case ':', '|', ']', 'Z', ' ', ',':
			rest := bytes.TrimLeft(line[i:], " ")
			if try(rest) {
				return true
			}
		default:
			if c >= '0' && c <= '9' && try(bytes.TrimLeft(line[i:], " ")) {
				return true
			}
		}
		i++
	}
	return false
}
