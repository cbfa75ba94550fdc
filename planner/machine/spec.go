package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// maxGPUs bounds the cards of one machine: no host carries more, and a typo
// must not make millions of them.
const maxGPUs = 1024

// Findings about cards given by their total.
var (
	// CodeCardFromTotal: a total in MiB stands for a card or a class of cards.
	CodeCardFromTotal = finding.Define("gpu-card-from-total",
		"the card was taken from its total memory",
		"--gpus was given a size instead of a card's name. SGLang's defaults depend on the size and on the compute capability, so the catalogue's card that prints this total in nvidia-smi is assumed; where several cards print it, their common compute capability.",
		"Write the card's name, for example --gpus 8xH200, if another card is meant.")
	// CodeCardUnknown: a total in MiB that stands for no card, or for cards of
	// different compute capability.
	CodeCardUnknown = finding.Define("gpu-class-unknown",
		"the compute capability of the card is not known",
		"--gpus was given a size that no card of the catalogue prints, or that cards of different compute capability print. Defaults depend on the card's class (attention backend, kernels, how quantised weights are repacked). Where the cards share the first number of it, the newest is assumed; otherwise the rules are those of a plain CUDA card.",
		"Write the card's name, for example --gpus 8xRTX-4090, or give --machine with the JSON of `sglplan machine` from that host.")
)

// SpecError reports a card specification that cannot be read.
type SpecError struct {
	Spec string
	Why  string
	Err  error // the cause, an *UnknownCardError or *units.SyntaxError, or nil
}

func (e *SpecError) Error() string {
	why := e.Why
	if e.Err != nil {
		why = e.Err.Error()
	}
	return fmt.Sprintf("--gpus %q: %s", clip(e.Spec), why)
}

// Unwrap returns the cause.
func (e *SpecError) Unwrap() error { return e.Err }

// ParseGPUs reads a card specification: "8xRTX-PRO-6000-Blackwell", "H200",
// "8x97887MiB", or several joined with commas ("4xH200,4xH100"). A size is
// what nvidia-smi prints as the total; the catalogue's card of that total
// stands for it, which a finding says. Errors are a *SpecError.
func ParseGPUs(spec string) ([]GPU, []finding.Finding, error) {
	var (
		gpus []GPU
		said []finding.Finding
	)
	for part := range strings.SplitSeq(spec, ",") {
		n, what, err := splitCount(part)
		if err != nil {
			return nil, nil, &SpecError{spec, err.Error(), nil}
		}
		if n > maxGPUs-len(gpus) {
			return nil, nil, &SpecError{spec, fmt.Sprintf("more than %d cards", maxGPUs), nil}
		}
		c, f, err := parseCard(what)
		if err != nil {
			return nil, nil, &SpecError{spec, "", err}
		}
		for range n {
			gpus = append(gpus, c.gpu(len(gpus)))
		}
		said = append(said, f...)
	}
	return gpus, said, nil
}

// splitCount reads the "8x" before a card; without it one card is meant.
func splitCount(part string) (int, string, error) {
	part = strings.TrimSpace(part)
	digits := len(part) - len(strings.TrimLeft(part, "0123456789"))
	rest := strings.TrimLeft(part[digits:], " ")
	for _, times := range []string{"x", "X", "*", "×"} {
		what, ok := strings.CutPrefix(rest, times)
		if digits == 0 || !ok {
			continue
		}
		n, err := strconv.Atoi(part[:digits])
		if err != nil || n < 1 {
			return 0, "", fmt.Errorf("%q is not a number of cards", part[:digits])
		}
		return n, strings.TrimSpace(what), nil
	}
	if part == "" {
		return 0, "", fmt.Errorf("no card is named; write for example 8xH200 or 8x97887MiB")
	}
	return 1, part, nil
}

// parseCard reads one card: a known name, or else a size.
func parseCard(what string) (Card, []finding.Finding, error) {
	known, err := Lookup(what)
	if err == nil {
		return known.Card, nil, nil
	}
	if what == "" || what[0] < '0' || what[0] > '9' {
		return Card{}, nil, err
	}
	size, sizeErr := units.Parse(what)
	if sizeErr != nil {
		return Card{}, nil, err // a name such as 3090-Foo: the nearest name helps more
	}
	if size < units.GiB {
		return Card{}, nil, fmt.Errorf("a card of %v is too small: write the unit, for example 97887MiB", size)
	}
	c, f := cardOfTotal(int64(size / units.MiB))
	return c, []finding.Finding{f}, nil
}

// cardOfTotal finds what is known of a card of which only the total is.
func cardOfTotal(mib int64) (Card, finding.Finding) {
	found := ByTotal(mib)
	c, code, severity, why := classOf(found)
	c.TotalMiB = mib
	f := finding.New(code, severity, "--gpus", fmt.Sprintf("%d MiB is the total of %s", mib, why))
	if len(found) == 0 {
		f.Detail = fmt.Sprintf("no card of the catalogue prints %d MiB", mib)
	}
	f.Figures = map[string]int64{"total_mib": mib, "cards": int64(len(found))}
	return c, f
}

// classOf gives what cards of one total have in common: the card itself where
// there is one, their compute capability, or the newest of one generation.
func classOf(found []KnownCard) (c Card, code finding.Code, severity finding.Severity, why string) {
	if len(found) == 0 {
		return Card{}, CodeCardUnknown, finding.Warning, ""
	}
	bySM := func(a, b KnownCard) int { return cmp.Compare(a.SM(), b.SM()) }
	newest, oldest := slices.MaxFunc(found, bySM), slices.MinFunc(found, bySM)
	names := make([]string, len(found))
	for i, k := range found {
		names[i] = k.Aliases[0]
	}
	list, class := strings.Join(names, ", "), Card{Major: newest.Major, Minor: newest.Minor}
	switch {
	case len(found) == 1:
		return newest.Card, CodeCardFromTotal, finding.Info, fmt.Sprintf("%s (compute capability %s)", newest.Name, class.Capability())
	case newest.SM() == oldest.SM():
		return class, CodeCardFromTotal, finding.Info, fmt.Sprintf("%s; all have compute capability %s, which is assumed", list, class.Capability())
	case newest.Major == oldest.Major:
		return class, CodeCardUnknown, finding.Warning, fmt.Sprintf("cards of different compute capability: %s; %s, the newest, is assumed", list, class.Capability())
	}
	return Card{}, CodeCardUnknown, finding.Warning, "cards of different compute capability: " + list
}

// gpu makes the card number i of a machine.
func (c Card) gpu(i int) GPU {
	total := units.Bytes(c.TotalMiB) * units.MiB
	return GPU{Index: i, Name: c.Name, ComputeCapability: c.Capability(), TotalBytes: &total}
}
