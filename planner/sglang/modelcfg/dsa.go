package modelcfg

import "strings"

// skipsTopK lists which layers of a DeepSeek-sparse-attention model reuse the
// top-k of an earlier layer (dsa_layer_skips_topk); nil when none does.
func (d *deriver) skipsTopK() []bool {
	skip := d.skipRule()
	if skip == nil {
		return nil
	}
	out := make([]bool, d.m.NumHiddenLayers)
	any := false
	for i := range out {
		out[i] = skip(i)
		any = any || out[i]
	}
	if !any {
		return nil
	}
	return out
}

// skipRule picks the rule in SGLang's order: explicit types, LongCat's
// factor, a pattern, a frequency.
func (d *deriver) skipRule() func(layer int) bool {
	t := d.v.text
	if types := d.indexerTypes(); types != nil {
		return func(l int) bool { return l < len(types) && types[l] == "shared" }
	}
	if f := t.or("cli_factor", 1); f > 1 {
		return func(l int) bool { return l%f != 0 }
	}
	if p := t.str("index_topk_pattern"); p != "" {
		return func(l int) bool { return l < len(p) && p[l] == 'S' }
	}
	if p := t.strs("index_topk_pattern"); p != nil {
		return func(l int) bool { return l < len(p) && p[l] == "S" }
	}
	freq := t.or("index_topk_freq", 1)
	if freq <= 1 {
		return nil
	}
	if o, ok := t.int("index_skip_topk_offset"); ok && o > 0 {
		return func(l int) bool { return max(l-o+1, 0)%freq != 0 }
	}
	return func(l int) bool { return max(l-1, 0)%freq != 0 }
}

// indexerTypes returns the explicit list (0.5.20 on). HY-V4's class makes one
// when the file has none: layer 0 and every fourth after layer 1 own an index.
func (d *deriver) indexerTypes() []string {
	if d.r.Before("0.5.20") {
		return nil
	}
	if l := d.v.text.strs("indexer_types"); l != nil {
		return l
	}
	if !strings.HasPrefix(d.m.Arch, "HYV4") {
		return nil
	}
	l := make([]string, d.m.NumHiddenLayers)
	for i := range l {
		l[i] = "shared"
		if i == 0 || i%4 == 1 {
			l[i] = "full"
		}
	}
	return l
}
