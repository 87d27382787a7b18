// The command load: results, rejects, interruption and resuming.

package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

func decimal(n int) string { return strconv.Itoa(n) }

// summary is what load --json prints.
type summary struct {
	Read, New, Duplicates, Rejected, Bytes int64
	Runs                                   int
	Resumed                                bool
}

func (o outcome) summary(t *testing.T) (s summary) {
	t.Helper()
	if err := json.Unmarshal([]byte(o.stdout), &s); err != nil {
		t.Fatalf("%v: %s", err, o.stdout)
	}
	return s
}

// count returns the number of triples in a data directory.
func count(t *testing.T, data string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(trefoil(t, "count", "--data", data).mustCode(t, done).stdout))
	require.NoError(t, err)
	return n
}

func TestLoad(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	nq := file(t, "p.nq", people)
	ttl := file(t, "p.ttl", "<http://e.x/ann> <http://e.x/name> 'Ann', 'Anna' .")
	out := trefoil(t, "load", "--data", data, nq, ttl).mustCode(t, done)
	for _, line := range []string{"read       12\n", "new        11\n", "duplicate  1\n", "rejected   0\n"} {
		if !strings.Contains(out.stdout, line) {
			t.Errorf("the summary misses %q:\n%s", line, out.stdout)
		}
	}
	again := trefoil(t, "load", "--data", data, "--json", ttl).mustCode(t, done).summary(t)
	if again.Read != 2 || again.New != 0 || again.Duplicates != 2 {
		t.Errorf("loaded again: %+v", again)
	}
	trefoil(t, "load", "--data", data, "--graph", "http://e.x/g", nq).mustCode(t, done)
	trefoil(t, "count", "--data", data, "? ? ? <http://e.x/g>").mustCode(t, done).mustPrint(t, "9\n")
	trefoil(t, "count", "--data", data, "? ? ? <http://e.x/secrets>").mustCode(t, done).mustPrint(t, "1\n")
	trefoil(t, "check", "--data", data).mustCode(t, done)
}

func TestLoadThroughServer(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	s := serve(t, "--data", data)
	nq := file(t, "p.nq", people)
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	zip.Write([]byte("<http://e.x/ann> <http://e.x/name> 'Ann', 'Anna' ."))
	zip.Close()
	ttl := file(t, "p.ttl.gz", zipped.String())
	got := trefoil(t, "load", "--to", s.url, "--json", nq, ttl).mustCode(t, done).summary(t)
	if got.Read != 12 || got.New != 11 || got.Duplicates != 1 {
		t.Errorf("summary: %+v", got)
	}
	trefoilWith(t, strings.NewReader(people), "load", "--to", s.url, "--graph", "http://e.x/g", "-").mustCode(t, done)
	trefoil(t, "count", "--to", s.url, "? ? ? <http://e.x/g>").mustCode(t, done).mustPrint(t, "9\n")

	bad := file(t, "bad.nt", "<http://e.x/s> <http://e.x/p> 1 .\n<http://e.x/s> <http://e.x/p> \"1\" .\n")
	before := trefoil(t, "count", "--to", s.url).stdout
	out := trefoil(t, "load", "--to", s.url, bad).mustCode(t, failed)
	if !strings.HasPrefix(out.stderr[strings.LastIndex("\n"+strings.TrimSuffix(out.stderr, "\n"), "\n"+bad):], bad+":1:31: ") {
		t.Errorf("stderr: %s", out.stderr)
	}
	trefoil(t, "count", "--to", s.url).mustPrint(t, before)
	rejects := filepath.Join(t.TempDir(), "rejects")
	trefoil(t, "load", "--to", s.url, "--keep-going", "--rejects", rejects, bad).mustCode(t, rejected)
	if text, err := os.ReadFile(rejects); err != nil || !strings.HasPrefix(string(text), "# "+bad+":1:31: ") || !strings.HasSuffix(string(text), "\n<http://e.x/s> <http://e.x/p> 1 .\n") {
		t.Errorf("rejects: %v\n%s", err, text)
	}
	s.stop(t)
	trefoil(t, "check", "--data", data).mustCode(t, done)
}

