package release

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"0.5.9": "0.5.9", "v0.5.10.post1": "0.5.10.post1", "0.5.12.dev20260512+gabc": "0.5.12.dev20260512",
		"v0.5.9-cu130": "0.5.9", "0.5.3rc0": "0.5.3rc0",
	} {
		r, err := Parse(in)
		require.NoError(t, err, in)
		require.Equal(t, want, r.String(), in)
	}
	for _, in := range []string{"", "latest", "0.5.x", "5", "0.5.9.postx"} {
		_, err := Parse(in)
		var se *SyntaxError
		require.ErrorAs(t, err, &se, in)
	}
}

func TestOrder(t *testing.T) {
	order := []string{"0.4.6", "0.4.6.post1", "0.5.2", "0.5.10.dev1", "0.5.10", "0.5.10.post1", "0.5.23"}
	parse := func(s string) Release {
		r, err := Parse(s)
		require.NoError(t, err)
		return r
	}
	for i := 1; i < len(order); i++ {
		require.Negative(t, Compare(parse(order[i-1]), parse(order[i])), order[i])
	}
	require.Panics(t, func() { MustParse("latest") })
	for _, v := range order {
		require.Equal(t, parse(v), MustParse(v))
		if v != "0.5.10.dev1" {
			require.Equal(t, parse(v).key(), keyOf(v), v)
		}
	}
	r := MustParse("0.5.10.post1")
	require.True(t, r.AtLeast("0.5.10"))
	require.True(t, r.Before("0.5.11"))
	require.True(t, r.Within("0.5.10", "0.5.10.post1"))
	require.False(t, r.Within("0.5.3", "0.5.10"))
}
