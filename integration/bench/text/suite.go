// The flags of the suite, and its parts.

// Package text measures text search: the core of the index beside Lucene, on the same literals in one process each, and a
// server's searches over HTTP with changes between them.
package text

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/triple"
)

// bench is one run of the suite.
type bench struct {
	rig.Rig
	kind     string
	triples  int64
	lucene   string
	fuseki   string
	searches int
	updates  int
}

// Suite defines the flags of the suite and returns the function that measures.
func Suite(f *flag.FlagSet) func(context.Context, []string) error {
	b := &bench{}
	b.Flags(f, "trefoil-bench-text", "some 2 GB")
	f.StringVar(&b.kind, "kind", "bsbm", "`kind` of generated data: bsbm, or texts with long literals")
	f.Int64Var(&b.triples, "triples", 1_000_000, "triples to generate")
	f.StringVar(&b.lucene, "lucene", "", "`directory` with the jars of Lucene; empty leaves it out. mvn dependency:copy-dependencies of org.apache.jena:jena-text gets them")
	f.StringVar(&b.fuseki, "fuseki", "", "`directory` of Fuseki's jar, for jena-text; empty leaves it out. scripts/peers.sh DIR fuseki installs it into DIR/fuseki")
	f.IntVar(&b.searches, "searches", 200, "searches of each kind")
	f.IntVar(&b.updates, "updates", 500, "adds that are searched for at once")
	return b.run
}

func (b *bench) run(ctx context.Context, _ []string) error {
	if err := b.Begin(fmt.Sprintf("; %s, %d triples", b.kind, b.triples)); err != nil {
		return err
	}
	data, err := b.Data(ctx, b.kind, b.triples)
	if err != nil {
		return err
	}
	literals, err := b.literals(data)
	if err != nil {
		return err
	}
	// 1. The core, beside Lucene.
	b.Report.Heading()
	queries, err := b.library(literals)
	if err != nil {
		return err
	}
	if b.lucene != "" {
		if err := b.compareLucene(ctx, literals, queries); err != nil {
			return err
		}
	}
	// 2. A server, beside Jena's.
	tokens, err := b.server(ctx, data, queries)
	if err != nil || b.fuseki == "" {
		return err
	}
	return b.jena(ctx, data, tokens, queries)
}

// literals returns the path of a file with the different literals of the indexed predicates, one a line.
func (b *bench) literals(data string) (string, error) {
	return b.File(filepath.Base(data)+".indexed", func(w io.Writer) error {
		f, err := os.Open(data)
		if err != nil {
			return err
		}
		defer f.Close()
		seen := map[string]bool{}
		out := bufio.NewWriter(w)
		for sc := triple.NewScanner(f, triple.ScanOptions{Source: data}); ; {
			if !sc.Scan() {
				return errors.Join(sc.Err(), out.Flush())
			}
			o := sc.Triple().Object
			if !slices.Contains(predicates, sc.Triple().Predicate.Value()) || o.Kind() != triple.Literal || o.Datatype() != triple.XSDString && o.Lang() == "" {
				continue
			}
			text := strings.Join(strings.Fields(o.Value()), " ")
			if !seen[text] {
				seen[text] = true
				fmt.Fprintln(out, text)
			}
		}
	})
}

// query is a kind of search, in words that trefoil and Lucene read alike.
type query struct{ kind, text string }

// library builds an index in this process by one goroutine, and searches it.
func (b *bench) library(path string) ([]query, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	begun := time.Now()
	analyzer := textindex.NewAnalyzer()
	builder := textindex.NewBuilder(analyzer, "x:p", 0)
	var parts []*textindex.Part
	finish := func() error {
		s, err := builder.Finish()
		parts = append(parts, &textindex.Part{Segment: s})
		builder = textindex.NewBuilder(analyzer, "x:p", 0)
		return err
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<26)
	counts, n := map[string]int{}, 0
	var samples []string
	for ; lines.Scan(); n++ {
		if err := builder.Add(textindex.Document{Key: lines.Bytes(), Text: lines.Bytes()}); err != nil {
			return nil, err
		}
		if builder.Bytes() > 256<<20 {
			if err := finish(); err != nil {
				return nil, err
			}
		}
		// Every 97th literal is a sample, because the words must come from all of the file.
		if n%97 == 0 {
			samples = append(samples, lines.Text())
		}
	}
	if err := errors.Join(lines.Err(), finish()); err != nil {
		return nil, err
	}
	took := time.Since(begun)
	var tokens uint64
	var body, docs int64
	for _, p := range parts {
		tokens, body, docs = tokens+p.Tokens(), body+int64(len(p.Body())), docs+p.Docs().Size()
	}
	b.Report.Row("trefoil: build in one process, one goroutine", "Lucene's", "%s tokens/s (%d literals, %d tokens, %.1f s)", rig.Thousands(rig.PerSecond(int64(tokens), took)), n, tokens, took.Seconds())
	b.Report.Row("trefoil: bytes a token, and of the stored literals", "", "%.2f and %.2f", rig.Ratio(float64(body), float64(tokens)), rig.Ratio(float64(docs), float64(tokens)))
	// Search for words of the samples.
	for _, s := range samples {
		for _, w := range strings.Fields(strings.ToLower(s)) {
			if w = strings.Trim(w, ".,;:!?()'\""); len(w) > 3 && strings.IndexFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) < 0 {
				counts[w]++
			}
		}
	}
	queries := chooseQueries(counts, samples)
	for _, q := range queries {
		var times rig.Times
		for range b.searches {
			begun := time.Now()
			if err := searchBest(analyzer, parts, q.text); err != nil {
				return nil, err
			}
			times = append(times, time.Since(begun))
		}
		target := ""
		if q.kind == "frequent word" {
			target = "1 ms"
		}
		b.Report.Row("trefoil: top 10, "+q.kind, target, "p50 %.0f µs, p95 %.0f µs", 1e3*rig.Millis(times.Quantile(0.5)), 1e3*rig.Millis(times.Quantile(0.95)))
	}
	return queries, nil
}

