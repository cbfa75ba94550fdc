package startup

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/sglplan/sglplan/planner/startup/serverlog"
)

// answered takes one round of questions to the port.
func (w *watcher) answered(ctx context.Context, r report) {
	if ctx.Err() != nil {
		return
	}
	if r.answer.proxied() {
		w.warn(CodeProxy, fmt.Sprintf("%s answers HTTP %d, which SGLang does not", w.probing, r.answer.Status))
	}
	if w.answer == nil || w.answer.State != r.answer.State {
		a := r.answer
		first := w.answer == nil
		w.answer = &a
		if !first || a.Status != 0 {
			w.tell(Event{Kind: PhaseChanged, Message: fmt.Sprintf("%s: %v", w.probing, a)})
		}
	}
	if w.over || !r.up {
		return
	}
	// The log may know better by now.
	w.look(ctx)
	if w.over {
		return
	}
	if why := w.notOurs(r.who); why != "" {
		w.warn(CodeNotOurs, why)
		return
	}
	w.succeed(r.who)
}

// notOurs says why the server that answers is not the one that is watched, ""
// when it is or nothing speaks against it.
func (w *watcher) notOurs(who identity) string {
	s := w.start()
	owner, pids := w.proc.ownerOf(w.probing, w.o.PID)
	if owner == foreign {
		return fmt.Sprintf("%s belongs to process %s, which is not part of this launch (%d)", w.probing, list(pids), w.o.PID)
	}
	for _, want := range []string{s.Text("model_path"), w.expectedModel()} {
		if want != "" && who.modelPath != "" && !sameModel(want, who.modelPath) {
			return fmt.Sprintf("%s serves %s, not %s", w.probing, who.modelPath, want)
		}
	}
	seed, seeded := s.Arguments()["random_seed"].(int64)
	mine := seeded && who.seed == strconv.FormatInt(seed, 10)
	if seeded && who.seed != "" && !mine {
		return fmt.Sprintf("%s is another start of the same model (its random_seed is %s, the log's %d)", w.probing, who.seed, seed)
	}
	if p := s.Phase; owner != ours && !mine && p > serverlog.Arguments && p < serverlog.Sizes {
		return fmt.Sprintf("%s answers while the log is in phase %s: it is an older server", w.probing, p)
	}
	return ""
}

func (w *watcher) expectedModel() string {
	if w.o.Expect == nil {
		return ""
	}
	return w.o.Expect.ModelPath
}

// sameModel compares model paths: a public id and the folder it was downloaded
// to have only their last part in common.
func sameModel(a, b string) bool {
	clean := func(s string) string { return strings.ToLower(strings.TrimRight(s, "/")) }
	a, b = clean(a), clean(b)
	if a == b || path.Base(a) == path.Base(b) {
		return true
	}
	cached := func(id string) string { return "models--" + strings.ReplaceAll(id, "/", "--") }
	return strings.Contains(a, cached(b)) || strings.Contains(b, cached(a))
}

func list(pids []int) string {
	var out []string
	for _, p := range pids {
		out = append(out, strconv.Itoa(p))
	}
	return strings.Join(out, ", ")
}

// readyByLog: without a port to ask, the ready line decides.
func (w *watcher) readyByLog() {
	if w.start().Ready && w.url() == "" {
		w.succeed(identity{})
	}
}

// succeed tells that the server is ready, and how it compares with the plan.
func (w *watcher) succeed(who identity) {
	msg := fmt.Sprintf("ready after %v", time.Since(w.began).Round(time.Second))
	tokens := who.tokens
	if s := w.start(); tokens == 0 && s.Sizes != nil {
		tokens = s.Sizes.MaxTotalNumTokens
	}
	if tokens > 0 {
		msg += fmt.Sprintf(", %d KV tokens", tokens)
		if e := w.o.Expect; e != nil && e.Tokens[1] > 0 {
			word := "as planned"
			if tokens < e.Tokens[0] || tokens > e.Tokens[1] {
				word = "outside the plan's"
			}
			msg += fmt.Sprintf(", %s %d to %d", word, e.Tokens[0], e.Tokens[1])
		}
	}
	w.finish(Event{Outcome: Ready, Phase: serverlog.Ready, Message: msg})
}
