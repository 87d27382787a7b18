// Tests of hosts that cannot be looked up.

package linkgraph

import (
	"errors"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// TestHostsFail checks that samples and rankings by class, sketches and copies fail if the hosts of
// pages cannot be looked up. Their results would be wrong.
func TestHostsFail(t *testing.T) {
	w := newWorld(t, machine.Options{})
	var targets []string
	for i := range 2000 { // enough for a sketch
		targets = append(targets, pageURL(i%50, i))
	}
	w.update(links.Change{Source: pageURL(1, 1), Targets: targets})
	w.settle()
	pages, err := w.graph.UIDs(ctx, []string{pageURL(1, 1), pageURL(2, 2), pageURL(3, 3)})
	if err != nil {
		t.Fatal(err)
	}
	s := w.graph.Board.State.Load()
	class := sample.Spec{Mode: sample.ModeRandom, N: 5, Class: sample.InterHost}
	// 1. No host is known, and look-ups fail.
	failure := errors.New("the rows are away")
	failing := true
	w.graph.hosts.Mu.Lock()
	clear(w.graph.hosts.Of)
	w.graph.hosts.Find = func([]uid.Extent) (map[uid.Extent]string, error) {
		if failing {
			return nil, failure
		}
		return nil, nil
	}
	w.graph.hosts.Mu.Unlock()
	calls := map[string]func() error{
		"sample": func() error {
			_, err := w.graph.SampleLinks(ctx, links.Forward, pages, class)
			return err
		},
		"links within": func() error {
			var set rank.Set
			for _, u := range pages {
				set.Add(u)
			}
			_, err := w.graph.sampler.LinksWithin(ctx, s, &set, sample.InterHost)
			return err
		},
		"sketches": func() error {
			for _, v := range s.Views {
				if _, err := state.MakeSketches(v.Cell(), w.graph.hosts.ForCall()); err != nil {
					return err
				}
			}
			return nil
		},
		"copy": func() (err error) {
			for _, p := range s.Parts {
				err = errors.Join(err, w.graph.hosts.AddAll([]uid.Extent{p.First.Extent()}))
			}
			return err
		},
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, failure) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// 2. A host that is not in the store is no failure.
	failing = false
	for name, call := range calls {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
