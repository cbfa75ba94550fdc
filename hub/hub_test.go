package hub

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/internal/bigcheckpoint"
	"github.com/sglplan/sglplan/planner/model"
	"github.com/sglplan/sglplan/planner/model/checkpoint"
	"github.com/sglplan/sglplan/planner/model/source"
)

const secret = "hf_secretsecretsecret"

// fake behaves like the Hub: small files are served by the endpoint, large
// ones by a CDN on another host, to which it redirects.
type fake struct {
	mu    sync.Mutex
	hub   *httptest.Server
	cdn   *httptest.Server
	files map[string][]byte
	tail  map[string]int64 // bytes of zeros behind a file
	seen  []*http.Request  // of both hosts
	sent  int64            // bytes of files

	limit  int // requests to refuse with 429
	after  string
	status int  // answer of the listing, 0 for 200
	gated  bool // files need the token
	whole  bool // ranges are ignored
	slow   bool // bodies never end
	sizes  bool // the listing tells sizes
}

func newFake(t *testing.T) *fake {
	f := &fake{files: map[string][]byte{}, tail: map[string]int64{}, sizes: true}
	f.hub = httptest.NewServer(http.HandlerFunc(f.serveHub))
	f.cdn = httptest.NewServer(http.HandlerFunc(f.serveCDN))
	t.Cleanup(f.hub.Close)
	t.Cleanup(f.cdn.Close)
	return f
}

func (f *fake) record(r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, r)
}

func (f *fake) limited(w http.ResponseWriter) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.limit == 0 {
		return false
	}
	f.limit--
	if f.after != "" {
		w.Header().Set("Retry-After", f.after)
	}
	w.WriteHeader(http.StatusTooManyRequests)
	return true
}

