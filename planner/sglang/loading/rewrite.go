package loading

import "github.com/sglplan/sglplan/planner/model/weights"

// rewrite follows the loader after the checkpoint is read: first the model's
// own post-load step (MLA's absorbed matrices), then every module's
// process_weights_after_loading, in the order of the module tree.
func (l *loader) rewrite(mods []weights.Module) {
	for i := range mods {
		if m := &mods[i]; m.Kind == weights.Absorb {
			l.absorb(m)
		}
	}
	for i := range mods {
		m := &mods[i]
		switch m.Kind {
		case weights.Linear, weights.Vocab:
			l.rewriteLinear(m)
		case weights.MoE:
			l.rewriteExperts(m)
		}
	}
}

// absorb makes w_kc and w_vc of kv_b_proj (DeepseekV2's post_load_weights).
func (l *loader) absorb(m *weights.Module) {
	l.mem.New(m.Group, weights.BF16, m.Experts, m.Out, m.In)
	l.mem.New(m.Group, weights.BF16, m.Experts, m.In, m.Inter)
}

func (l *loader) rewriteLinear(m *weights.Module) {}

func (l *loader) rewriteExperts(m *weights.Module) {}
