// Links commands on a real server.

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/engine"
	nodelinks "github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/clitest"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
)

// serveLinks serves a directory with its graph of links, and returns the address and
// the graph. stop ends it, and closes the store.
func serveLinks(t *testing.T, data string) (url string, graph *nodelinks.Graph, stop func()) {
	t.Helper()
	db, err := store.Open(data, store.Options{MinFreeBytes: -1, Watched: []string{links.DefaultPredicate}})
	if err != nil {
		t.Fatal(err)
	}
	if graph, err = nodelinks.Open(db, nodelinks.Options{}); err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(db, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	api, err := server.New(db, server.Options{Engine: e, Links: graph})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(api)
	return srv.URL, graph, func() {
		http.DefaultClient.CloseIdleConnections()
		srv.Close()
		if err := graph.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// taken waits until a graph has all that was committed.
func taken(t *testing.T, graph *nodelinks.Graph) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		s, err := graph.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !s.Loading {
			return
		}
		<-tick.C
	}
}

// servedEdges returns what the links commands print of all pages, as a plain graph.
func servedEdges(t *testing.T, url, flag string) map[clitest.Edge]links.Label {
	t.Helper()
	code, pages, stderr := run(t, "", "links", "pages", "--to", url)
	if code != exitDone {
		t.Fatal(stderr)
	}
	var names strings.Builder
	for line := range strings.Lines(pages) {
		_, name, _ := strings.Cut(line, "\t")
		names.WriteString(name)
	}
	if names.Len() == 0 {
		return map[clitest.Edge]links.Label{}
	}
	code, text, stderr := run(t, names.String(), "links", "get", flag, "--to", url)
	if code != exitDone {
		t.Fatal(stderr)
	}
	all := make(map[clitest.Edge]links.Label)
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		label := cell.NoLabel
		if len(fields) > 2 {
			if _, err := fmt.Sscan(fields[2], &label.Weight); err != nil {
				t.Fatal(err)
			}
		}
		if len(fields) > 3 {
			label.Anchor = fields[3]
		}
		all[clitest.Edge{fields[0], fields[1]}] = label
	}
	return all
}

// What is loaded and updated, through a server or into its directory while it is
// away, is the graph that the links commands print.
func TestLinksServer(t *testing.T) {
	r := newRand(t)
	dir := t.TempDir()
	data := filepath.Join(dir, "store")
	graph := make(map[clitest.Edge]links.Label)
	lists := 120
	if testing.Short() {
		lists = 40
	}
	pages := func(n int) []string {
		var files []string
		for _, text := range randomPages(r, 2, lists, graph) {
			files = append(files, newFile(t, dir, fmt.Sprintf("%d-%d.pages", n, len(files)), text))
		}
		return files
	}
	compare := func(url string, served *nodelinks.Graph) {
		t.Helper()
		taken(t, served)
		clitest.SameLinks(t, servedEdges(t, url, "--labels"), graph)
		bare := make(map[clitest.Edge]links.Label)
		for e := range graph {
			bare[e] = cell.NoLabel
		}
		clitest.SameLinks(t, servedEdges(t, url, "--backward"), bare)
	}
	must := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := run(t, "", args...)
		if code != exitDone {
			t.Fatalf("%q: %d %s%s", args, code, stdout, stderr)
		}
		return stdout
	}

	url, served, stop := serveLinks(t, data)
	must(append([]string{"load", "--links", "--to", url}, pages(1)...)...) // in bulk
	compare(url, served)
	must(append([]string{"load", "--links", "--to", url}, pages(2)...)...) // as updates
	compare(url, served)
	edges := newFile(t, dir, "a.edges", "x:p1\tx:new\t2.5\tsome text\nx:new\tx:p1\n")
	must("load", "--links", "--to", url, edges)
	graph[clitest.Edge{"x:p1", "x:new"}], graph[clitest.Edge{"x:new", "x:p1"}] = links.Label{Weight: 2.5, Anchor: "some text"}, cell.NoLabel
	compare(url, served)
	uid, _, _ := strings.Cut(must("links", "pages", "--limit", "1", "--to", url), "\t")
	page := must("links", "url", "--to", url, uid)
	stop()

	must(append([]string{"load", "--links", "--data", data}, pages(3)...)...)
	url, served, stop = serveLinks(t, data)
	defer stop()
	taken(t, served)
	delete(graph, clitest.Edge{"x:p1", "x:new"}) // if its page has a new list; else it is there
	got := servedEdges(t, url, "--labels")
	delete(got, clitest.Edge{"x:p1", "x:new"})
	clitest.SameLinks(t, got, graph)
	if again := must("links", "url", "--to", url, uid); again != page {
		t.Errorf("UID %s was of %q and is of %q", uid, page, again)
	}
	must("links", "update", "--delete", "--to", url, edges)
	delete(graph, clitest.Edge{"x:new", "x:p1"})
	compare(url, served)
	if stats := must("links", "stats", "--to", url); !strings.Contains(stats, fmt.Sprintf("links\t%d\n", len(graph))) {
		t.Errorf("%d links:\n%s", len(graph), stats)
	}
}

// The commands that rank, over a server.
func TestLinksServerRank(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	code, web, stderr := run(t, "", "generate", "--links", "--pages", "400", "--seed", "3")
	if code != exitDone {
		t.Fatal(stderr)
	}
	loadLinks(t, exitDone, web, data, "-")
	url, graph, stop := serveLinks(t, data)
	defer stop()
	taken(t, graph)
	first := strings.Fields(strings.SplitN(web, "\n", 3)[1])
	for _, args := range []string{"rank " + first[0] + " " + first[1], "rank --algorithm hits -a 3 -b 3 --class inter-host " + first[0],
		"sample -n 3 " + first[0], "degree " + first[0], "pagerank start --watch", "rank --algorithm pagerank --top 1 " + first[0] + " " + first[1]} {
		code, stdout, stderr := run(t, "", append(append([]string{"links"}, strings.Fields(args)...), "--to", url)...)
		if code != exitDone || stdout == "" {
			t.Errorf("%s: %d\n%s%s", args, code, stdout, stderr)
		}
	}
}
