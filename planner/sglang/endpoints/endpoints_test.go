package endpoints

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/sglang/release"
)

func TestOf(t *testing.T) {
	old := []string{"/get_server_info"}
	recent := []string{"/server_info"}
	for version, want := range map[string]Endpoints{
		"0.4.6":        {Static: true, ServerInfo: old, ModelInfo: []string{"/get_model_info"}},
		"0.4.10.post1": {Static: true, ServerInfo: old, ModelInfo: []string{"/get_model_info"}},
		"0.4.10.post2": {ServerInfo: old, ModelInfo: []string{"/get_model_info"}},
		"0.5.5.post3":  {ServerInfo: old, ModelInfo: []string{"/get_model_info"}},
		"0.5.6":        {ServerInfo: recent, ModelInfo: []string{"/model_info"}},
		"0.5.19":       {ServerInfo: recent, ModelInfo: []string{"/model_info"}},
		"0.5.20":       {Ready: true, ServerInfo: recent, ModelInfo: []string{"/model_info"}},
	} {
		require.Equal(t, want, Of(release.MustParse(version)), version)
	}
	require.Equal(t, Endpoints{
		ServerInfo: []string{"/server_info", "/get_server_info"}, ModelInfo: []string{"/model_info", "/get_model_info"},
	}, Of(release.Release{}), "unknown")
}