func searchBest(a *textindex.Analyzer, parts []*textindex.Part, text string) error {
	q, err := textindex.Parse(text)
	if err != nil {
		return err
	}
	check := func() error { return nil }
	r := &textindex.Request{Query: q}
	stats, err := textindex.Collect(a, r, parts, check)
	if err == nil {
		_, err = textindex.Search(a, r, &stats, parts, 10, nil, check)
	}
	return err
}

// chooseQueries returns searches for words of some frequencies.
func chooseQueries(counts map[string]int, samples []string) []query {
	words := make([]string, 0, len(counts))
	for w := range counts {
		words = append(words, w)
	}
	sort.Slice(words, func(i, j int) bool {
		if counts[words[i]] != counts[words[j]] {
			return counts[words[i]] > counts[words[j]]
		}
		return words[i] < words[j]
	})
	frequent, other, middle := words[0], words[1], words[len(words)/20]
	phrase := "graph store"
	for _, s := range samples {
		if f := strings.Fields(strings.ToLower(s)); len(f) > 4 && slices.Contains(words[:len(words)/2], f[1]) && slices.Contains(words[:len(words)/2], f[2]) {
			phrase = f[1] + " " + f[2]
			break
		}
	}
	return []query{
		{"frequent word", frequent}, {"word", middle}, {"rare word", words[len(words)-1]}, {"two words, OR", frequent + " OR " + middle},
		{"two words, AND", frequent + " AND " + other}, {"phrase", `"` + phrase + `"`}, {"prefix", middle[:3] + "*"}, {"fuzzy, one edit", middle + "~1"}, {"fuzzy, two edits", middle + "~2"},
	}
}

// luceneSource is the program that measures Lucene.
const luceneSource = "integration/bench/text/Lucene.java"

// compareLucene runs the same with Lucene.
func (b *bench) compareLucene(ctx context.Context, literals string, queries []query) error {
	index, err := os.MkdirTemp(b.Dir, "lucene-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(index)
	args := []string{"-Xmx4g", "-cp", filepath.Join(b.lucene, "*"), luceneSource, literals, index, fmt.Sprint(b.searches)}
	for _, q := range queries {
		args = append(args, q.kind, q.text)
	}
	out, err := rig.Output(exec.CommandContext(ctx, "java", args...))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		what, value, _ := strings.Cut(strings.TrimSpace(line), "\t")
		b.Report.Row("Lucene: "+what, "", "%s", value)
	}
	return nil
}

// server measures a server: the build, searches over HTTP, adds that are searched for at once, and SPARQL. It returns the
// number of indexed words.
func (b *bench) server(ctx context.Context, data string, queries []query) (tokens uint64, err error) {
	dir, err := os.MkdirTemp(b.Dir, "store-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if _, err := b.Load(ctx, data, "--data", dir); err != nil {
		return 0, err
	}
	p, err := b.Serve(ctx, nil, "--data", dir, "--listen", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer p.Kill()
	address, err := p.Address(ctx)
	if err != nil {
		return 0, err
	}
	c, err := client.New("http://"+address, client.Options{})
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	for _, predicate := range predicates {
		if err := c.Text.AddPredicate(ctx, predicate); err != nil {
			return 0, err
		}
	}
	err = rig.WaitFor(ctx, 20*time.Millisecond, func(ctx context.Context) error {
		s, err := c.Text.Predicates(ctx)
		tokens = 0
		for _, one := range s.Predicates {
			if tokens += one.Words; !one.Complete {
				err = errors.Join(err, errors.New("the index is being built"))
			}
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	took := time.Since(begun)
	b.Report.Row("server: build from rows, all processors", "", "%s tokens/s (%.1f s)", rig.Thousands(rig.PerSecond(int64(tokens), took)), took.Seconds())
	// Snippets are a part of each answer, so the times include reading the literals.
	for _, q := range queries {
		var times rig.Times
		for range b.searches {
			begun := time.Now()
			if _, err := c.Text.Search(ctx, client.SearchRequest{Query: q.text}); err != nil {
				return 0, err
			}
			times = append(times, time.Since(begun))
		}
		b.Report.Row("server: /search, 10 hits with snippets, "+q.kind, "", "%s", times)
	}
	// Each add is searched for at once.
	begun = time.Now()
	for i := range b.updates {
		word := fmt.Sprintf("fresh%d", i)
		one := triple.Triple{Subject: triple.NewIRI("http://example.org/" + word), Predicate: triple.NewIRI(label), Object: triple.NewString("a " + word + " literal")}
		if _, err := c.Add(ctx, []triple.Triple{one}); err != nil {
			return 0, err
		}
		found, err := c.Text.Search(ctx, client.SearchRequest{Query: word})
		if err != nil || len(found.Hits) != 1 {
			return 0, fmt.Errorf("%d hits for %s: %w", len(found.Hits), word, err)
		}
	}
	b.Report.Row("server: durable adds, each searched for and found, one client", "", "%s/s", rig.Thousands(rig.PerSecond(int64(b.updates), time.Since(begun))))
	at := "http://" + address
	return tokens, b.sparql(ctx, &endpoint{name: "trefoil", query: at + "/sparql", update: at + "/sparql", search: trefoilSearch}, queries)
}
