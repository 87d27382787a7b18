// Tests of all generators: golden hashes and counts.

package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// generate returns a data set as bytes.
func generate(t testing.TB, g Generator) []byte {
	t.Helper()
	var b bytes.Buffer
	counts, err := g.Generate(t.Context(), &b)
	require.NoError(t, err)
	if counts.Bytes != int64(b.Len()) || counts.Statements != int64(bytes.Count(b.Bytes(), []byte("\n"))) {
		t.Fatalf("counts %+v do not fit %d bytes, %d lines", counts, b.Len(), bytes.Count(b.Bytes(), []byte("\n")))
	}
	return b.Bytes()
}

func mustNew(t testing.TB, kind string, seed uint64, triples int64) Generator {
	t.Helper()
	g, err := New(kind, seed, triples)
	require.NoError(t, err)
	return g
}

// The hashes pin the data of all benchmarks. If a hash changes, earlier figures are not comparable,
// and the changelog must say so.
func TestGolden(t *testing.T) {
	golden := map[string]string{
		"lubm":    "4fc45b0152c6ae56600696888bd4fab3",
		"bsbm":    "2fe9e6ffb54e9cc49dfe0cb760ec765a",
		"texts":   "5547a4d7686e2377c8073a5ea658b54b",
		"photos":  "26db260782b2924b5aacaacf2ff2373b",
		"library": "eaacb94be05bb72353300ee18e47d810",
	}
	for _, kind := range Kinds() {
		data := generate(t, mustNew(t, kind, 1, 20_000))
		if got := fmt.Sprintf("%x", sha256.Sum256(data))[:32]; got != golden[kind] {
			t.Errorf("%s has changed: its hash is %s, not %s", kind, got, golden[kind])
		}
		if other := generate(t, mustNew(t, kind, 2, 20_000)); bytes.Equal(data, other) {
			t.Errorf("%s is the same for two seeds", kind)
		}
	}
}

func TestGoldenOps(t *testing.T) {
	for _, c := range []struct {
		app    Application
		golden string
	}{
		{Photos{Seed: 1, Triples: 20_000}, "9fa1bde9f0680e4711ca7130bdc64b7d"},
		{Library{Seed: 1, Triples: 20_000}, "3e164b8b342381dbe5479abfcaf76170"},
	} {
		h, n := sha256.New(), 0
		for op := range c.app.Ops(1, 3) {
			fmt.Fprintf(h, "%v\n", op)
			if n++; n == 5000 {
				break
			}
		}
		if got := fmt.Sprintf("%x", h.Sum(nil))[:32]; got != c.golden {
			t.Errorf("operations of %T have changed: their hash is %s, not %s", c.app, got, c.golden)
		}
	}
}

const (
	uchar   = `\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}`
	iri     = `<[a-z]+:(?:[^\x00-\x20<>"{}|^` + "`" + `\\]|` + uchar + `)*>`
	literal = `"(?:[^\x00-\x1f\x7f"\\]|\\[tbnrf"'\\]|` + uchar + `)*"(?:\^\^` + iri + `|@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)?`
)

var syntaxes = map[string]*regexp.Regexp{
	MediaTypeNTriples: regexp.MustCompile(`^` + iri + ` ` + iri + ` (?:` + iri + `|` + literal + `) \.$`),
	MediaTypeNQuads:   regexp.MustCompile(`^` + iri + ` ` + iri + ` (?:` + iri + `|` + literal + `)(?: ` + iri + `)? \.$`),
}

func TestLines(t *testing.T) {
	const n = 20_000
	for _, kind := range Kinds() {
		t.Run(kind, func(t *testing.T) {
			g := mustNew(t, kind, 7, n)
			syntax := syntaxes[g.MediaType()]
			seen := make(map[string]bool, n)
			for line := range strings.Lines(string(generate(t, g))) {
				line = strings.TrimSuffix(line, "\n")
				if seen[line] {
					t.Fatalf("twice: %s", line)
				}
				seen[line] = true
				if !syntax.MatchString(line) {
					t.Fatalf("malformed: %s", line)
				}
			}
			if len(seen) != n {
				t.Errorf("%d statements, want %d", len(seen), n)
			}
		})
	}
}

