// Tests of trefoil cluster activity.

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// TestClusterActivity: the table has a row with rates of each member, and names a member that has ended.
func TestClusterActivity(t *testing.T) {
	seed.Slow(t)
	// 1. Two members, of which the second one answers a request.
	first, _ := serveNode(t)
	url, stop := serveFor(t, t.TempDir(), "--join", first)
	second := strings.TrimPrefix(url, "http://")
	if code, _, stderr := run(t, "", "query", "--to", second, "ASK {}"); code != exitDone {
		t.Fatal(code, stderr)
	}
	// 2. The first one shows both, as JSON and as a table.
	var all client.ActivityList
	code, stdout, stderr := run(t, "", "cluster", "activity", "--json", "--to", first)
	if err := json.Unmarshal([]byte(stdout), &all); code != exitDone || err != nil || len(all.Members) != 2 {
		t.Fatal(code, stdout, stderr, err)
	}
	for _, m := range all.Members {
		if m.Node != first && m.Node != second || m.Machine == "" || m.Seconds <= 0 || m.CompactionDebt == nil || m.Node == second && m.Queries != 1 {
			t.Errorf("%+v", m)
		}
	}
	code, stdout, _ = run(t, "", "cluster", "activity", "--every", "10ms", "--to", first)
	if code != exitDone || strings.Count(stdout, "\n") != 3 {
		t.Errorf("code %d:\n%s", code, stdout)
	}
	for _, node := range []string{first, second} {
		row := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(node) + ` +\d+\.\d +\d +\d+\.\d +\d +[\d,]+ +[\d.]+ [KMG]?i?B +\d+\.\d\d +[\d.]+ [KMG]?i?B +[\d.]+ [KMG]?i?B$`)
		if !row.MatchString(stdout) {
			t.Errorf("no row of %s:\n%s", node, stdout)
		}
	}
	// 3. One that has ended is named.
	stop()
	if code, stdout, stderr := run(t, "", "cluster", "activity", "--every", "10ms", "--to", first); code != exitFailed || !strings.Contains(stdout, first) || !strings.Contains(stderr, "the activity of "+second) {
		t.Errorf("code %d:\n%s%s", code, stdout, stderr)
	}
	if code, _, _ := run(t, "", "cluster", "activity", "--every", "0s", "--to", first); code != exitUsage {
		t.Errorf("--every 0s: code %d", code)
	}
}

// TestWatchActivity: watching goes on after an error. Rates are the growth between two answers, and a figure that an older member does not report is unknown.
func TestWatchActivity(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	url := clusterServer(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if n > 4 {
			stop()
		}
		seconds := float64(2 * n)
		all := client.ActivityList{
			Members: []client.Activity{{MemberName: client.MemberName{Machine: "1", Node: "a:1"}, Seconds: seconds, ProcessorSeconds: seconds / 4, Memory: 3 << 20, Requests: int64(10 * n), Queries: int64(n), RowsRead: int64(4000 * n), BytesWritten: int64(n) << 20}},
			Absent:  []client.AbsentMember{{MemberName: client.MemberName{Machine: "2", Node: "b:1"}, Error: "the machine is down"}},
		}
		if err := json.NewEncoder(w).Encode(all); err != nil {
			t.Error(err)
		}
	})
	var out, messages bytes.Buffer
	code := Run(ctx, []string{"cluster", "activity", "--watch", "--every", "1ms", "--to", url}, nil, &out, &messages)
	text := out.String()
	row := regexp.MustCompile(`\na:1 +5\.0 +0 +0\.5 +0 +2,000 +512\.0 KiB +0\.25 +3\.0 MiB +unknown\n`)
	if code != exitDone || messages.Len() > 0 || !strings.Contains(text, "503") || !row.MatchString(text[strings.Index(text, "503"):]) || !strings.Contains(text, "the activity of b:1 (machine 2) is missing: the machine is down") {
		t.Errorf("code %d: %s\n%s", code, messages.String(), text)
	}
}
