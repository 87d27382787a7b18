package rdfload_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

// addTo returns what adds to a store.
func addTo(store *node.Store) rdfload.Add {
	return func(ctx context.Context, triples []triple.Triple) (int64, error) {
		r, err := store.Add(ctx, triples)
		return r.Added, err
	}
}

// load loads by tables, or by batches.
func load(store *node.Store, inBatches bool, list []rdfload.Source, opts rdfload.Options) (rdfload.Summary, error) {
	if inBatches {
		return rdfload.LoadBatches(ctx, addTo(store), list, opts)
	}
	return rdfload.Load(ctx, store.Sink(), list, opts)
}

// sizes notes the size of each batch.
type sizes struct {
	mu       sync.Mutex
	triples  []int
	at, most int // at a time
	add      rdfload.Add
}

func (s *sizes) Add(ctx context.Context, triples []triple.Triple) (int64, error) {
	s.mu.Lock()
	s.triples = append(s.triples, len(triples))
	s.at++
	s.most = max(s.most, s.at)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.at--
		s.mu.Unlock()
	}()
	return s.add(ctx, triples)
}

// Batches have 5,000 triples, fewer where they are large, and few are added at a
// time.
func TestBatches(t *testing.T) {
	store := newStore(t)
	s := &sizes{add: addTo(store)}
	large := "<x:s> <x:p> \"" + strings.Repeat("a", 3<<20) + "\" .\n<x:s> <x:p> \"" + strings.Repeat("b", 3<<20) + "\" .\n"
	data := text(0, 31_000)
	var told rdfload.Progress
	summary, err := rdfload.LoadBatches(ctx, s.Add, sources(&document{name: "a.nt", data: []byte(data)}, &document{name: "b.nt", data: []byte(large)}),
		rdfload.Options{Progress: func(p rdfload.Progress) { told = p }})
	if err != nil || summary.Read != 31_002 || summary.New != 31_002 || summary.Bytes != int64(len(data)+len(large)) {
		t.Fatalf("%+v, %v", summary, err)
	}
	full := 0
	for _, n := range s.triples {
		if n == 5000 {
			full++
		}
	}
	if full != 6 || len(s.triples) != 7 || s.most > 4 {
		t.Errorf("batches of %v, %d at a time", s.triples, s.most)
	}
	if told.Phase != rdfload.Reading || told.Triples != 31_002 || told.Bytes != told.TotalBytes || told.Done != 1 {
		t.Errorf("told at the end: %+v", told)
	}
	checkStored(t, store, union(parsed(t, data), parsed(t, large)))
}

// A malformed statement ends the load; the batches before it are in the store, and
// the summary counts them.
func TestBatchesRejected(t *testing.T) {
	store := newStore(t)
	good := text(0, 7000)
	s, err := rdfload.LoadBatches(ctx, addTo(store), sources(&document{name: "a.nt", data: []byte(good + "<x:s> <x:p> .\n" + text(1, 100))}), rdfload.Options{})
	var syntax *triple.SyntaxError
	if !errors.Is(err, rdfload.ErrRejected) || !errors.As(err, &syntax) || syntax.Line != 7001 || syntax.Source != "a.nt" || errors.Is(err, rdfload.ErrKept) {
		t.Fatalf("%v", err)
	}
	if n := int64(len(stored(t, store))); s.New != n || s.Read != n || n != 5000 {
		t.Errorf("%d triples are stored, the summary is %+v", n, s)
	}
}

// A store that refuses a batch ends the load with its error, whatever else runs.
func TestBatchesRefused(t *testing.T) {
	store := newStore(t)
	full := errors.New("the disk is full")
	n := 0
	var mu sync.Mutex
	add := func(ctx context.Context, triples []triple.Triple) (int64, error) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n > 2 {
			return 7, full
		}
		return addTo(store)(ctx, triples)
	}
	s, err := rdfload.LoadBatches(ctx, add, sources(&document{name: "a.nt", data: []byte(text(0, 100_000))}), rdfload.Options{})
	if !errors.Is(err, full) {
		t.Fatal(err)
	}
	if s.Read != 10_000 || s.New < 10_007 {
		t.Errorf("%+v", s)
	}
}

// A load ends with its context, and with the error of what it reads.
func TestBatchesInterrupted(t *testing.T) {
	store := newStore(t)
	inner, cancel := context.WithCancel(ctx)
	d := &document{name: "a.nt", data: []byte(text(0, 200_000)), hook: func(read int64) {
		if read > 1<<20 {
			cancel()
		}
	}}
	if _, err := rdfload.LoadBatches(inner, addTo(store), sources(d), rdfload.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	broken := errors.New("the disk is broken")
	d = &document{name: "a.nt", data: []byte(text(0, 20_000)), fail: broken, failAt: 1 << 20}
	if _, err := rdfload.LoadBatches(ctx, addTo(store), sources(d), rdfload.Options{}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	for _, opts := range []rdfload.Options{{Resume: true}, {Workers: -1}} {
		if _, err := rdfload.LoadBatches(ctx, addTo(store), sources(d), opts); err == nil {
			t.Errorf("%+v is taken", opts)
		}
	}
	if _, err := rdfload.LoadBatches(ctx, addTo(store), nil, rdfload.Options{}); err == nil {
		t.Error("nothing is loaded")
	}
}

// Loads name blank nodes in one way: of the load and the document.
func TestBatchesBlankNodes(t *testing.T) {
	store := newStore(t)
	ttl := &document{name: "a.ttl", data: []byte("_:x <x:p> _:x .")}
	nt := &document{name: "b.nt", data: []byte("_:x <x:p> _:x .\n<x:s> .\n")}
	var rejects bytes.Buffer
	s, err := rdfload.LoadBatches(ctx, addTo(store), sources(ttl, nt), rdfload.Options{
		Graph: triple.NewIRI("x:g"), KeepGoing: true, Rejects: &rejects})
	if err != nil || s.Rejected != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	if want := "# b.nt:2:"; !strings.HasPrefix(rejects.String(), want) || !strings.HasSuffix(rejects.String(), "\n<x:s> .\n") {
		t.Errorf("the report is %q", rejects.String())
	}
	want := make(set)
	for i := range 2 {
		b := triple.NewBlank(fmt.Sprintf("b%sd%d-x", s.ID, i))
		want[triple.Triple{Subject: b, Predicate: triple.NewIRI("x:p"), Object: b, Graph: triple.NewIRI("x:g")}] = true
	}
	checkStored(t, store, want)
}
