package units

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]Bytes{
		"94.04GiB": 100974681129, "449GB": 449e9, "97887MiB": 97887 << 20, "1024": 1024,
		"32g": 32 << 30, "0": 0, " 8 GiB ": 8 << 30, "2.5TB": 25e11,
	} {
		got, err := Parse(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{"", "GiB", "-1GiB", "12parsecs", "99999999999TiB", "..", "nan", "1.2.3GB"} {
		_, err := Parse(in)
		var se *SyntaxError
		require.ErrorAs(t, err, &se, in)
	}
}

func TestString(t *testing.T) {
	for b, want := range map[Bytes]string{0: "0 B", 1536: "1.5 KiB", 3 * MiB: "3.0 MiB", 100974681129: "94.04 GiB", -GiB: "-1.00 GiB"} {
		require.Equal(t, want, b.String())
	}
}
