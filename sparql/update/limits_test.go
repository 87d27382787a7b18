// Tests of the limits of a request.

package update_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/triple"
)

// generated makes documents. The number of triples is in the IRI, such as x:100.
type generated struct{ each func(i int) }

func (g generated) Load(_ context.Context, iri string) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		var n int
		if _, err := fmt.Sscanf(iri, "x:%d", &n); err != nil {
			yield(triple.Triple{}, err)
			return
		}
		for i := range n {
			if g.each != nil {
				g.each(i)
			}
			if !yield(numbered(i), nil) {
				return
			}
		}
	}
}

func numbered(i int) triple.Triple {
	return triple.Triple{
		Subject:   triple.NewIRI(fmt.Sprintf("http://example.org/subjects/%08d", i*7919%1000003)),
		Predicate: triple.NewIRI("http://example.org/predicate"),
		Object:    triple.NewString(fmt.Sprintf("object number %d", i)),
	}
}

// TestMemoryIsCounted: the counted bytes of changes must be near the real ones, with the rows
// of one order and with those of all.
func TestMemoryIsCounted(t *testing.T) {
	for _, request := range []string{
		`LOAD <40000>`,
		`LOAD <20000> INTO GRAPH <g> ; INSERT { <a> <p> 1 } WHERE { ?s <none> ?o }`,
		`LOAD <20000> INTO GRAPH <g> ; INSERT { ?s <p> ?o } WHERE { GRAPH <g> { ?s ?p ?o } }`,
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		changes, err := run(t, nil, request, sparql.Options{Options: exec.Options{Documents: generated{}}})
		require.NoError(t, err)
		runtime.GC()
		runtime.ReadMemStats(&after)
		held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		t.Logf("%s: %d bytes for %d triples, %d on the heap", request, changes.Bytes(), changes.NumAdds(), held)
		if held > changes.Bytes()+1<<20 || held < changes.Bytes()/3 {
			t.Errorf("%s: %d bytes are said, %d are held", request, changes.Bytes(), held)
		}
		runtime.KeepAlive(changes)
	}
}

// TestMemoryRefuses: if a request exceeds its memory, it must end soon, with the limit in the
// error, and change nothing.
func TestMemoryRefuses(t *testing.T) {
	const limit = 1 << 20
	var many []triple.Triple
	for i := range 1000 {
		many = append(many, numbered(i))
	}
	for _, request := range []string{
		`INSERT { ?a <p> ?d } WHERE { ?a ?b ?c . ?d ?e ?f }`, // a million
		`INSERT { [] <p> [] } WHERE { ?a ?b ?c . ?d ?e ?f }`,
		`DELETE { ?a <p> ?d } WHERE { ?a ?b ?c . ?d ?e ?f }`,
		`LOAD <1000000>`,
		`INSERT DATA { <a> <p> "` + strings.Repeat("long", limit/4) + `" }`,
		`COPY DEFAULT TO <g1> ; COPY DEFAULT TO <g2> ; COPY DEFAULT TO <g3> ; COPY DEFAULT TO <g4> ; COPY DEFAULT TO <g5>`,
	} {
		src := memsource.New(many)
		opts := sparql.Options{Options: exec.Options{Uint64: counter(), Documents: generated{}}, UpdateMemory: limit}
		opts.Parser.Base = "x:"
		p, err := sparql.PrepareUpdate(request, opts)
		require.NoError(t, err)
		changes, err := p.Run(context.Background(), src)
		if !errors.Is(err, sparql.ErrUpdateMemory) || changes != nil || !strings.Contains(err.Error(), "1048576 bytes") {
			t.Errorf("%.60s: %v", request, err)
		}
		if src.Reads > 20000 {
			t.Errorf("%.60s: %d rows read", request, src.Reads)
		}
	}
}

// TestCancel: a request ends with its context, SILENT or not.
func TestCancel(t *testing.T) {
	for _, request := range []string{`LOAD <1000000>`, `LOAD SILENT <1000000>`} {
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		opts := sparql.Options{Options: exec.Options{Documents: generated{func(i int) {
			if n = i; i == 5000 {
				cancel()
			}
		}}}}
		opts.Parser.Base = "x:"
		p, err := sparql.PrepareUpdate(request, opts)
		require.NoError(t, err)
		if changes, err := p.Run(ctx, memsource.New(nil)); !errors.Is(err, context.Canceled) || changes != nil || n > 10000 {
			t.Errorf("%s: %v after %d triples", request, err, n)
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p, err := sparql.PrepareUpdate(`CLEAR ALL`, sparql.Options{})
	require.NoError(t, err)
	if _, err := p.Run(ctx, memsource.New(nil)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestReads: clearing must read no triples, and reads must skip cleared ones.
func TestReads(t *testing.T) {
	var many []triple.Triple
	for i := range 3000 {
		tr := numbered(i)
		tr.Graph = triple.NewIRI([]string{"x:a", "x:b", "x:c"}[i%3])
		many = append(many, tr)
	}
	for _, test := range []struct {
		request string
		most    int64
	}{
		{`CLEAR ALL`, 0},
		{`DROP GRAPH <a> ; CLEAR DEFAULT`, 0},
		{`INSERT DATA { <a> <p> 1 } ; DELETE DATA { <a> <p> 1 }`, 0},
		{`CLEAR ALL ; INSERT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }`, 0},
		{`CLEAR NAMED`, 6}, // a row and a seek for each graph
		{`CREATE SILENT GRAPH <a>`, 1},
		{`DROP GRAPH <b> ; COPY <c> TO <d>`, 1003},
		{`DROP GRAPH <b> ; CREATE GRAPH <b>`, 2},
		{`CLEAR NAMED ; CREATE GRAPH <b>`, 10},
	} {
		src := memsource.New(many)
		opts := sparql.Options{}
		opts.Parser.Base = "x:"
		p, err := sparql.PrepareUpdate(test.request, opts)
		require.NoError(t, err)
		if _, err := p.Run(context.Background(), src); err != nil {
			t.Errorf("%s: %v", test.request, err)
		}
		if src.Reads > test.most {
			t.Errorf("%s: %d rows read, want at most %d", test.request, src.Reads, test.most)
		}
	}
}

// TestPreparedTwice: a request may be run from several goroutines.
func TestPreparedTwice(t *testing.T) {
	opts := sparql.Options{}
	opts.Parser.Base = "x:"
	p, err := sparql.PrepareUpdate(`INSERT DATA { <n> <p> <m> } ; DELETE { ?s ?p ?o } INSERT { ?o ?p ?s } WHERE { ?s ?p ?o }`, opts)
	require.NoError(t, err)
	results := make(chan error)
	for range 4 {
		before := quads(t, given)
		src := before.source()
		go func() {
			changes, err := p.Run(context.Background(), src)
			if err == nil && (changes.NumAdds() != 2 || changes.NumDeletes() != 3) {
				err = fmt.Errorf("%d adds, %d deletes", changes.NumAdds(), changes.NumDeletes())
			}
			results <- err
		}()
	}
	for range 4 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}
