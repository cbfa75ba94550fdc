package hub

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sglplan/sglplan/planner/model/source"
)

// maxToken bounds what is read of a token file.
const maxToken = 4 << 10

// tokenOf returns the token as huggingface_hub finds it: HF_TOKEN, its older
// name, else the file at HF_TOKEN_PATH or token below HF_HOME; "" when there is
// none or HF_HUB_DISABLE_IMPLICIT_TOKEN is set.
func tokenOf(env map[string]string) (string, error) {
	if isOn(env["HF_HUB_DISABLE_IMPLICIT_TOKEN"]) {
		return "", nil
	}
	t := strings.TrimSpace(cmp.Or(env["HF_TOKEN"], env["HUGGING_FACE_HUB_TOKEN"]))
	if t == "" {
		t = tokenFile(cmp.Or(env["HF_TOKEN_PATH"], filepath.Join(source.HubHome(env), "token")))
	}
	for _, c := range t {
		if c <= ' ' || c > '~' {
			return "", &Error{Err: ErrToken}
		}
	}
	return t, nil
}

// tokenFile returns what a token file holds, "" when it cannot be read.
func tokenFile(name string) string {
	if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
