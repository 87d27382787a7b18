// Loads of link files: formats, whole pages, labels and resuming.

package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/testing/clitest"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/testing/serving"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/triple"
)

// newFile writes a file, compressed where its name says it.
func newFile(t testing.TB, dir, name, text string) string {
	t.Helper()
	data := []byte(text)
	if strings.HasSuffix(name, ".gz") {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		data = b.Bytes()
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func plain(edges ...clitest.Edge) map[clitest.Edge]links.Label {
	all := make(map[clitest.Edge]links.Label)
	for _, e := range edges {
		all[e] = cell.NoLabel
	}
	return all
}

// loadLinks runs load --links into a directory.
func loadLinks(t *testing.T, want int, stdin, data string, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := run(t, stdin, append([]string{"load", "--links", "--data", data}, args...)...)
	if code != want {
		t.Fatalf("%q: code %d, want %d\n%s%s", args, code, want, stdout, stderr)
	}
	return stdout, stderr
}

func TestLoadLinks(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "store")
	edges := newFile(t, dir, "a.edges.gz", "x:a\tx:b\nx:a\tx:c\t2\tc text\nnothing\nx:a\tx:b\n")
	nt := newFile(t, dir, "b.nt", "<x:b> <urn:trefoil:linksTo> <x:d> .\n<x:b> <x:p> <x:e> .\n")
	stdout, stderr := loadLinks(t, exitFailed, "", data, edges, nt)
	if !strings.Contains(stderr, "a.edges.gz:3:") || !strings.Contains(stderr, "--keep-going") {
		t.Errorf("%s%s", stdout, stderr)
	}
	stdout, _ = loadLinks(t, exitRejected, "", data, "--keep-going", "--rejects", filepath.Join(dir, "rejects"), edges, nt)
	for _, want := range []string{"read       4\n", "new        3\n", "duplicate  1\n", "rejected   1\n", "no links   1\n", "labels     1\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing:\n%s", want, stdout)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "rejects")); err != nil || strings.Count(string(text), "a.edges.gz:3:") != 1 {
		t.Errorf("%v: %s", err, text)
	}
	want := plain(clitest.Edge{"x:a", "x:b"}, clitest.Edge{"x:b", "x:d"})
	want[clitest.Edge{"x:a", "x:c"}] = links.Label{Weight: 2, Anchor: "c text"}
	clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), want)

	// More links, from standard input; a label in the place of another.
	stdout, _ = loadLinks(t, exitDone, "x:a\tx:c\t5\nx:z\tx:a\n", data, "--format", "edges", "--json", "-")
	if !strings.Contains(stdout, `"new":1`) || !strings.Contains(stdout, `"labels":1`) {
		t.Error(stdout)
	}
	want[clitest.Edge{"x:a", "x:c"}], want[clitest.Edge{"x:z", "x:a"}] = links.Label{Weight: 5}, cell.NoLabel
	clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), want)

	// Another predicate, without labels.
	loadLinks(t, exitDone, "", data, "--link-predicate", "<x:to>", "--no-labels", "--format", "edges", newFile(t, dir, "c", "x:a\tx:c\t7\n"))
	clitest.SameLinks(t, clitest.StoredLinks(t, data, "x:to"), plain(clitest.Edge{"x:a", "x:c"}))
	clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), want)
	if _, err := os.Stat(filepath.Join(data, "loads", "links.json")); !os.IsNotExist(err) {
		t.Errorf("a state is left: %v", err)
	}
	// A predicate that no statement has.
	if _, stderr := loadLinks(t, exitDone, "", data, "--nt-predicate", "x:none", nt); !strings.Contains(stderr, "--nt-predicate, x:none") {
		t.Error(stderr)
	}
	loadLinks(t, exitDone, "", data, "--nt-predicate", "*", nt)
	want[clitest.Edge{"x:b", "x:e"}] = cell.NoLabel
	clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), want)
}

