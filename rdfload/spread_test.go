// Tests of loads into a cluster.

package rdfload_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/rdfload"
)

// movingSink is a sink with a changing place. Sometimes a call fails. Only tables of the last place
// count.
type movingSink struct {
	rdfload.Sink
	mu      sync.Mutex // tables are made in parallel
	random  *rand.Rand
	left    *int // failures to come
	moves   bool // the place changes with a failure
	place   int
	at      map[string]int // the place that a table was made for
	dropped []string
}

func (s *movingSink) Begin(ctx context.Context, id string) (rdfload.Start, error) {
	start, err := s.Sink.Begin(ctx, id)
	start.Spread = s
	return start, err
}

func (s *movingSink) Place(context.Context, rdfload.Sample) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint(s.place), nil
}

func (s *movingSink) End(id string, kept bool) {
	if !kept {
		s.dropped = append(s.dropped, id)
	}
}

func (s *movingSink) moved() error {
	if *s.left == 0 || s.random.IntN(3) > 0 {
		return nil
	}
	*s.left--
	if s.moves {
		s.place++
	}
	return fmt.Errorf("a machine is gone: %w", rdfload.ErrMoved)
}

func (s *movingSink) CreateTable(path string) (rdfload.Table, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.moved(); err != nil {
		return nil, err
	}
	s.at[path] = s.place
	return s.Sink.CreateTable(path)
}

func (s *movingSink) Publish(ctx context.Context, record rdfload.Record, tables []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range tables {
		if s.at[path] != s.place {
			return fmt.Errorf("%s was made for place %d, it is %d now", path, s.at[path], s.place)
		}
	}
	if err := s.moved(); err != nil {
		return err
	}
	return s.Sink.Publish(ctx, record, tables)
}

// A load must be complete in the end, even if its tables have to be made again.
func TestSpread(t *testing.T) {
	seed.Slow(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	failed := 0
	loads := 12
	if testing.Short() {
		loads = 4
	}
	for i := range loads {
		store := newStore(t)
		left := 6
		sink := &movingSink{Sink: store.Sink(), random: rand.New(rand.NewPCG(seed, uint64(i))), left: &left, moves: i%2 == 0, at: map[string]int{}}
		d := &document{name: "a.nt", data: []byte(text(i, 500))}
		s, err := rdfload.Load(context.Background(), sink, sources(d), rdfload.Options{Memory: rdfload.MinMemory, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		want := parsed(t, string(d.data))
		checkStored(t, store, want)
		checkNoLoads(t, sink)
		if s.New != int64(len(want)) || len(sink.dropped) > 0 {
			t.Errorf("%+v, dropped %v", s, sink.dropped)
		}
		failed += 6 - left
	}
	if failed == 0 {
		t.Error("nothing failed")
	}
}

// A load must be dropped if it ends without a publication and cannot be resumed.
func TestSpreadDrop(t *testing.T) {
	left := 0
	sink := &movingSink{Sink: newStore(t).Sink(), left: &left, at: map[string]int{}}
	d := &document{name: "a.nt", data: []byte("this is no triple\n")}
	if _, err := rdfload.Load(context.Background(), sink, sources(d), rdfload.Options{Memory: rdfload.MinMemory}); !errors.Is(err, rdfload.ErrRejected) {
		t.Fatal(err)
	}
	if len(sink.dropped) != 1 {
		t.Errorf("dropped %v", sink.dropped)
	}
	if ids, err := rdfload.Clean(sink.Dir()); err != nil || slices.Contains(ids, sink.dropped[0]) {
		t.Error(ids, err)
	}
}