func (f *fake) serveHub(w http.ResponseWriter, r *http.Request) {
	f.record(r)
	if f.limited(w) {
		return
	}
	switch path := r.URL.EscapedPath(); {
	case path == "/api/models/org/model/revision/main" || path == "/api/models/org/model/revision/refs%2Fpr%2F1":
		f.list(w)
	case strings.HasPrefix(path, "/org/model/resolve/c0ffee/"):
		name := filepath.Base(path)
		switch {
		case f.gated && r.Header.Get("Authorization") != "Bearer "+secret:
			w.WriteHeader(http.StatusForbidden)
		case strings.HasSuffix(name, ".safetensors"):
			http.Redirect(w, r, f.cdn.URL+"/blob/"+name+"?Signature=topsecret", http.StatusFound)
		default:
			f.serve(w, r, name)
		}
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (f *fake) list(w http.ResponseWriter) {
	if f.status != 0 {
		w.WriteHeader(f.status)
		return
	}
	var items []string
	for name, b := range f.files {
		item := fmt.Sprintf(`{"rfilename":%q`, name)
		if f.sizes {
			item += fmt.Sprintf(`,"size":%d`, int64(len(b))+f.tail[name])
		}
		items = append(items, item+"}")
	}
	items = append(items, `{"rfilename":"../../etc/passwd","size":1}`, `{"rfilename":"sub/x.safetensors","size":1}`)
	fmt.Fprintf(w, `{"sha":"c0ffee","siblings":[%s]}`, strings.Join(items, ","))
}

func (f *fake) serveCDN(w http.ResponseWriter, r *http.Request) {
	f.record(r)
	f.serve(w, r, filepath.Base(r.URL.Path))
}

// zeros is a file whose end is a hole.
type zeros struct {
	head []byte
	size int64
}

func (z zeros) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(z.head)) {
		copy(p, z.head[off:])
	}
	n := int(min(int64(len(p)), z.size-off))
	if n < len(p) {
		return max(n, 0), io.EOF
	}
	return n, nil
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request, name string) {
	b, ok := f.files[name]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if f.slow {
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	if f.whole {
		r.Header.Del("Range")
	}
	size := int64(len(b)) + f.tail[name]
	http.ServeContent(&counting{w, f}, r, "", time.Time{}, io.NewSectionReader(zeros{b, size}, 0, size))
}

type counting struct {
	http.ResponseWriter
	f *fake
}

func (c *counting) Write(p []byte) (int, error) {
	c.f.mu.Lock()
	c.f.sent += int64(len(p))
	c.f.mu.Unlock()
	return c.ResponseWriter.Write(p)
}

func (f *fake) client(t *testing.T, env map[string]string, opts ...Option) *Client {
	all := map[string]string{"HF_ENDPOINT": f.hub.URL, "HF_HOME": t.TempDir()}
	for k, v := range env {
		all[k] = v
	}
	c, err := New(all, opts...)
	require.NoError(t, err)
	return c
}

// model fills the fake with a small model of two shards.
func (f *fake) model(t *testing.T) {
	dir := t.TempDir()
	_, err := bigcheckpoint.Write(dir, bigcheckpoint.Kimi(2, 8), 2)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"architectures":["X"],"num_hidden_layers":2}`), 0o600))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		in, err := os.Open(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		head, err := io.ReadAll(io.LimitReader(in, 256<<10))
		in.Close()
		require.NoError(t, err)
		st, err := e.Info()
		require.NoError(t, err)
		f.files[e.Name()], f.tail[e.Name()] = head, st.Size()-int64(len(head))
	}
}

func find(c *Client, name, revision string) (*source.Found, error) {
	return source.Find(source.Query{Name: name, Revision: revision, Env: map[string]string{"HF_HOME": "/nonexistent"},
		Remote: func(id, rev string) (fs.FS, error) { return c.FS(context.Background(), id, rev) }})
}

func TestHeadersOverRanges(t *testing.T) {
	for _, sizes := range []bool{true, false} {
		t.Run(fmt.Sprintf("sizes listed %v", sizes), func(t *testing.T) {
			f := newFake(t)
			f.model(t)
			f.sizes, f.gated = sizes, true
			got, err := find(f.client(t, map[string]string{"HF_TOKEN": secret}), "org/model", "")
			require.NoError(t, err)
			require.Equal(t, source.Hub, got.Kind)
			require.Equal(t, "X", got.Config.Arch())
			require.True(t, got.Checkpoint.Complete(), got.Checkpoint.Problems)
			require.Equal(t, checkpoint.Safetensors, got.Checkpoint.Format)
			require.Equal(t, 2, got.Checkpoint.Files)
			require.Equal(t, int64(got.Checkpoint.TotalSize), got.Checkpoint.Tally.Bytes)
			require.Less(t, f.sent, int64(2<<20), "headers, not data")
		})
	}
}

func TestTokenStaysWithTheEndpoint(t *testing.T) {
	f := newFake(t)
	f.model(t)
	f.gated = true
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, "token"), []byte(secret+"\n"), 0o600))
	c := f.client(t, map[string]string{"HF_HOME": home})
	_, err := find(c, "org/model", "refs/pr/1")
	require.NoError(t, err)
	cdn, hub := 0, 0
	for _, r := range f.seen {
		if "http://"+r.Host == f.cdn.URL {
			cdn++
			require.Empty(t, r.Header.Get("Authorization"), "the CDN must not see the token")
			require.Empty(t, r.Header.Get("Referer"))
			continue
		}
		hub++
		require.Equal(t, "Bearer "+secret, r.Header.Get("Authorization"))
	}
	require.Positive(t, cdn)
	require.Positive(t, hub)
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		require.NotContains(t, fmt.Sprintf(verb, c), secret)
		require.NotContains(t, fmt.Sprintf(verb, c.http.Transport), secret)
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  func(*fake)
		id   string
		want error
	}{
		{"unauthorized", func(f *fake) { f.status = 401 }, "org/model", ErrUnauthorized},
		{"forbidden", func(f *fake) { f.status = 403 }, "org/model", ErrForbidden},
		{"gated file", func(f *fake) { f.gated = true }, "org/model", ErrForbidden},
		{"not found", func(*fake) {}, "org/other", ErrNotFound},
		{"broken", func(f *fake) { f.status = 500 }, "org/model", ErrStatus},
		{"limited for long", func(f *fake) { f.limit, f.after = 100, "3600" }, "org/model", ErrRateLimited},
		{"limited for ever", func(f *fake) { f.limit, f.after = 100, "0" }, "org/model", ErrRateLimited},
		{"slow body", func(f *fake) { f.slow = true }, "org/model", context.DeadlineExceeded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t)
			f.model(t)
			tc.set(f)
			_, err := find(f.client(t, map[string]string{"HF_TOKEN": "hf_wrong"}, WithTimeout(300*time.Millisecond)), tc.id, "")
			require.ErrorIs(t, err, tc.want)
			require.NotContains(t, err.Error(), "hf_wrong")
			require.NotContains(t, err.Error(), "topsecret")
			var missing *source.NotFoundError
			require.ErrorAs(t, err, &missing)
		})
	}
}

func TestRateLimitWaitedOut(t *testing.T) {
	f := newFake(t)
	f.model(t)
	f.limit, f.after = 2, "0"
	_, err := find(f.client(t, nil), "org/model", "")
	require.NoError(t, err)
}

func TestServerWithoutRanges(t *testing.T) {
	f := newFake(t)
	f.files["config.json"] = []byte(`{"architectures":["X"]}`)
	f.files["model.safetensors"] = bytes.Repeat([]byte{0}, 300<<10)
	f.whole = true
	files, err := f.client(t, nil).FS(context.Background(), "org/model", "")
	require.NoError(t, err)
	cfg, err := model.ReadDir(files)
	require.NoError(t, err, "the beginning of a file needs no range")
	require.Equal(t, "X", cfg.Arch())
	in, err := files.Open("model.safetensors")
	require.NoError(t, err)
	_, err = in.(io.ReaderAt).ReadAt(make([]byte, 8), 200<<10)
	require.ErrorIs(t, err, ErrRange)
}

func TestOffline(t *testing.T) {
	f := newFake(t)
	_, err := f.client(t, map[string]string{"HF_HUB_OFFLINE": "1"}).FS(context.Background(), "org/model", "")
	require.ErrorIs(t, err, ErrOffline)
	require.Empty(t, f.seen)
}

func TestSettings(t *testing.T) {
	for _, endpoint := range []string{"ftp://x", "huggingface.co", "::"} {
		_, err := New(map[string]string{"HF_ENDPOINT": endpoint})
		require.ErrorIs(t, err, ErrEndpoint, endpoint)
	}
	_, err := New(map[string]string{"HF_TOKEN": "a\nb: c"})
	require.ErrorIs(t, err, ErrToken)
	c, err := New(map[string]string{"HOME": "/nonexistent"})
	require.NoError(t, err)
	require.Equal(t, "https://huggingface.co", c.endpoint.String())
	tok, err := tokenOf(map[string]string{"HF_TOKEN": "x", "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"})
	require.NoError(t, err)
	require.Empty(t, tok)
}

func TestInsecureRedirect(t *testing.T) {
	from, to := &http.Request{URL: &url.URL{Scheme: "https"}}, &http.Request{URL: &url.URL{Scheme: "http"}}
	require.ErrorIs(t, checkRedirect(to, []*http.Request{from}), ErrInsecure)
	require.NoError(t, checkRedirect(from, []*http.Request{to}))
}
