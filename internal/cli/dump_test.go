// Tests of the command dump.

package cli

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/clitest"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// annotatedDocument returns a dump of random triples with random annotations.
func annotatedDocument(random *rand.Rand, n int) string {
	var statements []triple.Triple
	for range n {
		s := triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("x:s%d", random.IntN(n))), Predicate: triple.NewIRI("x:p"),
			Object: triple.NewString(strings.Repeat("long ", random.IntN(2)*500) + fmt.Sprint(random.IntN(n)))}
		if random.IntN(4) == 0 {
			// Keys sort long terms by a hash, so a load's labels must not be in them: dumps are compared.
			about := triple.NewBlank("b1")
			if len(s.Object.Value()) > 1000 {
				about = triple.NewIRI("x:b1")
			}
			s.Object = triple.NewTripleTerm(about, triple.NewIRI("x:p"), s.Object)
		}
		if random.IntN(3) == 0 {
			s.Graph = triple.NewIRI(fmt.Sprintf("x:g%d", random.IntN(3)))
		}
		if random.IntN(5) == 0 {
			s.Subject = triple.NewBlank(fmt.Sprintf("b%d", random.IntN(9)))
		}
		statements = append(statements, s)
	}
	slices.SortFunc(statements, triple.SPO.Compare)
	var text []byte
	for _, s := range slices.Compact(statements) {
		var annotations []triple.ApplicationData
		for i := range random.IntN(3) {
			data := make([]byte, []int{0, 5, 30_000}[random.IntN(3)])
			for j := range data {
				data[j] = byte(random.Uint32())
			}
			annotations = append(annotations, triple.ApplicationData{ApplicationID: fmt.Sprintf("%d é%%", i), Data: data})
		}
		text = triple.AppendAnnotated(text, triple.AppendNQuad(nil, s), annotations)
	}
	return triple.AnnotationsHeader + "\n" + string(text)
}

// blankLabels are those that a load gives blank nodes.
var blankLabels = regexp.MustCompile(`_:\S*-`)

// TestDumpRoundTrip: what was loaded or added with annotations is dumped as it was,
// from a directory and through a server, by a pipe into another store.
func TestDumpRoundTrip(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	document := annotatedDocument(rand.New(rand.NewPCG(seed, 0)), 300)
	dir := t.TempDir()
	file := filepath.Join(dir, "in.nq")
	if err := os.WriteFile(file, []byte(document), 0o644); err != nil {
		t.Fatal(err)
	}
	must := func(stdin string, args ...string) string {
		t.Helper()
		code, stdout, stderr := run(t, stdin, args...)
		if code != exitDone {
			t.Fatalf("%q: %d %s", args, code, stderr)
		}
		return stdout
	}
	same := func(how, got string) {
		t.Helper()
		if sortedLines(blankLabels.ReplaceAllString(got, "_:")) != sortedLines(document) {
			t.Errorf("%s: %d bytes are not the %d that were written", how, len(got), len(document))
		}
	}
	url, stop := serveFor(t, filepath.Join(dir, "served"))
	must("", "load", "--to", url, file)
	dump := must("", "dump", "--to", url)
	same("load and dump through a server", dump)
	if plain := must("", "dump", "--to", url, "--no-annotations"); strings.Contains(plain, "#") {
		t.Error("--no-annotations leaves comments")
	}
	must(dump, "load", "--data", filepath.Join(dir, "loaded"), "--from", "nq", "-")
	same("load of a dump", must("", "dump", "--data", filepath.Join(dir, "loaded")))
	must(document, "load", "--data", filepath.Join(dir, "loaded"), "--from", "nq", "-") // over what is there
	must("", "check", "--data", filepath.Join(dir, "loaded"))
	must(document, "add", "--data", filepath.Join(dir, "added"), "--blank", "keep", "--from", "nq", "-")
	if got := must("", "dump", "--data", filepath.Join(dir, "added")); sortedLines(got) != sortedLines(document) {
		t.Error("add and dump: not as it was written, blankLabels too")
	}
	stop()
	same("dump of the server's directory", must("", "dump", "--data", filepath.Join(dir, "served")))
	must("", "check", "--data", filepath.Join(dir, "served"))
	url, stop = serveFor(t, filepath.Join(dir, "sent"))
	defer stop()
	must(document, "add", "--to", url, "--from", "nq", "-")
	same("add through a server", must("", "dump", "--to", url))
}

