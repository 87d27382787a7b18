// Prefixes of a cluster.

package cluster

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// TestPrefixes: members that keep one name with different IRIs at the same time agree on one of them, no
// name is lost, and no member counts the row of prefixes. All of it holds while a machine is down.
func TestPrefixes(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		one := exTriple("s", "p", "o")
		w.must("add", func(ctx context.Context) error {
			_, err := store.Add(ctx, w.any().node, []triple.Triple{one})
			return err
		})
		// 1. Documents with different IRIs at the same time.
		var wg sync.WaitGroup
		for i, m := range w.machines {
			wg.Go(func() {
				found := prefixes.Names{"ex": fmt.Sprintf("http://%d/", i), fmt.Sprintf("p%d", i): "http://p/"}
				w.must("keep", func(ctx context.Context) error { return prefixes.Keep(ctx, m.node, found) })
			})
		}
		wg.Wait()
		read := func(m *machine) (names prefixes.Names) {
			w.must("read", func(ctx context.Context) (err error) {
				names, err = prefixes.Read(ctx, m.node)
				return err
			})
			return names
		}
		first := read(w.machines[0])
		if len(first) != 4 || first["ex"] == "" {
			t.Fatalf("the prefixes are %v", first)
		}
		// 2. All members have the same, and count one triple.
		check := func(m *machine) {
			if names := read(m); !maps.Equal(names, first) {
				t.Errorf("%s has %v, want %v", m.name, names, first)
			}
			var n int64
			w.must("count", func(ctx context.Context) error {
				r, err := prefixes.Hide(m.node).Reader()
				if err != nil {
					return err
				}
				defer r.Close()
				n, err = r.Count(ctx, triple.Pattern{})
				return err
			})
			if n != 1 {
				t.Errorf("%s counts %d triples", m.name, n)
			}
		}
		for _, m := range w.machines {
			check(m)
		}
		w.until("the status counts one triple", func() bool { return w.any().node.Status().Triples == 1 })
		// 3. They survive a machine.
		w.machines[0].kill()
		check(w.machines[1])
	})
}
