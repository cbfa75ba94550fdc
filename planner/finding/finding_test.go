package finding

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var codeTest = Define("test-code", "a summary", "a meaning", "do it")

func TestFinding(t *testing.T) {
	f := New(codeTest, Warning, "--flag", "details").With("set it", Edit{Flag: "--flag", Value: "1"})
	b, err := json.Marshal(f)
	require.NoError(t, err)
	require.JSONEq(t, `{"code":"test-code","severity":"warning","flag":"--flag","summary":"a summary","detail":"details",
		"fixes":[{"title":"set it","edits":[{"flag":"--flag","value":"1"}]}]}`, string(b))
	var back Finding
	require.NoError(t, json.Unmarshal(b, &back))
	require.Empty(t, cmp.Diff(f, back))
}

// TestForgottenSeverity: a finding that forgot its severity cannot pass for
// harmless.
func TestForgottenSeverity(t *testing.T) {
	_, err := json.Marshal(Finding{Code: codeTest})
	require.ErrorContains(t, err, "invalid severity")
	require.Equal(t, Error, Worst([]Finding{{Severity: Info}, {Severity: Error}, {Severity: Warning}}))
	require.Zero(t, Worst(nil))
}

func TestDefine(t *testing.T) {
	d, ok := Explain(codeTest)
	require.True(t, ok)
	require.Equal(t, Doc{codeTest, "a summary", "a meaning", "do it"}, d)
	require.Panics(t, func() { Define("test-code", "", "", "") })
	_, ok = Explain("no-such-code")
	require.False(t, ok)
}

// TestWithLeavesTheFirstAlone: adding a fix does not change other copies.
func TestWithLeavesTheFirstAlone(t *testing.T) {
	f := New(codeTest, Info, "", "").With("one")
	g, h := f.With("two"), f.With("three")
	require.Equal(t, "two", g.Fixes[1].Title)
	require.Equal(t, "three", h.Fixes[1].Title)
	require.Len(t, f.Fixes, 1)
}
