package source

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// cached lists the folders in which SGLang would find a public model that was
// downloaded before, the likeliest first.
func cached(q Query) []string {
	if !isID(q.Name) {
		return nil
	}
	if v := strings.ToLower(q.Env["SGLANG_USE_MODELSCOPE"]); v == "1" || v == "true" {
		return modelScope(q)
	}
	repo := filepath.Join(HubCache(q.Env), "models--"+strings.ReplaceAll(q.Name, "/", "--"))
	return []string{snapshot(repo, cmp.Or(q.Revision, "main"))}
}

// snapshot returns the folder of a revision: a commit by its own name, else
// what the reference of that name says (huggingface_hub's
// try_to_load_from_cache).
func snapshot(repo, revision string) string {
	if f, err := os.Open(filepath.Join(repo, "refs", filepath.FromSlash(revision))); err == nil {
		defer f.Close()
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			text, _ := io.ReadAll(io.LimitReader(f, 128))
			if commit := strings.TrimSpace(string(text)); isPart(commit) {
				revision = commit
			}
		}
	}
	if !isPart(revision) {
		revision = "none"
	}
	return filepath.Join(repo, "snapshots", revision)
}

// HubCache returns the folder of the Hugging Face cache: HF_HUB_CACHE, else
// HUGGINGFACE_HUB_CACHE, else hub below HF_HOME, which is by default
// huggingface below XDG_CACHE_HOME or ~/.cache (huggingface_hub.constants).
func HubCache(env map[string]string) string {
	return expand(cmp.Or(env["HF_HUB_CACHE"], env["HUGGINGFACE_HUB_CACHE"], filepath.Join(HubHome(env), "hub")), env)
}

// HubHome returns the folder of Hugging Face's own files, the token among them.
func HubHome(env map[string]string) string {
	return expand(cmp.Or(env["HF_HOME"], filepath.Join(cmp.Or(env["XDG_CACHE_HOME"], "~/.cache"), "huggingface")), env)
}

// expand replaces a leading ~ by HOME, as Python's expanduser does.
func expand(path string, env map[string]string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		return filepath.Join(cmp.Or(env["HOME"], "/root"), rest)
	}
	return path
}

// modelScope lists where ModelScope's cache keeps a model: its layout moved
// between releases, and dots in names became underscores.
func modelScope(q Query) []string {
	root := expand(cmp.Or(q.Env["MODELSCOPE_CACHE"], "~/.cache/modelscope"), q.Env)
	var out []string
	for _, below := range []string{"models", "hub/models", "hub", ""} {
		for _, name := range []string{q.Name, strings.ReplaceAll(q.Name, ".", "___")} {
			out = append(out, filepath.Join(root, below, name))
		}
	}
	return out
}

// isID reports a public id: name, or organisation and name, of the characters
// that the Hub allows. Everything else could name a path outside the cache.
func isID(s string) bool {
	org, name, two := strings.Cut(s, "/")
	return isPart(org) && (!two || isPart(name))
}

// isPart reports a single safe path element.
func isPart(s string) bool {
	if s == "" || len(s) > 128 || s[0] == '.' || strings.Contains(s, "..") {
		return false
	}
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", c) {
			return false
		}
	}
	return true
}