func TestLoadLinksUsage(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	file := newFile(t, t.TempDir(), "a.edges", "x:a\tx:b\n")
	for _, args := range []string{"--format edges", "--no-labels", "--link-predicate x:p", "--links --from nt", "--links --base x:a", "--links --graph x:g",
		"--links --format best", "--links --link-predicate none", "--links --nt-predicate none", "--links --max-line 3GiB"} {
		if code, _, stderr := run(t, "", append(append([]string{"load", "--data", data}, strings.Fields(args)...), file)...); code != exitUsage {
			t.Errorf("%s: %d %s", args, code, stderr)
		}
	}
	if code, _, stderr := run(t, "x:a\tx:b\tx:c\n", "load", "--links", "--data", data, "-"); code != exitFailed || !strings.Contains(stderr, "Name it with --format") {
		t.Errorf("%d %s", code, stderr)
	}
}

// Whole pages: the last list of a page counts, in the order of the files, in one
// load or in two, and whether a page comes in bulk or as an update.
func TestLoadLinksPages(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "store")
	one := newFile(t, dir, "1.pages", "x:a\tx:b\tx:c\nx:q\tx:r\nx:a\tx:c\tx:d\n")
	two := newFile(t, dir, "2.pages.gz", "x:q\nx:s\tx:a\tx:a\tx:s\n")
	stdout, _ := loadLinks(t, exitDone, "", data, one, two)
	want := plain(clitest.Edge{"x:a", "x:c"}, clitest.Edge{"x:a", "x:d"}, clitest.Edge{"x:s", "x:a"}, clitest.Edge{"x:s", "x:s"})
	clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), want)
	if !strings.Contains(stdout, "new        4\n") || strings.Contains(stdout, "deleted") {
		t.Error(stdout)
	}
	stdout, _ = loadLinks(t, exitDone, "", data, newFile(t, dir, "3.pages", "x:a\tx:d\tx:e\nx:s\n"))
	delete(want, clitest.Edge{"x:a", "x:c"})
	delete(want, clitest.Edge{"x:s", "x:a"})
	delete(want, clitest.Edge{"x:s", "x:s"})
	want[clitest.Edge{"x:a", "x:e"}] = cell.NoLabel
	clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), want)
	if !strings.Contains(stdout, "deleted    3\n") || !strings.Contains(stdout, "new        1\n") {
		t.Error(stdout)
	}
	// Files of both kinds are taken in their order, in an empty store too.
	data = filepath.Join(dir, "mixed")
	loadLinks(t, exitDone, "", data, newFile(t, dir, "4.edges", "x:a\tx:y\t4\nx:b\tx:y\t4\n"), one)
	want = plain(clitest.Edge{"x:a", "x:c"}, clitest.Edge{"x:a", "x:d"}, clitest.Edge{"x:q", "x:r"})
	want[clitest.Edge{"x:b", "x:y"}] = links.Label{Weight: 4}
	clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), want)
}

const watHead = "WARC/1.0\r\nWARC-Type: metadata\r\nWARC-Target-URI: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"

// watRecord is a record of a WAT file, of a page whose links have texts.
func watRecord(page string, targets ...string) string {
	var list []string
	for _, target := range targets {
		list = append(list, fmt.Sprintf(`{"path":"A@/href","url":%q,"text":"to %s"}`, target, target))
	}
	block := `{"Envelope":{"WARC-Header-Metadata":{"WARC-Type":"response","WARC-Target-URI":"` + page + `"},"Payload-Metadata":{"HTTP-Response-Metadata":{` +
		`"Response-Message":{"Status":"200"},"HTML-Metadata":{"Links":[` + strings.Join(list, ",") + `]}}}}}`
	return fmt.Sprintf(watHead, page, len(block)) + block + "\r\n\r\n"
}

// The texts of links of WAT files are labels; those of lists that are not the last
// of their page are not.
func TestLoadLinksWAT(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "store")
	file := newFile(t, dir, "crawl.wat", watRecord("http://a.example/", "/old", "/both")+watRecord("http://b.example/", "http://a.example/")+watRecord("http://a.example/", "/new"))
	loadLinks(t, exitDone, "", data, file)
	label := func(text string) links.Label { return links.Label{Weight: 1, Anchor: "to " + text} }
	want := map[clitest.Edge]links.Label{{"http://a.example/", "http://a.example/new"}: label("/new"), {"http://b.example/", "http://a.example/"}: label("http://a.example/")}
	clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), want)
	loadLinks(t, exitDone, "", data, newFile(t, dir, "next.wat", watRecord("http://b.example/", "/x")))
	delete(want, clitest.Edge{"http://b.example/", "http://a.example/"})
	want[clitest.Edge{"http://b.example/", "http://b.example/x"}] = label("/x")
	clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), want)
}

