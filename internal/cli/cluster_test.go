// The cluster commands: status, watch, members and partial loads.

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/clitest"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// clusterServer answers as a node of a cluster would; it counts its answers.
func clusterServer(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) string {
	t.Helper()
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(int(n.Add(1)), w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func writeStatus(t *testing.T, w http.ResponseWriter, s client.Status) {
	if err := json.NewEncoder(w).Encode(s); err != nil {
		t.Error(err)
	}
}

func TestClusterStatus(t *testing.T) {
	url := clusterServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) { writeStatus(t, w, clitest.Five) })
	for _, args := range [][]string{{"cluster", "status"}, {"status"}} {
		code, stdout, stderr := run(t, "", append(args, "--to", url)...)
		if code != exitDone || !strings.Contains(stdout, "photos, generation 2") || !strings.Contains(stdout, "30% of 100 rows backfilled") {
			t.Errorf("%q: %d, %s%s", args, code, stdout, stderr)
		}
	}
	_, stdout, _ := run(t, "", "cluster", "status", "--json", "--to", url)
	var got client.Status
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Members[2].Walk.Left != 70 {
		t.Errorf("%v: %s", err, stdout)
	}
}

// In a pipe, watching writes a line where something changes, and goes on where the
// node does not answer for a while.
func TestClusterWatch(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	url := clusterServer(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		s := clitest.Five
		switch {
		case n == 4:
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case n > 5:
			s.Epoch++
			stop()
		}
		writeStatus(t, w, s)
	})
	var out, messages bytes.Buffer
	code := Run(ctx, []string{"cluster", "status", "--watch", "--every", "1ms", "--to", url}, nil, &out, &messages)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if code != exitDone || messages.Len() > 0 || len(lines) < 3 || len(lines) > 4 ||
		!strings.Contains(lines[0], " epoch 1017 fill") || !strings.Contains(lines[1], "503") || !strings.Contains(lines[2], " epoch 1017 fill") {
		t.Errorf("%d, %q, %s", code, lines, messages.String())
	}
	nobody := clusterServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	if code, _, _ := run(t, "", "cluster", "status", "--watch", "--to", nobody); code != exitFailed {
		t.Errorf("what does not answer at first ends with %d", code)
	}
}

func TestClusterMembers(t *testing.T) {
	var asked string
	url := clusterServer(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			asked = r.URL.String()
		}
		writeStatus(t, w, clitest.Five)
	})
	for _, test := range []struct {
		args  []string
		code  int
		asked string
		says  string
	}{
		{[]string{"leave"}, exitDone, "/cluster/leave", "the node hands over"},
		{[]string{"leave", "00b3"}, exitDone, "/cluster/leave?machine=00b3", "00b3 10.0.0.4:7333 hands over"},
		{[]string{"leave", "10.0.0.4:7333"}, exitDone, "/cluster/leave?machine=00b3", ""},
		{[]string{"leave", "00c"}, exitDone, "/cluster/leave?machine=00c4", ""},
		{[]string{"leave", "00a"}, exitUsage, "", "2 members"},
		{[]string{"leave", "00d"}, exitUsage, "", "no member"},
		{[]string{"remove", "00a2"}, exitDone, "/cluster/remove?machine=00a2", "is given up"},
		{[]string{"remove", "00a1"}, exitFailed, "", "--force"},
		{[]string{"remove", "10.0.0.9:7333"}, exitDone, "/cluster/remove?machine=00e9", "is not expected back"},
		{[]string{"remove", "--force", "00a1"}, exitDone, "/cluster/remove?machine=00a1", ""},
		{[]string{"remove"}, exitUsage, "", "trefoil cluster remove --help"},
	} {
		asked = ""
		code, _, stderr := run(t, "", append(append([]string{"cluster"}, test.args...), "--to", url)...)
		if code != test.code || asked != test.asked || !strings.Contains(stderr, test.says) {
			t.Errorf("%q: %d, asked %q, says %s", test.args, code, asked, stderr)
		}
	}
	alone := clusterServer(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"error":{"kind":"conflict","message":"this node is not part of a cluster","where":""}}`)
			return
		}
		writeStatus(t, w, client.Status{Members: []client.Member{{ID: "00a1", State: "up"}}})
	})
	for _, args := range [][]string{{"cluster", "leave", "--to", alone}, {"cluster", "leave", "00a1", "--to", alone}, {"cluster", "remove", "00a1", "--to", alone}} {
		if code, _, stderr := run(t, "", args...); code != exitFailed || !strings.Contains(stderr, "not part of a cluster") {
			t.Errorf("%q: %d, %s", args, code, stderr)
		}
	}
	if code, stdout, _ := run(t, "", "cluster", "status", "--to", alone); code != exitDone || !strings.Contains(stdout, "the node is alone") {
		t.Errorf("%d %s", code, stdout)
	}
}

// If a load into a cluster fails, the error says how much it has added.
func TestLoadPartly(t *testing.T) {
	url := clusterServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"kind":"syntax","message":"oh (10000 triples were loaded before)","where":"body:3:14","line":3,"column":14,"done":10000}}`)
	})
	code, _, stderr := run(t, "", "load", "--to", url, "--from", "nt", "-")
	if code != exitFailed || !strings.Contains(stderr, "10,000 new triples of this document were added before") || strings.Contains(stderr, "Nothing of this") {
		t.Errorf("%d: %s", code, stderr)
	}
}

// TestStatusWait checks that --wait requests until the server can work, and ends with an error when its
// time is over.
func TestStatusWait(t *testing.T) {
	seed.Slow(t)
	url := clusterServer(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n <= 6 { // more than the retries of any request
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	if code, _, stderr := run(t, "", "status", "--ready", "--wait", "1m", "--to", url); code != exitDone {
		t.Errorf("a server that becomes ready: %d %s", code, stderr)
	}
	never := clusterServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	if code, _, stderr := run(t, "", "status", "--ready", "--wait", "300ms", "--to", never); code != exitFailed || !strings.Contains(stderr, "503") {
		t.Errorf("a server that is never ready: %d %s", code, stderr)
	}
	if code, _, _ := run(t, "", "status", "--wait", "1s", "--to", never); code != exitUsage {
		t.Errorf("--wait without --ready: %d", code)
	}
}
