package serverlog

import (
	"bytes"

	"github.com/sglplan/sglplan/planner/finding"
)

// unmarked looks for trouble in a line that no marker knows.
func (p *Parser) unmarked(tags, msg []byte) {
	if p.start.Ready || takeLabelled(p, tags, msg) || !troubled(msg) {
		return // what ends a server at work has a marker of its own
	}
	if dead(msg) {
		takeDead(p, tags, msg)
		return
	}
	m := classify(msg, p.Where())
	switch {
	case m.code == "":
	case m.fatal:
		p.fail(Failure{Code: m.code, Phase: p.Where(), Rank: string(tags), Cause: text(msg, 400), Stamp: string(p.stamp)})
	case p.start.Failure != nil:
	case p.start.Suspect == nil || m.weight > weightOf(p.start.Suspect.Code):
		p.start.Suspect = &Failure{Code: m.code, Phase: p.Where(), Rank: string(tags), Cause: text(msg, 400), Stamp: string(p.stamp)}
	}
}

// troubled is a cheap test that every line with bad news passes.
func troubled(msg []byte) bool {
	for _, w := range [][]byte{[]byte("rror"), []byte("xit code"), []byte("emory"), []byte("imeout"), []byte("Killed"), []byte("in use")} {
		if bytes.Contains(msg, w) {
			return true
		}
	}
	return false
}

// dead recognises what the main process says about a scheduler that is gone.
func dead(msg []byte) bool {
	return bytes.Contains(msg, []byte("died during initialization (exit code")) ||
		bytes.Contains(msg, []byte("scheduler is dead")) || bytes.HasPrefix(msg, []byte("Exit code: "))
}

// takeDead reads the exit code of a scheduler: "Rank 0 scheduler died during
// initialization (exit code: -9)" (0.5.10+), or "Rank 0 scheduler is dead" and
// "Exit code: -9" on a line of its own.
func takeDead(p *Parser, tags, msg []byte) bool {
	if !dead(msg) {
		return false
	}
	p.endTraceback()
	f := Failure{Code: CodeRankDied, Phase: p.Where(), Cause: text(msg, 400), Stamp: string(p.stamp)}
	for _, k := range []string{"exit code: ", "Exit code: "} {
		if v, ok := float(msg, k); ok {
			exit := int(v)
			f.Exit = &exit
			f.Code = exitCode(exit)
		}
	}
	if old := p.start.Failure; old != nil && old.Code == CodeRankDied && f.Exit != nil && old.Exit == nil {
		old.Exit, old.Code = f.Exit, f.Code // the code is on the next line
		return true
	}
	p.fail(f)
	return true
}

// exitCode is what the exit code of a killed process means.
func exitCode(exit int) finding.Code {
	switch exit {
	case -9, 137:
		return CodeKilled
	case -7, 135:
		return CodeSHMFull
	}
	return CodeRankDied
}

// takeSigquit: a child has failed; where no traceback said why, this is all
// that is known.
func takeSigquit(p *Parser, tags, msg []byte) bool {
	f := Failure{Code: CodeChildFailed, Phase: p.Where(), Cause: text(msg, 400), Stamp: string(p.stamp)}
	if s := p.start.Suspect; s != nil {
		f = *s
	}
	p.fail(f)
	return true
}

func takeSigterm(p *Parser, _, msg []byte) bool {
	p.start.Stopped = true
	p.say(Ended, nil, msg)
	return true
}

// takeSubprocess reads "Subprocess scheduler_0 (pid=17) crashed with exit code
// -9."
func takeSubprocess(p *Parser, tags, msg []byte) bool {
	v, ok := float(msg, "crashed with exit code ")
	if !ok {
		return false
	}
	exit := int(v)
	p.fail(Failure{Code: exitCode(exit), Phase: p.Where(), Cause: text(msg, 400), Exit: &exit, Stamp: string(p.stamp)})
	return true
}

func takeInitFailed(p *Parser, tags, msg []byte) bool {
	f := Failure{Code: CodeInitFailed, Phase: p.Where(), Cause: text(msg, 400), Stamp: string(p.stamp)}
	if bytes.Contains(msg, []byte("warmup error")) {
		f.Code = CodeWarmup
	} else if s := p.start.Suspect; s != nil {
		f = *s
	}
	p.fail(f)
	return true
}

func takeWatchdog(p *Parser, tags, msg []byte) bool {
	p.fail(Failure{Code: CodeWatchdog, Phase: p.Where(), Rank: string(tags), Cause: text(msg, 400), Stamp: string(p.stamp)})
	return true
}

// codeMatch is what a line was recognised as.
type codeMatch struct {
	code   finding.Code
	weight int  // of two, the heavier says more
	fatal  bool // the server does not survive it, wherever it is printed
}

// better keeps the match that says more.
func (m codeMatch) better(n codeMatch) codeMatch {
	if n.weight > m.weight {
		return n
	}
	return m
}

// classify recognises what went wrong from one line.
func classify(msg []byte, ph Phase) codeMatch {
	for _, k := range causes {
		for _, form := range k.forms {
			if bytes.Contains(msg, form) {
				m := codeMatch{k.code, k.weight, k.fatal}
				if m.code == codeGPUMemory {
					m.code = gpuMemory(ph)
				}
				return m
			}
		}
	}
	return codeMatch{}
}

func weightOf(code finding.Code) int {
	for _, k := range causes {
		if k.code == code {
			return k.weight
		}
	}
	return weightSure // by phase: GPU memory
}

// gpuMemory is the code of an allocation that failed on the GPU.
func gpuMemory(ph Phase) finding.Code {
	switch {
	case ph <= Weights:
		return CodeOOMWeights
	case ph == Pools:
		return CodeOOMPools
	case ph < HTTP:
		return CodeOOMCapture
	}
	return CodeOOMServing
}