func TestStatementsAreTheDataSet(t *testing.T) {
	for _, app := range []Application{Photos{Seed: 3, Triples: 4321}, Library{Seed: 3, Triples: 4321}} {
		var b strings.Builder
		for s := range app.Statements() {
			b.WriteString(s.String() + "\n")
		}
		if b.String() != string(generate(t, app)) {
			t.Errorf("%T: Statements and Generate differ", app)
		}
	}
}

// TestSizes checks that each unit of an application has its size in statements.
func TestSizes(t *testing.T) {
	for name, app := range map[string]application{"photos": photos{5}, "library": library{5}} {
		for unit := range int64(60) {
			if n, want := unitsSize(t, applicationSource{app}, unit, 1), app.size(unit); n != want {
				t.Errorf("%s: unit %d writes %d statements and announces %d", name, unit, n, want)
			}
		}
	}
}

// unitsSize returns the number of statements of n units.
func unitsSize(t testing.TB, src source, first, n int64) int64 {
	t.Helper()
	e := newEmitter(t.Context(), io.Discard, 1<<40)
	for unit := range n {
		src.emit(e, first+unit)
	}
	e.flush()
	return e.written.Statements
}

// TestSizesProperty checks that a data set has the requested number of lines.
func TestSizesProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		triples := rapid.Int64Range(1, 400).Draw(r, "triples")
		g := mustNew(t, rapid.SampledFrom(Kinds()).Draw(r, "kind"), rapid.Uint64().Draw(r, "seed"), triples)
		if n := bytes.Count(generate(t, g), []byte("\n")); int64(n) != triples {
			r.Fatalf("%d lines, want %d", n, triples)
		}
	})
}

func TestSmallerIsPrefix(t *testing.T) {
	for _, kind := range Kinds() {
		small, large := generate(t, mustNew(t, kind, 1, 12_345)), generate(t, mustNew(t, kind, 1, 20_000))
		if !bytes.HasPrefix(large, small) {
			t.Errorf("%s: the smaller data set is no prefix of the larger one", kind)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, g := range []Generator{LUBM{Triples: -1}, BSBM{Triples: -1}, Texts{Triples: -1}, Photos{Triples: -1}, Library{Triples: -1}} {
		if _, err := g.Generate(t.Context(), io.Discard); !errors.Is(err, errOptions) {
			t.Errorf("bad options gave %v", err)
		}
	}
	if _, err := New("lubm", 1, 0); !errors.Is(err, errOptions) {
		t.Errorf("0 triples gave %v", err)
	}
	_, err := New("lumb", 1, 10)
	for _, kind := range Kinds() {
		if err == nil || !strings.Contains(err.Error(), kind) {
			t.Errorf("the error for an unknown kind does not name %s: %v", kind, err)
		}
	}
	for _, g := range []Generator{LUBM{}, BSBM{}, Texts{}, Photos{}, Library{}} {
		if _, err := g.Generate(t.Context(), &failing{left: 1000}); !errors.Is(err, errFull) {
			t.Errorf("zero options of %T: %v", g, err)
		}
	}
}

// failing accepts some bytes and then fails.
type failing struct{ left int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if len(p) > f.left {
		return f.left, errFull
	}
	f.left -= len(p)
	return len(p), nil
}

func TestFailures(t *testing.T) {
	for _, kind := range Kinds() {
		g := mustNew(t, kind, 1, 20_000)
		counts, err := g.Generate(t.Context(), &failing{left: 200_000})
		if !errors.Is(err, errFull) || counts.Bytes != 200_000 || counts.Statements == 0 || counts.Statements >= 20_000 {
			t.Errorf("%s: a full disk gave %+v, %v", kind, counts, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if counts, err := g.Generate(ctx, io.Discard); !errors.Is(err, context.Canceled) || counts != (Counts{}) {
			t.Errorf("%s: an ended context gave %+v, %v", kind, counts, err)
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	const triples = 300_000
	vocabularies()
	for _, kind := range Kinds() {
		b.Run(kind, func(b *testing.B) {
			g := mustNew(b, kind, 1, triples)
			b.ReportAllocs()
			for b.Loop() {
				counts, err := g.Generate(b.Context(), io.Discard)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(counts.Bytes)
			}
			b.ReportMetric(float64(b.N)*triples/b.Elapsed().Seconds(), "triples/s")
		})
	}
}
