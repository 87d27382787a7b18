// The counts of triples that commands and endpoints report.

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
)

// get decodes the answer of an endpoint.
func get(t *testing.T, url string, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", url, response.StatusCode, text, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v: %s", url, err, text)
	}
}

// update sends changes of links.
func update(t *testing.T, url, lines string) {
	t.Helper()
	response, err := http.Post(url+"/links/update", "application/x-ndjson", strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		t.Fatalf("links: %d %s", response.StatusCode, text)
	}
}

// TestCountsAgree: /status and /count have the same number of triples, without UIDs and hosts of links and prefixes. A
// lone node's is exact and said so. A cluster's is an estimate, and right when nothing changes.
func TestCountsAgree(t *testing.T) {
	seed.Slow(t)
	for name, machines := range map[string]int{"alone": 1, "cluster": 3} {
		t.Run(name, func(t *testing.T) {
			first, _ := serveNode(t)
			addresses := []string{first}
			for len(addresses) < machines {
				next, _ := serveNode(t, "--join", first)
				addresses = append(addresses, next)
			}
			url := "http://" + first
			agree := func(after string, triples int64) {
				t.Helper()
				for _, address := range addresses {
					var counted struct{ Count int64 }
					get(t, "http://"+address+"/count", &counted)
					// Members report to the leader now and then, so their sum comes later.
					var s client.Status
					for end := time.Now().Add(time.Minute); ; {
						get(t, "http://"+address+"/status", &s)
						if machines == 1 || s.Triples == triples || time.Now().After(end) {
							break
						}
						<-time.After(20 * time.Millisecond)
					}
					if counted.Count != triples || s.Triples != triples || s.Exact != (machines == 1) {
						t.Errorf("%s: /count %d, /status %d, exact %t, want %d", after, counted.Count, s.Triples, s.Exact, triples)
					}
				}
				about := map[bool]string{true: "about "}[machines > 1]
				code, out, stderr := run(t, "", "status", "--to", url)
				if line := "triples" + strings.Repeat(" ", 4) + about + console.Number(triples) + "\n"; code != exitDone || !strings.Contains(strings.ReplaceAll(out, "triples     ", "triples    "), line) {
					t.Errorf("%s: trefoil status: %s%s\nwithout %q", after, out, stderr, line)
				}
			}
			agree("nothing", 0)
			// 1. A load keeps its prefixes, links get UIDs and hosts, pages get labels.
			want(t, exitDone, "new        6\n", "load", "--to", url, write(t, "people.ttl", people))
			agree("a load", 6)
			var lines strings.Builder
			for i := range 20 {
				fmt.Fprintf(&lines, `{"op":"add","src":"http://h%d.example/a","dst":["http://h%d.example/b","http://x.example/%d"]}`+"\n", i%5, i%3, i)
			}
			update(t, url, lines.String())
			agree("links", 41)
			// 2. Loads of links.
			const edge = "<http://h7.example/%s> <" + links.DefaultPredicate + "> <http://h8.example/b> .\n"
			want(t, exitDone, "new        2\n", "load", "--to", url, write(t, "links.nt", fmt.Sprintf(edge+edge, "a", "b")))
			agree("a load of links", 43)
			// 3. Deletes leave the UIDs.
			want(t, exitDone, "", "delete", "--to", url, "--pattern", "<http://h7.example/a> ? ?")
			agree("a delete", 42)
			if machines > 1 { // rows move, and are swept
				fourth, _ := serveNode(t, "--join", first)
				addresses = append(addresses, fourth)
				agree("a join", 42)
			}
			want(t, exitDone, "", "update", "--to", url, "-e", "CLEAR ALL")
			agree("CLEAR ALL", 0)
		})
	}
}
