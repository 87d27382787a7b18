// Tests of edits against a graph in a plain map.

package edits

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/triple"
)

const predicate = "urn:x:linksTo"

var seeded = seed.Rand

func TestCheck(t *testing.T) {
	one := []string{"a:"}
	for _, c := range []struct {
		name  string
		c     links.Change
		valid bool
	}{
		{"add", links.Change{Source: "a:", Targets: []string{"http://example.org/ä", "a:"}}, true},
		{"add nothing", links.Change{Source: "a:"}, true},
		{"replace by nothing", links.Change{Kind: links.ReplaceLinks, Source: "a:"}, true},
		{"with labels", links.Change{Source: "a:", Targets: one, Labels: []links.Label{cell.NoLabel}}, true},
		{"the longest anchor", links.Change{Source: "a:", Targets: one, Labels: []links.Label{{Anchor: strings.Repeat("x", lists.MaxAnchor)}}}, true},
		{"no kind", links.Change{Kind: links.ReplaceLinks + 1, Source: "a:"}, false},
		{"fewer labels", links.Change{Source: "a:", Targets: one, Labels: []links.Label{}}, false},
		{"more labels", links.Change{Source: "a:", Labels: []links.Label{cell.NoLabel}}, false},
		{"delete with labels", links.Change{Kind: links.DeleteLinks, Source: "a:", Targets: one, Labels: []links.Label{cell.NoLabel}}, false},
		{"an anchor too long", links.Change{Source: "a:", Targets: one, Labels: []links.Label{{Anchor: strings.Repeat("x", lists.MaxAnchor+1)}}}, false},
		{"no source", links.Change{Targets: one}, false},
		{"a source that is no IRI", links.Change{Source: "a b", Targets: one}, false},
		{"a target that is no IRI", links.Change{Source: "a:", Targets: []string{"a:", "<a:>"}}, false},
		{"delete what is no IRI", links.Change{Kind: links.DeleteLinks, Source: "a:", Targets: []string{"a:\x00"}}, false},
	} {
		if err := Check(&c.c); (err == nil) != c.valid || err != nil && !errors.Is(err, links.ErrInvalid) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// graph is links and their labels in a plain map: the oracle.
type graph map[link]links.Label

// make makes a change, link by link.
func (g graph) make(c links.Change) {
	if c.Kind == links.ReplaceLinks {
		for l := range g {
			if l.src == c.Source && !slices.Contains(c.Targets, l.dst) {
				delete(g, l)
			}
		}
	}
	for i, target := range c.Targets {
		l := link{c.Source, target}
		if c.Kind == links.DeleteLinks {
			delete(g, l)
			continue
		}
		label, there := g[l]
		if !there {
			label = cell.NoLabel
		}
		if c.Labels != nil && c.Labels[i] != cell.NoLabel {
			label = c.Labels[i]
		}
		g[l] = label
	}
}

// do executes edits like a store: if a triple goes, its label goes too.
func (g graph) do(t *testing.T, e Edits) {
	t.Helper()
	of := func(tr triple.Triple) link {
		l := link{tr.Subject.Value(), tr.Object.Value()}
		if want := links.Link(predicate, l.src, l.dst); tr != want {
			t.Fatalf("the triple %v; a link is %v", tr, want)
		}
		return l
	}
	for _, one := range e.Delete {
		delete(g, of(one))
	}
	for _, one := range e.Add {
		if _, there := g[of(one)]; !there {
			g[of(one)] = cell.NoLabel
		}
	}
	for _, one := range e.Labels {
		if _, there := g[of(one.Triple)]; !there || one.Label == cell.NoLabel {
			t.Fatalf("the label %v of %v, which is there: %t", one.Label, one.Triple, there)
		}
		g[of(one.Triple)] = one.Label
	}
}

// targets is the Targets of the present links.
func (g graph) targets(_ context.Context, src string, do func(string)) error {
	for l := range g {
		if l.src == src {
			do(l.dst)
		}
	}
	return nil
}

// someChanges returns changes of a few pages, some with the same link twice.
func someChanges(random *rand.Rand, kinds int) []links.Change {
	page := func() string { return fmt.Sprintf("http://example.org/%d", random.IntN(4)) }
	changes := make([]links.Change, random.IntN(8))
	for i := range changes {
		c := &changes[i]
		c.Kind, c.Source = links.ChangeKind(random.IntN(kinds)), page()
		for range random.IntN(5) {
			c.Targets = append(c.Targets, page())
		}
		if c.Kind != links.DeleteLinks && random.IntN(2) == 0 {
			c.Labels = make([]links.Label, len(c.Targets))
			for j := range c.Labels {
				if c.Labels[j] = cell.NoLabel; random.IntN(2) == 0 {
					c.Labels[j] = links.Label{Weight: float64(random.IntN(5)) / 2, Anchor: strings.Repeat("x", random.IntN(3))}
				}
			}
		}
	}
	return changes
}

// TestPlan makes random changes one after the other, and executes their plan: links and labels
// must be the same. If Reads returns false, the plan must not read.
func TestPlan(t *testing.T) {
	random := seeded(t)
	there, want := graph{}, graph{}
	for range 3000 {
		changes := someChanges(random, 1+random.IntN(3))
		reads := false
		plan, err := Plan(t.Context(), predicate, changes, func(ctx context.Context, src string, do func(string)) error {
			reads = true
			return there.targets(ctx, src, do)
		})
		require.NoError(t, err)
		before := maps.Clone(there)
		there.do(t, plan)
		for _, c := range changes {
			want.make(c)
		}
		if !maps.Equal(there, want) {
			t.Fatalf("%+v\nof %v\nleave %v\nwant %v", changes, before, there, want)
		}
		if replaces := Reads(changes); replaces != reads {
			t.Fatalf("%+v: Reads is %t, it was read: %t", changes, replaces, reads)
		}
	}
}

// TestPlanTellsOnce checks that a link is deleted, added or labelled at most once if kinds are
// mixed.
func TestPlanTellsOnce(t *testing.T) {
	random := seeded(t)
	for range 500 {
		changes := append(someChanges(random, 3), links.Change{Kind: links.ReplaceLinks, Source: "http://example.org/1"})
		plan, err := Plan(t.Context(), predicate, changes, graph{{"http://example.org/1", "a:"}: cell.NoLabel}.targets)
		require.NoError(t, err)
		for _, list := range [][]triple.Triple{plan.Delete, plan.Add} {
			seen := map[triple.Triple]bool{}
			for _, one := range list {
				if seen[one] {
					t.Fatalf("%+v: %v twice", changes, one)
				}
				seen[one] = true
			}
		}
	}
}

func TestPlanFails(t *testing.T) {
	broken := errors.New("broken")
	_, err := Plan(t.Context(), predicate, []links.Change{{Kind: links.ReplaceLinks, Source: "a:"}},
		func(context.Context, string, func(string)) error { return broken })
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestPages compares with the ends of all links that changes may add.
func TestPages(t *testing.T) {
	random := seeded(t)
	for range 500 {
		changes := someChanges(random, 3)
		want := map[string]bool{}
		for _, c := range changes {
			for _, target := range c.Targets {
				if c.Kind != links.DeleteLinks {
					want[c.Source], want[target] = true, true
				}
			}
		}
		got := Pages(changes)
		slices.Sort(got)
		if !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("%+v: %v, want %v", changes, got, want)
		}
	}
}

// TestNote writes many labels: each once, in readable form, with bounded concurrency.
func TestNote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []Labelled
		for i := range 3*concurrentLabels + 7 {
			all = append(all, Labelled{links.Link(predicate, "a:", fmt.Sprintf("b:%d", i)), links.Label{Weight: float64(i) / 3, Anchor: fmt.Sprint("no. ", i)}})
		}
		var mu sync.Mutex
		got := map[triple.Triple]links.Label{}
		running, most := 0, 0
		err := WriteLabels(t.Context(), all, func(_ context.Context, link triple.Triple, data []byte) error {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Millisecond) // of virtual time
			mu.Lock()
			defer mu.Unlock()
			running--
			if _, twice := got[link]; twice {
				t.Errorf("%v is labelled twice", link)
			}
			label, err := lists.DecodeLabel(data)
			got[link] = label
			return err
		})
		if err != nil || len(got) != len(all) || most != concurrentLabels {
			t.Errorf("%d of %d labels, %d at a time, %v", len(got), len(all), most, err)
		}
		for _, one := range all {
			if got[one.Triple] != one.Label {
				t.Errorf("%v has the label %v, want %v", one.Triple, got[one.Triple], one.Label)
			}
		}
	})
}

// TestNoteEnds checks that the first error, or the end of the context, ends it, and that no
// goroutine continues.
func TestNoteEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := make([]Labelled, 10*concurrentLabels)
		broken := errors.New("broken")
		var calls atomic.Int32
		err := WriteLabels(t.Context(), all, func(context.Context, triple.Triple, []byte) error {
			time.Sleep(time.Millisecond) // of virtual time
			if calls.Add(1) == 3 {
				return broken
			}
			return nil
		})
		if n := calls.Load(); !errors.Is(err, broken) || n >= 5*concurrentLabels {
			t.Errorf("after %d calls: %v", n, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		calls.Store(0)
		err = WriteLabels(ctx, all, func(context.Context, triple.Triple, []byte) error { calls.Add(1); return nil })
		if !errors.Is(err, context.Canceled) || calls.Load() > concurrentLabels {
			t.Errorf("after the end, %d calls: %v", calls.Load(), err)
		}
		if err := WriteLabels(ctx, nil, nil); err != nil {
			t.Errorf("no labels: %v", err)
		}
	})
}
