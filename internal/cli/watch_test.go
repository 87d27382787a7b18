// trefoil watch against servers that break off.

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestWatch: a broken connection and a server that is starting are no end. If the feed no longer reaches
// back, the command says how to continue.
func TestWatch(t *testing.T) {
	requests := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		switch {
		case r.URL.Path == "/changes/position":
			fmt.Fprintln(w, `{"position":"p1"}`)
		case r.FormValue("since") == "p1":
			fmt.Fprintln(w, `{"kind":"add","s":{"type":"uri","value":"http://ex/s"},"p":{"type":"uri","value":"http://ex/p"},"o":{"type":"uri","value":"http://ex/o"},`+
				`"epoch":1,"sequence":2,"time":"2026-11-26T15:00:00.000Z","position":"p2"}`)
			fmt.Fprintln(w, `{"error":{"kind":"unavailable","message":"the node is shutting down","where":""}}`)
		case requests < 5:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusGone)
			fmt.Fprintln(w, `{"error":{"kind":"gone","message":"trimmed","where":"since","continue":"p9","read":["/triples"]}}`)
		}
	}))
	defer s.Close()
	code, stdout, stderr := run(t, "", "watch", "--to", s.URL)
	if code != exitFailed || stdout != "A <http://ex/s> <http://ex/p> <http://ex/o> .\n" {
		t.Errorf("exit %d, %s", code, stdout)
	}
	if !strings.Contains(stderr, "--since p9") || strings.Contains(stderr, "position: ") || strings.Count(stderr, "connecting again") != 1 {
		t.Error(stderr)
	}
}
