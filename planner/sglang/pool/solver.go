package pool

// split is how a budget divides into the token pools of one stage.
type split struct {
	total     int64 // max_total_num_tokens
	full, swa int64
	c4State   int64
	why       Refusal
}

// solver turns bytes into tokens for one stage, and re-splits a smaller count.
type solver interface {
	fit(bytes int64) split
	constrain(tokens int64) split
	// cellBytes is the cost of one token of max_total_num_tokens.
	cellBytes() float64
}

// uniform is the pool of models whose layers all hold every token.
type uniform struct {
	cell     int64
	page     int64
	zeroKV   int64 // tokens when no layer here keeps K and V
	negative bool  // to 0.5.19 a budget below zero stays below zero
}

func (u *uniform) fit(bytes int64) split {
	if !u.negative {
		bytes = max(bytes, 0)
	}
	n := u.zeroKV
	if u.cell > 0 {
		n = floorDiv(bytes, u.cell)
	}
	return u.constrain(n)
}

func (u *uniform) constrain(n int64) split { return split{total: floorAlign(n, u.page)} }

func (u *uniform) cellBytes() float64 { return float64(u.cell) }
