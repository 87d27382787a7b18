// Tests of a server: that the environment and a file set up, and with the tags of answers.

package cli

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// TestSettings: a server without flags has the settings of the environment and of the file that this
// names; status --ready asks it without a token, and fails when it is gone.
func TestSettings(t *testing.T) {
	token := file(t, "token", "sesame\n")
	p := startIn(t, []string{
		"TREFOIL_CONFIG=" + file(t, "trefoil.toml", "listen = \"127.0.0.1:0\"\nread-only = true\n"),
		"TREFOIL_DATA=" + filepath.Join(t.TempDir(), "store"), "TREFOIL_READ_ONLY=false", "TREFOIL_TOKEN_FILE=" + token,
	}, nil, "serve")
	url, ok := p.waitFor(t, `(http://127\.0\.0\.1:\d+)`)
	if !ok {
		t.Fatalf("serve ended: %s", p.Said())
	}
	s := &server{p, url}
	trefoil(t, "status", "--ready", "--to", url).mustCode(t, done)
	trefoil(t, "status", "--to", url).mustCode(t, failed).mustSay(t, "token")
	people := file(t, "people.nq", people)
	trefoil(t, "add", "--to", url, "--token-file", token, people).mustCode(t, done).mustSay(t, "added 10 triples")
	s.stop(t)
	trefoil(t, "status", "--ready", "--to", url).mustCode(t, failed)
	trefoil(t, "status", "--ready", "--data", t.TempDir()).mustCode(t, usage)
}

// TestTags: a server that is in no cluster answers 304 to one that has the answer, until a triple
// changes.
func TestTags(t *testing.T) {
	s := serve(t, "--data", filepath.Join(t.TempDir(), "store"))
	ask := func(tag string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, s.url+"/sparql?query=SELECT*%7B?s?p?o%7D", nil)
		require.NoError(t, err)
		r.Header.Set("If-None-Match", tag)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		answer.Body.Close()
		return answer
	}
	first := ask(`"none"`)
	tag := first.Header.Get("ETag")
	if again := ask(tag); first.StatusCode != http.StatusOK || tag == "" || again.StatusCode != http.StatusNotModified {
		t.Errorf("tag %q of %s; with it %s", tag, first.Status, again.Status)
	}
	trefoil(t, "add", "--to", s.url, file(t, "people.nq", people)).mustCode(t, done)
	if again := ask(tag); again.StatusCode != http.StatusOK || again.Header.Get("ETag") == tag {
		t.Errorf("after a change: %s, tag %s", again.Status, again.Header.Get("ETag"))
	}
	s.stop(t)
}
