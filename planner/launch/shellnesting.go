package launch

import "strings"

// maxShellNesting bounds how deep a script may nest. The parser descends once
// for each level, so a text of a million open brackets would use up the stack
// of the whole program.
const maxShellNesting = 500

// openers and closers are the words that nest commands.
var (
	openers = words("if while until for select case ! time coproc function")
	closers = words("fi done esac")
)

// nestsTooDeep reports a script with more open brackets, commands or empty
// parameter lists than any that people write.
func nestsTooDeep(src string) bool {
	depth, declared := 0, strings.Count(src, "()")
	if declared > maxShellNesting {
		return true
	}
	for i := 0; i < len(src); {
		switch c := src[i]; {
		case c == '(' || c == '{' || c == '[':
			depth++
		case (c == ')' || c == '}' || c == ']') && depth > 0:
			depth--
		case c >= 'a' && c <= 'z' || c == '!':
			j := i + 1
			for j < len(src) && src[j] >= 'a' && src[j] <= 'z' {
				j++
			}
			switch word := src[i:j]; {
			case openers[word]:
				depth++
			case closers[word] && depth > 0:
				depth--
			}
			i = j - 1
		}
		if depth > maxShellNesting {
			return true
		}
		i++
	}
	return false
}
