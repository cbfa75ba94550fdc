package catalogue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryEntryLoads(t *testing.T) {
	require.GreaterOrEqual(t, len(IDs()), 60)
	for _, id := range IDs() {
		c, err := Load(id)
		require.NoError(t, err, id)
		require.NotEmpty(t, c.Arch(), id)
		require.NotEmpty(t, c.Text(), id)
	}
}

func TestLoad(t *testing.T) {
	c, err := Load("moonshotai/kimi-k2.5")
	require.NoError(t, err)
	require.Equal(t, "KimiK25ForConditionalGeneration", c.Arch())
	n, ok := c.Text().Int("num_hidden_layers")
	require.True(t, ok)
	require.EqualValues(t, 61, n)

	_, err = Load("nobody/nothing")
	var nf *NotFoundError
	require.ErrorAs(t, err, &nf)
}