func TestLoadRejects(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	bad := file(t, "bad.nt", "<http://e.x/s> <http://e.x/p> \"1\" .\n<http://e.x/s> <http://e.x/p> 1 .\n<http://e.x/s> <http://e.x/p> \"2\" .\n")
	trefoil(t, "load", "--data", data, bad).mustCode(t, failed).mustSay(t, bad+":2:31: ", "--keep-going")
	if _, err := os.Stat(data); err == nil {
		t.Error("the refused load left a store")
	}
	rejects := filepath.Join(t.TempDir(), "rejects")
	trefoil(t, "load", "--data", data, "--keep-going", "--rejects", rejects, bad).mustCode(t, rejected).mustSay(t, "1 malformed statement", rejects)
	text, err := os.ReadFile(rejects)
	if err != nil || !strings.HasPrefix(string(text), "# "+bad+":2:31: ") || !strings.Contains(string(text), "\n<http://e.x/s> <http://e.x/p> 1 .\n") {
		t.Errorf("rejects: %v\n%s", err, text)
	}
	if n := count(t, data); n != 2 {
		t.Errorf("%d triples, want 2", n)
	}
	trefoil(t, "load", "--data", data, "--keep-going", "--rejects", filepath.Join(t.TempDir(), "no", "such", "dir"), bad).mustCode(t, failed)
}

// What is no RDF at all is refused, whatever it is, and changes nothing.
func TestLoadAbuse(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	trefoil(t, "load", "--data", data, file(t, "p.nq", people)).mustCode(t, done)
	lines := strings.Repeat("<http://e.x/s> <http://e.x/p> \"a\" .\n", 5_000)
	plain := file(t, "a.nt", lines)
	var piece bytes.Buffer
	zip := gzip.NewWriter(&piece)
	zip.Write(make([]byte, 64<<20))
	zip.Close()
	bomb := bytes.Repeat(piece.Bytes(), 8) // of 512 MiB: files behind one another are one
	cases := map[string]string{
		"nul.nt":       strings.Repeat("\x00", 1<<20),
		"nul.ttl":      strings.Repeat("\x00", 1<<20),
		"bomb.nt":      string(bomb),
		"bomb.ttl":     string(bomb),
		"utf8.nt":      "<http://e.x/s> <http://e.x/p> \"\xc3\x28\" .\n",
		"surrogate.nt": "<http://e.x/s> <http://e.x/p> \"\\uDC00\" .\n",
		"random":       string(bomb[30:200]),
		"cut.nt":       lines[:len(lines)-5],
	}
	for _, tool := range []string{"gzip", "bzip2", "zstd"} {
		whole := compress(t, plain, tool)
		cases["cut."+tool+".nt"] = string(whole[:len(whole)*2/3])
		cases["tail."+tool+".nt"] = string(whole[:len(whole)-3])
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			path := file(t, name, text)
			p := start(t, nil, "load", "--data", data, "--memory", "64MiB", path)
			out := p.wait(t).mustCode(t, failed).mustSay(t, path)
			if strings.Contains(out.stderr, "goroutine") {
				t.Errorf("a panic: %s", out.stderr)
			}
			// The bomb is one line: it may be as long as --max-line, and is copied.
			if peak, ok := peakMemory(p); ok && peak > (64+128)<<20 {
				t.Errorf("took %d MiB", peak>>20)
			}
		})
	}
	trefoil(t, "load", "--data", data, file(t, "empty.nt", "")).mustCode(t, done)
	trefoil(t, "load", "--data", data, file(t, "bom.ttl", "\ufeff# nothing\n")).mustCode(t, done)
	if n := count(t, data); n != 10 {
		t.Errorf("%d triples, want 10", n)
	}
	trefoil(t, "check", "--data", data).mustCode(t, done)
}

// A line without an end is refused at the cap, in flat memory.
func TestLoadHugeLine(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	line := func() *endless { return &endless{unit: []byte("aaaaaaaaaaaaaaaa"), left: 1 << 30} }
	trefoilLimited(t, 512<<20, line(), "load", "--data", data, "--from", "nt", "-").mustCode(t, failed)
	trefoilLimited(t, (64+128)<<20, line(), "load", "--data", data, "--from", "nt", "--memory", "64MiB", "--max-line", "1MiB", "-").mustCode(t, failed)
}

