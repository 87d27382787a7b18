// Links commands on a graph in memory.

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/linkstest"
)

// runLinks runs a command line with a graph of links in place of a server's.
func runLinks(t *testing.T, g links.Graph, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, messages bytes.Buffer
	e := &console.Env{Ctx: t.Context(), Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &messages, Links: g}
	code = runIn(e, args)
	return code, out.String(), messages.String()
}

// letters is the graph of M. Najork, The Scalable Hyperlink Store (HT 2009), and a
// page elsewhere.
func letters(t *testing.T) (*linkstest.Graph, map[string]string) {
	t.Helper()
	const site = "http://www.letters.org/"
	g := linkstest.New()
	_, err := g.Update(t.Context(), []links.Change{
		{Source: site, Targets: []string{site + "alep"}, Labels: []links.Label{{Weight: 2.5, Anchor: "the\tfirst"}}},
		{Source: site + "alep", Targets: []string{site}},
		{Source: site + "aleph", Targets: []string{site, site + "alep"}},
		{Source: site + "alif", Targets: []string{site, site + "alep"}},
		{Source: site + "alpha", Targets: []string{site, site + "aleph", "http://else.example/"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	uids := make(map[string]string)
	for _, url := range []string{site, site + "alep", site + "aleph", site + "alif", site + "alpha", "http://else.example/"} {
		found, err := g.UIDs(t.Context(), []string{url})
		if err != nil || found[0] == 0 {
			t.Fatalf("%s: %v, %v", url, found, err)
		}
		uids[url] = found[0].String()
	}
	return g, uids
}

func TestLinksCommands(t *testing.T) {
	const site = "http://www.letters.org/"
	g, uids := letters(t)
	alpha := uids[site+"alpha"]
	for _, test := range []struct {
		stdin, args, want, stderr string
	}{
		{"", "uid " + site + " http://nowhere.example/", site + "\t" + uids[site] + "\nhttp://nowhere.example/\t0\n", ""},
		{site + "\n\n" + site + "alif\n", "uid", site + "\t" + uids[site] + "\n" + site + "alif\t" + uids[site+"alif"] + "\n", ""},
		{"", "uid --json " + site, `{"url":"` + site + `","uid":"` + uids[site] + "\"}\n", ""},
		{alpha, "url 1125900175278179 -", "1125900175278179\t\n" + alpha + "\t" + site + "alpha\n", ""},
		{"", "get " + site + "aleph", site + "aleph\t" + site + "\n" + site + "aleph\t" + site + "alep\n", ""},
		{"", "get --backward " + uids[site+"aleph"], site + "alpha\t" + site + "aleph\n", ""},
		{"", "get --uids " + site + "alep", uids[site+"alep"] + "\t" + uids[site] + "\n", ""},
		{"", "get --labels " + site, site + "\t" + site + "alep\t2.5\tthe first\n", ""},
		{"", "get --json --labels " + site, `{"page":"` + site + `","links":[{"page":"` + site + `alep","weight":2.5,"anchor":"the\tfirst"}]}` + "\n", ""},
		{"", "get http://nowhere.example/", "", "1 page is not known"},
		{"", "get --json http://nowhere.example/", `{"page":"http://nowhere.example/","links":[]}` + "\n", "1 page is not known"},
		{"", "sample -n 5 --class inter-host " + site + "alpha", site + "alpha\thttp://else.example/\n", ""},
		{"", "sample -n 0 " + site + "alpha", "", ""},
		{"", "sample -n 9 --random --seed 7 --backward " + site + "aleph", site + "alpha\t" + site + "aleph\n", ""},
		{"", "degree " + site + " " + uids[site+"alpha"], site + "\t1\t4\n" + uids[site+"alpha"] + "\t3\t0\n", ""},
		{"", "degree --json " + site, `{"page":"` + site + `","out":1,"in":4}` + "\n", ""},
		{"", "pages --uids --limit 0", "", ""},
		{"", "pagerank status", "", "trefoil links pagerank start begins one"},
	} {
		code, stdout, stderr := runLinks(t, g, test.stdin, append([]string{"links"}, strings.Fields(test.args)...)...)
		if test.args == "pages --uids --limit 0" { // no limit
			if code != exitDone || strings.Count(stdout, "\n") != len(uids) {
				t.Errorf("%s: %d\n%s%s", test.args, code, stdout, stderr)
			}
			continue
		}
		failed := test.args == "pagerank status"
		if failed != (code == exitFailed) || !failed && code != exitDone || stdout != test.want || !strings.Contains(stderr, test.stderr) || test.stderr == "" && stderr != "" {
			t.Errorf("%s: code %d\n%s%s\nwant\n%s", test.args, code, stdout, stderr, test.want)
		}
	}
}

// What get prints is a file of edges, which makes the same graph again.
func TestLinksRoundTrip(t *testing.T) {
	g, uids := letters(t)
	var pages strings.Builder
	for url := range uids {
		pages.WriteString(url + "\n")
	}
	for _, args := range [][]string{{"links", "get", "--labels"}, {"links", "get", "--backward"}, {"links", "get", "--backward", "--labels"}} {
		_, edges, _ := runLinks(t, g, pages.String(), args...)
		other := linkstest.New()
		code, _, stderr := runLinks(t, other, edges, "links", "update", "--format", "edges", "-")
		if code != exitDone || !strings.Contains(stderr, "added 9 links, deleted 0, 6 pages new") {
			t.Fatalf("%d %s", code, stderr)
		}
		_, again, _ := runLinks(t, other, pages.String(), args...)
		if sortLines(again) != sortLines(edges) || strings.Count(edges, "\n") != 9 {
			t.Errorf("%q:\n%s\nand again\n%s", args, edges, again)
		}
	}
}

func sortLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func TestLinksPages(t *testing.T) {
	g := linkstest.New()
	const n = 2500
	change := links.Change{Source: "http://a.example/"}
	for i := range n {
		change.Targets = append(change.Targets, fmt.Sprintf("http://a.example/%d", i))
	}
	if _, err := g.Update(t.Context(), []links.Change{change}); err != nil {
		t.Fatal(err)
	}
	code, all, stderr := runLinks(t, g, "", "links", "pages")
	if code != exitDone || strings.Count(all, "\n") != n+1 {
		t.Fatalf("%d %s", code, stderr)
	}
	lines := strings.SplitAfter(all, "\n")
	uid, _, _ := strings.Cut(lines[9], "\t")
	if _, some, _ := runLinks(t, g, "", "links", "pages", "--after", uid, "--limit", "7"); some != strings.Join(lines[10:17], "") {
		t.Errorf("7 pages after %s:\n%s", uid, some)
	}
	// More pages than are asked about at once, of which each has many links.
	if _, list, _ := runLinks(t, g, strings.Repeat("http://a.example/\n", 3)+strings.Repeat("http://a.example/1\n", 2*1000), "links", "get", "--uids"); strings.Count(list, "\n") != 3*n {
		t.Errorf("%d links, want %d", strings.Count(list, "\n"), 3*n)
	}
}

func TestLinksStats(t *testing.T) {
	g, uids := letters(t)
	code, stdout, _ := runLinks(t, g, "", "links", "stats")
	for _, want := range []string{"pages\t6\n", "links\t9\n", "max out-degree\t3\n", "max in-degree\t4\n", "servers\t1\n"} {
		if code != exitDone || !strings.Contains(stdout, want) {
			t.Errorf("%q is missing:\n%s", want, stdout)
		}
	}
	code, stdout, _ = runLinks(t, g, "", "links", "stats", "--json")
	var s links.Stats
	if err := json.Unmarshal([]byte(stdout), &s); code != exitDone || err != nil || s.Pages != int64(len(uids)) || s.MaxIn != 4 {
		t.Errorf("%v: %s", err, stdout)
	}
}

func TestLinksStores(t *testing.T) {
	g, _ := letters(t)
	code, stdout, _ := runLinks(t, g, "", "links", "stores", "--relinquish", "backward,urls", "--request", "forward")
	if code != exitDone || g.Loaded() != links.ForwardStore || stdout != "urls\t0\t0\t0\t0\nforward\t0\t0\t0\t0\nbackward\t0\t0\t0\t0\n" {
		t.Errorf("%d, %s:\n%s", code, g.Loaded(), stdout)
	}
	code, stdout, _ = runLinks(t, g, "", "links", "stores", "--request", "urls", "--json")
	var all []links.ServerStores
	if err := json.Unmarshal([]byte(stdout), &all); code != exitDone || err != nil || len(all) != 1 || all[0].Relinquished != links.BackwardStore {
		t.Errorf("%v: %s", err, stdout)
	}
}

func TestLinksRank(t *testing.T) {
	const site = "http://www.letters.org/"
	g, uids := letters(t)
	code, stdout, stderr := runLinks(t, g, "", "links", "rank", "-a", "5", "-b", "5", site, site+"alep", site+"aleph")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != exitDone || len(lines) != 3 || !strings.HasSuffix(lines[0], "\t"+site) {
		t.Fatalf("%d\n%s%s", code, stdout, stderr)
	}
	_, hits, _ := runLinks(t, g, site+"\n"+uids[site+"alif"]+"\nhttp://nowhere.example/", "links", "rank", "--algorithm", "hits", "--hubs", "--all", "--uids", "--top", "2")
	if strings.Count(hits, "\n") != 2 || strings.Contains(hits, "http") {
		t.Errorf("hubs:\n%s", hits)
	}
	_, text, _ := runLinks(t, g, "", "links", "rank", "--json", "--class", "inter-host", site+"alpha")
	var r struct {
		Authorities     []any
		Vertices, Edges int
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil || len(r.Authorities) != 1 || r.Edges != 1 || r.Vertices != 2 {
		t.Errorf("%v: %s", err, text)
	}
	// alpha links to alef with weight 3, and to bet with 1.
	change := links.Change{Source: site + "alpha", Targets: []string{site + "alef", site + "bet"}, Labels: []links.Label{{Weight: 3}, {Weight: 1}}}
	if _, err := g.Update(t.Context(), []links.Change{change}); err != nil {
		t.Fatal(err)
	}
	_, text, _ = runLinks(t, g, "", "links", "rank", "--weighted", "-a", "5", "-b", "0", site+"alef", site+"bet")
	if !strings.HasPrefix(text, "0.75\t"+site+"alef\n") {
		t.Errorf("with weights: %s", text)
	}
	for _, args := range []string{"--algorithm best " + site, "--class none " + site, "-a -1 " + site, "--algorithm pagerank --hubs " + site, "--algorithm pagerank --weighted " + site} {
		if code, _, stderr := runLinks(t, g, "", append([]string{"links", "rank"}, strings.Fields(args)...)...); code != exitUsage {
			t.Errorf("%s: %d %s", args, code, stderr)
		}
	}
}

func TestLinksLabel(t *testing.T) {
	const site = "http://www.letters.org/"
	g, _ := letters(t)
	for _, step := range []struct{ args, want string }{
		{"--weight 2.5 --text home " + site, ""},
		{"--text other " + site + "aleph http://new.example/", ""},
		{site + " " + site + "alep " + site + "aleph http://new.example/", site + "\t2.5\thome\n" + site + "aleph\t1\tother\nhttp://new.example/\t1\tother\n"},
		{"--remove " + site, ""},
		{"--json " + site + " " + site + "aleph", `{"page":"` + site + `"}` + "\n" + `{"page":"` + site + `aleph","weight":1,"text":"other"}` + "\n"},
	} {
		code, stdout, stderr := runLinks(t, g, "", append([]string{"links", "label"}, strings.Fields(step.args)...)...)
		if code != exitDone || stdout != step.want {
			t.Errorf("%s: %d\n%s%s\nwant %s", step.args, code, stdout, stderr, step.want)
		}
	}
	for _, args := range []string{"--remove --text x " + site, "--weight 1 " + site} {
		if code, _, stderr := runLinks(t, g, "", append([]string{"links", "label"}, strings.Fields(args)...)...); code != exitUsage {
			t.Errorf("%s: %d %s", args, code, stderr)
		}
	}
}

func TestLinksPageRank(t *testing.T) {
	g, _ := letters(t)
	g.HoldJobs = true
	step := func(want int, says string, args ...string) {
		t.Helper()
		code, stdout, stderr := runLinks(t, g, "", append([]string{"links", "pagerank"}, args...)...)
		if code != want || !strings.Contains(stdout+stderr, says) {
			t.Errorf("%q: %d, want %d and %q\n%s%s", args, code, want, says, stdout, stderr)
		}
	}
	step(exitDone, "PageRank has begun", "start", "--damping", "0.5")
	step(exitFailed, "pagerank status shows it, and stop ends it", "start")
	step(exitDone, "running: round", "status")
	step(exitDone, `"state":"running"`, "status", "--json")
	step(exitDone, "", "stop")
	step(exitFailed, "been stopped", "status", "--watch")
	step(exitDone, "begun", "start")
	g.FinishJob()
	step(exitDone, "done: round", "status", "--watch")
	if code, stdout, stderr := runLinks(t, g, "", "links", "rank", "--algorithm", "pagerank", "http://www.letters.org/"); code != exitDone || strings.Count(stdout, "\n") != 1 {
		t.Errorf("%d %s%s", code, stdout, stderr)
	}
	// Watching ends when it is told to.
	step(exitDone, "begun", "start")
	ctx, cancel := context.WithCancel(t.Context())
	e := &console.Env{Ctx: ctx, Stdin: strings.NewReader(""), Stdout: &drain{n: soon() - 1, meanwhile: cancel}, Stderr: &bytes.Buffer{}, Links: g}
	if code := runIn(e, []string{"links", "pagerank", "status", "--watch"}); code != exitFailed {
		t.Errorf("interrupted: %d", code)
	}
}

func TestLinksErrors(t *testing.T) {
	g, _ := letters(t)
	for _, test := range []struct {
		err  error
		hint string
	}{
		{links.ErrLoading, "trefoil links stats"},
		{fmt.Errorf("oh: %w", links.ErrEpoch), "ask again"},
	} {
		g.Fail(test.err)
		for _, args := range []string{"uid x:a", "url 1125900175278179", "get x:a", "sample -n 1 x:a", "degree x:a", "stats", "stores", "stores --relinquish forward", "stores --request urls", "pages", "rank x:a", "pagerank start", "pagerank stop"} {
			code, _, stderr := runLinks(t, g, "", append([]string{"links"}, strings.Fields(args)...)...)
			if code != exitFailed || !strings.Contains(stderr, test.err.Error()) || !strings.Contains(stderr, test.hint) {
				t.Errorf("%s: %d %s", args, code, stderr)
			}
		}
	}
	g.Fail(nil)
	for _, args := range []string{"url x", "sample x:a", "sample -n 1 --class x x:a", "sample -n 1 --random --consistent x:a",
		"stores --request sideward", "stores --request urls --relinquish backward,urls", "update", "update --format x -", "update --rejects f -", "get 99999999999999999999999"} {
		if code, _, stderr := runLinks(t, g, "", append([]string{"links"}, strings.Fields(args)...)...); code != exitUsage && args != "get 99999999999999999999999" {
			t.Errorf("%s: %d %s", args, code, stderr)
		}
	}
}

func TestLinksUpdate(t *testing.T) {
	g := linkstest.New()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	list := func(page string) string {
		_, stdout, _ := runLinks(t, g, "", "links", "get", "--labels", page)
		return stdout
	}
	update := func(want int, says string, args ...string) {
		t.Helper()
		code, stdout, stderr := runLinks(t, g, "", append([]string{"links", "update"}, args...)...)
		if code != want || !strings.Contains(stdout+stderr, says) {
			t.Errorf("%q: %d, want %d and %q\n%s%s", args, code, want, says, stdout, stderr)
		}
	}
	update(exitDone, "added 3 links, deleted 0, 4 pages new", file("a.edges", "x:a\tx:b\t3\nx:a\tx:c\nx:c\tx:d\t1\tsome text\n"))
	if got := list("x:a"); got != "x:a\tx:b\t3\nx:a\tx:c\n" && got != "x:a\tx:c\nx:a\tx:b\t3\n" {
		t.Errorf("got %q", got)
	}
	if got := list("x:c"); got != "x:c\tx:d\t1\tsome text\n" {
		t.Errorf("got %q", got)
	}
	// A page's whole list comes in the place of the earlier one, here twice.
	update(exitDone, "deleted 3", file("b.pages", "x:a\tx:d\nx:a\tx:e\tx:f\n"))
	if got := list("x:a"); strings.Count(got, "\n") != 2 || !strings.Contains(got, "x:e\n") || !strings.Contains(got, "x:f\n") {
		t.Errorf("got %q", got)
	}
	update(exitDone, "added 0 links, deleted 1", "--delete", file("c.lists", "x:a\tx:e\tx:zzz\n"))
	update(exitUsage, "of whole pages", "--delete", file("d.pages", "x:a\n"))
	update(exitDone, `"deleted":1`, "--json", file("d.pages", "x:a\n"))
	if got := list("x:a"); got != "" {
		t.Errorf("got %q", got)
	}
	bad := file("bad.edges", "x:q\tx:r\nno line\nx:q\tx:s\n")
	update(exitFailed, "bad.edges:2:", bad)
	update(exitRejected, "1 malformed statement left out", "--keep-going", "--rejects", filepath.Join(dir, "rejects"), bad)
	if text, err := os.ReadFile(filepath.Join(dir, "rejects")); err != nil || !strings.Contains(string(text), "bad.edges:2:") || !strings.Contains(string(text), "\nno line\n") {
		t.Errorf("%v: %s", err, text)
	}
	if got := list("x:q"); strings.Count(got, "\n") != 2 {
		t.Errorf("got %q", got)
	}
	update(exitFailed, "Name it with --format", file("unknown", "x:a\tx:b\tx:c\n"))
}

// A change that a reader makes: what comes twice is in the order of the file, and
// labels fit their links.
func TestLabelOf(t *testing.T) {
	g := linkstest.New()
	text := "x:a\tx:b\nx:a\tx:c\t1e999\nx:a\tx:d\t-2e-1\t" + strings.Repeat("t", 2<<20) + "\nx:a\tx:e\t1\n"
	if code, _, stderr := runLinks(t, g, text, "links", "update", "--format", "edges", "-"); code != exitDone {
		t.Fatal(stderr)
	}
	pages, err := g.UIDs(t.Context(), []string{"x:a", "x:b", "x:c", "x:d", "x:e"})
	if err != nil {
		t.Fatal(err)
	}
	targets, err := g.Links(t.Context(), links.Forward, pages[:1])
	if err != nil {
		t.Fatal(err)
	}
	all, err := g.Labels(t.Context(), links.Forward, pages[:1])
	if err != nil {
		t.Fatal(err)
	}
	for i, target := range targets.Items {
		label := all.Items[i]
		switch target {
		case pages[1], pages[4]:
			if label != cell.NoLabel {
				t.Errorf("%v", label)
			}
		case pages[2]:
			if label.Weight != math.MaxFloat64 {
				t.Errorf("%v", label)
			}
		case pages[3]:
			if label.Weight != -0.2 || len(label.Anchor) != 1<<20 {
				t.Errorf("%v, %d bytes", label.Weight, len(label.Anchor))
			}
		}
	}
}
