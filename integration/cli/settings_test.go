// Tests of a server that the environment and a file set up.

package cli

import (
	"path/filepath"
	"testing"
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
		t.Fatalf("serve ended: %s", p.said())
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
