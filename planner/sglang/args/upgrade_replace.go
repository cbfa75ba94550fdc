package args

import (
	"fmt"
	"strings"
)

// movesOf are replacements that take the value of another flag away from it.
// From 0.5.22 --dp-size N --enable-dp-attention is --attn-dp-size N, and
// --dp-size is 1 again.
var movesOf = map[string]string{"--attn-dp-size <dp-size>": "dp_size"}

// collectMoves finds the flags that a replacement will swallow.
func (u *upgrader) collectMoves(items []item) {
	u.moved = map[string]bool{}
	for i := range items {
		it := &items[i]
		if it.kind != itemFlag {
			continue
		}
		now := find(it.option, u.to)
		if now == nil || !now.deprecated {
			continue
		}
		if field, ok := movesOf[now.replacement]; ok && u.old.Int(field) > 1 && !u.unknownField(field) {
			u.moved[field] = true
		}
	}
}

func (u *upgrader) unknownField(field string) bool {
	v, _ := u.old.Get(field)
	return v.Origin.Kind == FromUnknown
}

// replace writes an item as a deprecation note says; false when the note does
// not tell how, or names what the newer release does not have.
func (u *upgrader) replace(it *item, note string) bool {
	if field, ok := movesOf[note]; ok && !u.moved[field] {
		return false // nothing to move: the old form still works
	}
	texts, ok := u.template(it, note)
	if !ok {
		return false
	}
	for _, t := range texts {
		flag, _, _ := strings.Cut(t, "=")
		if strings.HasPrefix(t, "--") && find(flag, u.to) == nil {
			return false
		}
	}
	u.say(CodeUpgradeRenamed, it, fmt.Sprintf("%s becomes %s in SGLang %s.", it.option, strings.Join(texts, " "), u.target))
	if len(texts) == 1 && it.span.nargs != 'n' {
		u.respell(it, texts[0])
		return true
	}
	u.write(it, texts...)
	return true
}

// template fills a note: "--new", "--new value", "--new=value",
// "--new-{a,b}=value" and "--new <other-flag>", which stands for that flag's
// value.
func (u *upgrader) template(it *item, note string) ([]string, bool) {
	if !strings.HasPrefix(note, "--") {
		return nil, false // an environment variable
	}
	words := strings.Fields(expandBraces(note))
	for i, w := range words {
		name, ok := strings.CutPrefix(w, "<")
		if !ok {
			continue
		}
		field := strings.ReplaceAll(strings.TrimSuffix(name, ">"), "-", "_")
		v, known := u.old.Get(field)
		if !known || v.V == nil || v.Origin.Kind == FromUnknown {
			return nil, false
		}
		words[i] = fmt.Sprint(v.V)
	}
	if len(words) == 1 && !strings.Contains(words[0], "=") {
		// A bare new name: it must take what the old one took.
		now := find(words[0], u.to)
		return words, now != nil && (now.nargs == 'n') == (it.span.nargs == 'n') && it.span.use != useIgnored
	}
	return words, true
}

// expandBraces writes a-{b,c}=d as a-b=d a-c=d.
func expandBraces(s string) string {
	i, j := strings.IndexByte(s, '{'), strings.IndexByte(s, '}')
	if i < 0 || j < i {
		return s
	}
	var out []string
	for _, part := range strings.Split(s[i+1:j], ",") {
		out = append(out, s[:i]+part+s[j+1:])
	}
	return strings.Join(out, " ")
}
