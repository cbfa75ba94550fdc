package model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestTextSection(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"plain":   {`{"model_type":"llama"}`, "llama"},
		"wrapper": {`{"model_type":"w","text_config":{"model_type":"t"}}`, "t"},
		"order":   {`{"text_config":{"model_type":"t"},"llm_config":{"model_type":"l"}}`, "l"},
		"thinker": {`{"thinker_config":{"text_config":{"model_type":"q"}}}`, "q"},
	} {
		c, err := ParseConfig(strings.NewReader(tc.in))
		require.NoError(t, err, name)
		require.Equal(t, tc.want, c.Text().Str("model_type"), name)
	}
}

func TestNumbers(t *testing.T) {
	c, err := ParseConfig(strings.NewReader(`{"a":8,"b":1.0,"c":1.5,"d":null,"e":"8","f":1e400,"l":[1,2],"x":[1,"a"],"i":[0.0, -Infinity, NaN, "Infinity"]}`))
	require.NoError(t, err)
	got := map[string]any{}
	for _, k := range []string{"a", "b", "c", "d", "e", "f"} {
		if n, ok := c.Top.Int(k); ok {
			got[k] = n
		}
	}
	require.Empty(t, cmp.Diff(map[string]any{"a": int64(8), "b": int64(1)}, got))
	require.Equal(t, []int64{1, 2}, c.Top.Ints("l"))
	require.Nil(t, c.Top.Ints("x"))
	require.Equal(t, "Infinity", c.Top.List("i")[3])
	require.Nil(t, c.Top.List("i")[1])
}

func TestBadConfig(t *testing.T) {
	for _, in := range []string{"", "[]", "null", "{", `{"a":}`, "\x00", `{"a":1} x`, `{}{}`} {
		_, err := ParseConfig(strings.NewReader(in))
		var ce *ConfigError
		require.ErrorAs(t, err, &ce, in)
	}
	_, err := ParseConfig(strings.NewReader(`{"a":"` + strings.Repeat("x", MaxConfigBytes) + `"}`))
	require.ErrorContains(t, err, "larger than")
}

func FuzzParseConfig(f *testing.F) {
	f.Add(`{"architectures":["LlamaForCausalLM"],"num_hidden_layers":32}`)
	f.Add(`{"a":[Infinity,NaN]}`)
	f.Fuzz(func(t *testing.T, in string) {
		c, err := ParseConfig(strings.NewReader(in))
		if err == nil {
			c.Arch()
			c.Text().Int("num_hidden_layers")
		}
	})
}