// randomPages writes files of whole pages, and returns what they make one after the
// other of a graph.
func randomPages(r *rand.Rand, files, lines int, graph map[clitest.Edge]links.Label) []string {
	texts := make([]string, files)
	for i := range texts {
		var b strings.Builder
		b.WriteString("# links: pages\n")
		for range lines {
			src := fmt.Sprintf("x:p%d", r.IntN(lines))
			b.WriteString(src)
			maps.DeleteFunc(graph, func(e clitest.Edge, _ links.Label) bool { return e[0] == src })
			for range r.IntN(4) {
				dst := fmt.Sprintf("x:p%d", r.IntN(lines))
				b.WriteString("\t" + dst)
				graph[clitest.Edge{src, dst}] = cell.NoLabel
			}
			b.WriteByte('\n')
		}
		texts[i] = b.String()
	}
	return texts
}

var newRand = seed.Rand

func TestLoadLinksRandomPages(t *testing.T) {
	r := newRand(t)
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for round := range rounds {
		dir := t.TempDir()
		data := filepath.Join(dir, "store")
		graph := make(map[clitest.Edge]links.Label)
		for range 2 { // in bulk, then as updates
			var files []string
			for i, text := range randomPages(r, 3, 200, graph) {
				files = append(files, newFile(t, dir, fmt.Sprintf("%d-%d.gz", round, i), text))
			}
			loadLinks(t, exitDone, "", data, files...)
			clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), graph)
		}
	}
}