// Ctrl-C stops a load and changes nothing; --resume completes it.
func TestLoadInterrupted(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	path := file(t, "texts.nt", trefoil(t, "generate", "--kind", "texts", "--triples", "100k").mustCode(t, done).stdout)
	trefoil(t, "load", "--data", data, file(t, "p.nq", people)).mustCode(t, done)
	args := []string{"load", "--data", data, "--memory", "64MiB", "--json", path}
	p := start(t, nil, args...)
	if _, ok := p.waitFor(t, `trefoil: (read|sort|write|merge)`); !ok {
		t.Fatalf("the load ended: %s", p.Said())
	}
	p.signal(t, syscall.SIGINT)
	p.wait(t).mustCode(t, failed).mustSay(t, "signal received: ending in order", "interrupted", "--resume")
	if n := count(t, data); n != 10 {
		t.Errorf("%d triples after the interruption, want 10", n)
	}
	s := trefoil(t, append(args, "--resume")...).mustCode(t, done).summary(t)
	if s.Read != 100_000 || s.New != 100_000 || !s.Resumed {
		t.Errorf("resumed: %+v", s)
	}
	if n := count(t, data); n != 100_010 {
		t.Errorf("%d triples, want 100,010", n)
	}
	trefoil(t, "check", "--data", data).mustCode(t, done)
}

func TestLoadResumeChanged(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	text := trefoil(t, "generate", "--kind", "texts", "--triples", "100k").mustCode(t, done).stdout
	path := file(t, "texts.nt", text)
	p := start(t, nil, "load", "--data", data, "--memory", "64MiB", path)
	if _, ok := p.waitFor(t, `trefoil: (read|sort|write|merge)`); !ok {
		t.Fatalf("the load ended: %s", p.Said())
	}
	p.kill(t)
	require.NoError(t, os.WriteFile(path, []byte(people+text), 0o666))
	trefoil(t, "load", "--data", data, "--memory", "64MiB", "--resume", "--from", "nq", path).mustCode(t, failed).mustSay(t, "changed")
	trefoil(t, "load", "--data", data, "--memory", "64MiB", "--from", "nq", path).mustCode(t, done)
	if n := count(t, data); n != 100_010 {
		t.Errorf("%d triples, want 100,010", n)
	}
}

// The dirty data as it was published: 85 statements are malformed.
func TestLoadDirty(t *testing.T) {
	dirty := shared(t, "dirty")
	data := filepath.Join(t.TempDir(), "store")
	out := trefoil(t, "load", "--data", data, dirty).mustCode(t, failed)
	if !slices.ContainsFunc(strings.Split(out.stderr, "\n"), place.MatchString) {
		t.Errorf("no line names the place: %s", out.stderr)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("the refused load left a store")
	}
	rejects := filepath.Join(t.TempDir(), "rejects")
	s := trefoil(t, "load", "--data", data, "--keep-going", "--rejects", rejects, "--json", dirty).mustCode(t, rejected).summary(t)
	if s.Read != 102_744 || s.Rejected != 85 || s.New != 102_744 {
		t.Errorf("summary: %+v", s)
	}
	text, err := os.ReadFile(rejects)
	require.NoError(t, err)
	named := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "# ") && place.MatchString(line[2:]) {
			named++
		}
	}
	if named != 85 {
		t.Errorf("the report names %d statements", named)
	}
	trefoil(t, "check", "--data", data).mustCode(t, done)
}

func TestLoadDBpediaLinks(t *testing.T) {
	seed.Long(t)
	links := shared(t, "dbpedia-links")
	if testing.Short() {
		t.Skip("short")
	}
	data := filepath.Join(t.TempDir(), "store")
	s := trefoil(t, "load", "--data", data, "--json", links).mustCode(t, done).summary(t)
	if s.Read != 1_351_350 || s.New != 1_280_723 || s.Duplicates != 1_351_350-1_280_723 || s.Rejected != 0 {
		t.Errorf("summary: %+v", s)
	}
	if n := count(t, data); n != 1_280_723 {
		t.Errorf("%d triples", n)
	}
	trefoil(t, "check", "--data", data).mustCode(t, done)
}
