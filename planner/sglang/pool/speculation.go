package pool

import "github.com/sglplan/sglplan/planner/sglang/args"

// speculation is the speculative decoding of a launch.
type speculation struct {
	algorithm          string // "" without
	steps, topk, draft int64  // resolved; 0 when not given
}

func speculationOf(a *args.Args) speculation {
	s := speculation{algorithm: a.Str("speculative_algorithm"), steps: a.Int("speculative_num_steps"),
		topk: a.Int("speculative_eagle_topk"), draft: a.Int("speculative_num_draft_tokens")}
	if s.algorithm == "NONE" {
		s.algorithm = ""
	}
	s.steps, s.topk, s.draft = clamp(s.steps, 0, 1<<12), clamp(s.topk, 0, 1<<12), clamp(s.draft, 0, 1<<16)
	return s
}

func (s speculation) on() bool { return s.algorithm != "" }

// eagle reports the algorithms that SGLang's is_eagle accepts.
func (s speculation) eagle() bool {
	switch s.algorithm {
	case "EAGLE", "EAGLE3", "NEXTN", "FROZEN_KV_MTP":
		return true
	}
	return false
}

func (s speculation) standalone() bool { return s.algorithm == "STANDALONE" }

// family reports drafts that share the target's cache geometry in the budget.
func (s speculation) family() bool { return s.eagle() || s.standalone() }

// blockDraft reports DFLASH and DSPARK.
func (s speculation) blockDraft() bool { return s.algorithm == "DFLASH" || s.algorithm == "DSPARK" }

// allocPerDecode is the most KV one request may take in a decode step
// (get_alloc_len_per_decode).
func (s speculation) allocPerDecode(page int64) int64 {
	if !s.on() {
		return 1
	}
	steps, topk := max(1, s.steps), max(1, s.topk)
	if s.algorithm == "UNO" {
		return s.draft + 1
	}
	if page == 1 || topk == 1 || s.algorithm == "NGRAM" {
		return max(steps*topk, s.draft)
	}
	pages := ((page - 1) + steps + page - 1) / page
	return max(pages*page*topk, s.draft)
}

// allocWithoutOverlap is the same for the non-overlap scheduler
// (spec_decode_alloc_len_per_request).
func (s speculation) allocWithoutOverlap(page int64) int64 {
	perTopK, topk, tokens := max(1, s.steps), max(1, s.topk), max(1, s.draft)
	if page > 1 {
		if topk > 1 {
			perTopK += page
		}
		perTopK, tokens = ceilAlign(perTopK, page), ceilAlign(tokens, page)
	}
	return max(perTopK*topk, tokens)
}
