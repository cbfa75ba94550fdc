package args

// SGLang asks for a GPU's generation by the major number of its compute
// capability (is_sm90_supported and its kin). Their CUDA conditions (12.3,
// 12.8) hold for every release wheel and are taken as met.

func (x *resolver) sm80up() bool { return x.card.Major >= 8 }
func (x *resolver) sm90() bool   { return x.card.Major == 9 }
func (x *resolver) sm100() bool  { return x.card.Major == 10 }
func (x *resolver) sm120() bool  { return x.card.Major == 12 }
func (x *resolver) blackwell() bool {
	// SM110 (Thor) counts since 0.5.9 at the latest.
	return x.sm100() || x.sm120() || (x.card.Major == 11 && x.r.AtLeast("0.5.9"))
}