// TestDumpFormats dumps a store with annotations in each format that holds them, from a directory
// and through a server, compressed and not, and loads, adds and converts the dump.
func TestDumpFormats(t *testing.T) {
	seed.Slow(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	document := annotatedDocument(rand.New(rand.NewPCG(seed, 0)), 100)
	dir := t.TempDir()
	must := func(stdin string, args ...string) string {
		t.Helper()
		code, stdout, stderr := run(t, stdin, args...)
		if code != exitDone {
			t.Fatalf("%q: %d %s", args, code, stderr)
		}
		return stdout
	}
	url, stop := serveFor(t, filepath.Join(dir, "served"))
	defer stop()
	must(document, "load", "--to", url, "--from", "nq", "-")
	local := filepath.Join(dir, "local")
	must(document, "load", "--data", local, "--from", "nq", "-")
	target, stopTarget := serveFor(t, filepath.Join(dir, "target"))
	defer stopTarget()
	for _, format := range []string{"nq", "trig", "ndjson"} {
		// 1. Both ways to dump give the same document.
		dump := must("", "dump", "--to", url, "--format", format)
		if other := must("", "dump", "--data", local, "--format", format); len(other) != len(dump) {
			t.Errorf("%s: a server's dump has %d bytes, a directory's %d", format, len(dump), len(other))
		}
		// 2. It is found out what it is, compressed or not.
		file := filepath.Join(dir, "dump."+format+".gz")
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		packed := gzip.NewWriter(f)
		_, err = packed.Write([]byte(dump))
		if err := errors.Join(err, packed.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
		same := func(how, got string) {
			t.Helper()
			if sortedLines(blankLabels.ReplaceAllString(got, "_:")) != sortedLines(document) {
				t.Errorf("%s, %s: %d bytes are not the %d that were written", format, how, len(got), len(document))
			}
		}
		loaded := filepath.Join(dir, format)
		if summary := must("", "load", "--data", loaded, file); !strings.Contains(summary, "duplicate  0\n") {
			t.Errorf("%s: %s", format, summary)
		}
		same("load", must("", "dump", "--data", loaded))
		must("", "check", "--data", loaded)
		must(dump, "load", "--data", loaded+" from stdin", "-")
		same("load of standard input", must("", "dump", "--data", loaded+" from stdin"))
		added := filepath.Join(dir, "added "+format)
		must(dump, "add", "--data", added, "--blank", "keep", "--from", format, "-")
		same("add", must("", "dump", "--data", added))
		must("", "load", "--to", target, file)
		same("load through a server", must("", "dump", "--to", target))
		must("", "delete", "--to", target, "--pattern", "? <x:p> ?")
		// 3. Conversions keep all of it.
		for _, to := range []string{"nq", "trig", "ndjson"} {
			text := must("", "convert", "--format", to, file)
			same("convert to "+to+" and back", must(text, "convert", "--from", to, "-"))
		}
	}
	// 4. A malformed line has its place, and the others are loaded.
	broken := filepath.Join(dir, "broken.ndjson")
	line := `{"s":"<x:s>","p":"<x:p>","o":"1","annotations":[{"app":"x","text":"ü","type":"text/plain"}]}`
	if err := os.WriteFile(broken, []byte(line+"\n{\"s\":\"ü\",\"o\":1}\n"+strings.Replace(line, "1", "2", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string][]string{"directory": {"--data", filepath.Join(dir, "broken")}, "server": {"--to", target}} {
		if code, _, stderr := run(t, "", append([]string{"load", broken}, to...)...); code != exitFailed || !strings.Contains(stderr, "broken.ndjson:2:6: s: ") {
			t.Errorf("%s: %d %s", name, code, stderr)
		}
		rejects := filepath.Join(dir, "rejects")
		if code, stdout, stderr := run(t, "", append([]string{"load", "--keep-going", "--rejects", rejects, broken}, to...)...); code != exitRejected || !strings.Contains(stdout, "annotated  2\n") {
			t.Errorf("%s: %d %s%s", name, code, stdout, stderr)
		}
		if text, err := os.ReadFile(rejects); err != nil || !strings.Contains(string(text), "broken.ndjson:2:6: s: ") || !strings.Contains(string(text), `{"s":"ü","o":1}`) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
	// 5. What cannot hold annotations says how many there are.
	for format, title := range map[string]string{"ttl": "Turtle", "rdf": "RDF/XML"} {
		text, _ := os.ReadFile(broken)
		_, dump, stderr := run(t, "", "dump", "--data", filepath.Join(dir, "broken"), "--format", format)
		if strings.Contains(dump, "annotations") || !strings.Contains(stderr, "2 annotations left out, because "+title+" cannot hold them") {
			t.Errorf("dump: %s%s", dump, stderr)
		}
		if code, _, stderr := run(t, "", "dump", "--data", filepath.Join(dir, "broken"), "--format", format, "--no-annotations"); code != exitDone || strings.Contains(stderr, "left out") {
			t.Errorf("dump --no-annotations: %s", stderr)
		}
		if code, _, stderr := run(t, strings.SplitAfter(string(text), "\n")[0], "convert", "--format", format, "-"); code != exitDone || !strings.Contains(stderr, "1 annotation left out, because "+title+" cannot hold them") {
			t.Errorf("convert: %d %s", code, stderr)
		}
		if code, _, stderr := run(t, "<x:s> <x:p> <x:o> <x:g> .\n", "convert", "--format", format, "-"); code != exitFailed || !strings.Contains(stderr, "which "+title+" cannot say") {
			t.Errorf("a named graph: %d %s", code, stderr)
		}
	}
}

// TestDumpLabels checks that the labels of links survive a dump and a load in each format with
// annotations, byte by byte, and a backup and a restore.
func TestDumpLabels(t *testing.T) {
	// 1. Links with labels: weights, texts with quotes, line ends and other scripts, and none.
	dir := t.TempDir()
	data := filepath.Join(dir, "store")
	var lines strings.Builder
	r := newRand(t)
	for i := range 500 {
		fmt.Fprintf(&lines, "http://h.example/%d\thttp://h.example/%d", i, r.IntN(500))
		if r.IntN(3) > 0 {
			fmt.Fprintf(&lines, "\t%d", r.IntN(1<<20))
			if r.IntN(2) > 0 {
				fmt.Fprintf(&lines, "\t%s", []string{"plain", `"quoted" \\ # <x>`, "ελληνικά 汉字 🙂", strings.Repeat("long ", 200)}[r.IntN(4)])
			}
		}
		lines.WriteByte('\n')
	}
	loadLinks(t, exitDone, lines.String(), data, "--format", "edges", "-")
	want := clitest.StoredLinks(t, data, links.DefaultPredicate)
	// 2. Dump, load, and dump again.
	dump := func(data string) string {
		t.Helper()
		code, stdout, stderr := run(t, "", "dump", "--data", data)
		if code != exitDone {
			t.Fatal(stderr)
		}
		return stdout
	}
	text := dump(data)
	loaded := filepath.Join(dir, "loaded")
	if code, _, stderr := run(t, text, "load", "--data", loaded, "--from", "nq", "-"); code != exitDone {
		t.Fatal(stderr)
	}
	clitest.SameLinks(t, clitest.StoredLinks(t, loaded, links.DefaultPredicate), want)
	if again := dump(loaded); again != text {
		t.Errorf("the second dump has %d bytes, the first %d, and they differ", len(again), len(text))
	}
	// 3. The other formats with annotations have them.
	for _, syntax := range []string{"trig", "ndjson"} {
		code, document, stderr := run(t, "", "dump", "--data", data, "--format", syntax)
		if code != exitDone {
			t.Fatal(stderr)
		}
		other := filepath.Join(dir, syntax)
		if code, _, stderr := run(t, document, "load", "--data", other, "--from", syntax, "-"); code != exitDone {
			t.Fatal(stderr)
		}
		clitest.SameLinks(t, clitest.StoredLinks(t, other, links.DefaultPredicate), want)
	}
	// 4. A backup has them, too.
	restored, archive := filepath.Join(dir, "restored"), filepath.Join(dir, "backup.tar")
	for _, args := range [][]string{{"backup", "--data", data, archive}, {"restore", "--data", restored, archive}} {
		if code, _, stderr := run(t, "", args...); code != exitDone {
			t.Fatal(stderr)
		}
	}
	clitest.SameLinks(t, clitest.StoredLinks(t, restored, links.DefaultPredicate), want)
}

func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// serveFor serves a directory until stop is called.
func serveFor(t *testing.T, data string, args ...string) (url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	messages, stderr := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := Run(ctx, append([]string{"serve", "--data", data, "--listen", "127.0.0.1:0"}, args...), nil, io.Discard, stderr)
		stderr.Close()
		ended <- code
	}()
	var said strings.Builder
	for buffer := make([]byte, 1<<10); url == ""; {
		n, err := messages.Read(buffer)
		if err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		said.Write(buffer[:n])
		if found := regexp.MustCompile(`serving \S+ at (http://[^\s"]+)`).FindStringSubmatch(said.String()); found != nil {
			url = found[1]
		}
	}
	drained := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, messages)
		close(drained)
	}()
	return url, func() {
		cancel()
		if code := <-ended; code != exitDone {
			t.Errorf("serve: exit code %d", code)
		}
		<-drained
	}
}