// Through a server, links go to its bulk loader, and labels and whole pages to its
// graph of links.
func TestLoadLinksTo(t *testing.T) {
	db := storetest.Open(t)
	to := serving.Serve(t, db, server.Options{})
	dir := t.TempDir()
	g := linkstest.New()
	load := func(want int, says string, args ...string) {
		t.Helper()
		code, stdout, stderr := runLinks(t, g, "", append([]string{"load", "--links", "--to", to}, args...)...)
		if code != want || !strings.Contains(stdout+stderr, says) {
			t.Errorf("%q: %d, want %d and %q\n%s%s", args, code, want, says, stdout, stderr)
		}
	}
	count := func(p triple.Pattern) int64 {
		c, err := client.New(to, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		n, err := c.Count(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	pattern := triple.Pattern{Predicate: triple.NewIRI(links.DefaultPredicate), DefaultGraph: true}
	// Whole pages into a store without links are loaded in bulk, once each.
	pages := newFile(t, dir, "a.pages", "x:a\tx:b\tx:c\nbad\tx:c\nx:a\tx:d\n")
	load(exitFailed, "a.pages:2:", pages)
	if n := count(pattern); n != 0 {
		t.Errorf("%d links", n)
	}
	load(exitRejected, "new        1\n", "--keep-going", "--rejects", filepath.Join(dir, "rejects"), pages)
	if text, err := os.ReadFile(filepath.Join(dir, "rejects")); err != nil || !strings.Contains(string(text), "a.pages:2:") {
		t.Errorf("%v: %s", err, text)
	}
	if n := count(pattern); n != 1 {
		t.Errorf("%d links, want 1", n)
	}
	// Later ones replace, by the graph.
	load(exitDone, "new        2\n", newFile(t, dir, "b.pages", "x:a\tx:e\tx:f\n"))
	if _, got, _ := runLinks(t, g, "", "links", "get", "x:a"); strings.Count(got, "\n") != 2 {
		t.Errorf("got %q", got)
	}
	// Edges are added in bulk, and their labels noted by the graph.
	edges := newFile(t, dir, "c.edges", "x:m\tx:n\t2.5\tsome text\nx:m\tx:o\n")
	load(exitDone, "labels     1\n", edges)
	load(exitDone, "bytes      30 B\n", edges) // those of the file, not of the N-Triples that the server gets
	if n := count(pattern); n != 3 {
		t.Errorf("%d links, want 3", n)
	}
	if _, got, _ := runLinks(t, g, "", "links", "get", "--labels", "x:m"); got != "x:m\tx:n\t2.5\tsome text\n" {
		t.Errorf("got %q", got)
	}
}

// A load that is told to end says what is in the store.
func TestLoadLinksInterrupted(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	loadLinks(t, exitDone, "x:a\tx:b\n", data, "--format", "edges", "-")
	ctx, stop := context.WithCancel(t.Context())
	e := &console.Env{Ctx: ctx, Stdin: &forever{text: []byte("x:a\tx:c\n"), meanwhile: stop}, Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}
	if code := runIn(e, []string{"load", "--links", "--format", "pages", "--data", data, "-"}); code != exitFailed || !strings.Contains(fmt.Sprint(e.Stderr), "interrupted") {
		t.Errorf("%d %v", code, e.Stderr)
	}
	// One that is in the midst of updates.
	file := newFile(t, t.TempDir(), "a.pages", strings.Repeat("x:a\tx:c\nx:a\tx:d\n", 50))
	ctx, stop = context.WithCancel(t.Context())
	lines := &stopAfter{stop: stop}
	e = &console.Env{Ctx: ctx, Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: lines}
	if code := runIn(e, []string{"load", "--links", "--data", data, file}); code != exitFailed || !strings.Contains(lines.String(), "interrupted\n  The pages before that are in the store") {
		t.Errorf("%d %v", code, lines)
	}
}

// stopAfter is a standard error that calls stop at the first line of progress.
type stopAfter struct {
	bytes.Buffer
	stop func()
}

func (s *stopAfter) Write(p []byte) (int, error) {
	s.stop()
	return s.Buffer.Write(p)
}

// TestGenerateOutput checks that a generated file has the syntax of its name, and can be loaded under it.
func TestGenerateOutput(t *testing.T) {
	dir := t.TempDir()
	for kind, name := range map[string]string{"library": "l.nq.gz", "lubm": "l.nt"} {
		file, data := filepath.Join(dir, name), filepath.Join(dir, kind)
		want(t, exitDone, "", "generate", "--kind", kind, "--triples", "300", "--output", file)
		want(t, exitDone, "new        300", "load", "--data", data, file)
	}
	want(t, exitUsage, "--kind library is written as N-Quads", "generate", "--kind", "library", "--triples", "10", "-o", filepath.Join(dir, "x.nt"))
	want(t, exitUsage, ".gz or .zst", "generate", "--triples", "10", "-o", filepath.Join(dir, "x.nt.xz"))
	if _, err := os.Stat(filepath.Join(dir, "x.nt")); !os.IsNotExist(err) {
		t.Errorf("a refused file: %v", err)
	}
	want(t, exitDone, "library is written as N-Quads", "generate", "--help")
}

func TestGenerateLinks(t *testing.T) {
	dir := t.TempDir()
	pages, formats := 300, []string{"edges", "lists", "pages", "nt"}
	if testing.Short() {
		pages, formats = 60, formats[:2]
	}
	var counts []int64
	for _, format := range formats {
		args := []string{"generate", "--links", "--pages", fmt.Sprint(pages), "--hosts", "20", "--seed", "7", "--format", format}
		code, text, stderr := run(t, "", args...)
		_, again, _ := run(t, "", args...)
		if code != exitDone || text != again || text == "" {
			t.Fatalf("%d %s", code, stderr)
		}
		data := filepath.Join(dir, format)
		loadLinks(t, exitDone, "", data, newFile(t, dir, "web."+format, text))
		counts = append(counts, int64(len(clitest.StoredLinks(t, data, links.DefaultPredicate))))
	}
	if counts[0] < int64(pages) || slices.Min(counts) != slices.Max(counts) {
		t.Errorf("links: %d", counts)
	}
	_, few, _ := run(t, "", "generate", "--links", "--pages", "300", "--max-links", "5")
	if n := strings.Count(few, "\t"); n != 5 {
		t.Errorf("%d links, want 5:\n%s", n, few)
	}
	for _, args := range []string{"--links --format wat", "--links --format best", "--links --pages 5G", "--links --pages 5 --hosts 9", "--pages 5"} {
		if code, _, stderr := run(t, "", append([]string{"generate"}, strings.Fields(args)...)...); code != exitUsage {
			t.Errorf("%s: %d %s", args, code, stderr)
		}
	}
}
