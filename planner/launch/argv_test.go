package launch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestFromArgv(t *testing.T) {
	for name, tc := range map[string]struct {
		line, flags, python string
		env                 map[string]string
	}{
		"module":      {"python3 -m sglang.launch_server --model-path m --tp 8", "--model-path m --tp 8", "python3", nil},
		"serve":       {"sglang serve --model-path m", "--model-path m", "", nil},
		"positional":  {"sglang serve m --tp 2", "m --tp 2", "", nil},
		"bare":        {"--model m", "--model m", "", nil},
		"environment": {"env A_B=1 numactl --interleave=all /opt/venv/bin/python -m sglang.launch_server --tp 2", "--tp 2", "/opt/venv/bin/python", map[string]string{"A_B": "1"}},
	} {
		c, err := FromArgv(strings.Fields(tc.line))
		require.NoError(t, err, name)
		if tc.env == nil {
			tc.env = map[string]string{}
		}
		require.Empty(t, cmp.Diff(tc.flags, strings.Join(texts(c.Flags), " ")), name)
		require.Equal(t, tc.python, c.Python, name)
		require.Equal(t, tc.env, c.Env, name)
	}
	for _, line := range []string{"", "ls -l", "python3 -m vllm.entrypoints.openai.api_server --model m"} {
		_, err := FromArgv(strings.Fields(line))
		var ne *NotLaunchError
		require.ErrorAs(t, err, &ne, line)
	}
}
