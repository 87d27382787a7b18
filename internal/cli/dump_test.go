// Tests of the command dump.

package cli

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// annotatedDocument returns a dump of random triples with random annotations.
func annotatedDocument(random *rand.Rand, n int) string {
	var statements []triple.Triple
	for range n {
		s := triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("x:s%d", random.IntN(n))), Predicate: triple.NewIRI("x:p"),
			Object: triple.NewString(strings.Repeat("long ", random.IntN(2)*500) + fmt.Sprint(random.IntN(n)))}
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

func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// serveFor serves a directory until stop is called.
func serveFor(t *testing.T, data string) (url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	messages, stderr := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := Run(ctx, []string{"serve", "--data", data, "--listen", "127.0.0.1:0"}, nil, io.Discard, stderr)
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
		url = regexp.MustCompile(`http://\S+`).FindString(said.String())
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
