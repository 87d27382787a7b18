// Benchmarks of a pass over rows and of the search for pieces to read.

package recovery

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// benchJoint is a fill after the loss of one machine of several, over so many
// segments, and keys of triples in all orders, sorted as a walk meets them.
func benchJoint(b testing.TB, machines, segments, rows int) (*Joint, [][]byte) {
	random := rand.New(rand.NewPCG(1, 2))
	var keys [][]byte
	for range rows {
		t := triple.Triple{
			Subject:   triple.NewIRI(fmt.Sprintf("http://www.Department%d.University%d.edu/Student%d", random.IntN(25), random.IntN(1000), random.IntN(400))),
			Predicate: triple.NewIRI("http://lubm.org/onto#" + []string{"takesCourse", "memberOf", "name", "type", "advisor"}[random.IntN(5)]),
			Object:    triple.NewIRI(fmt.Sprintf("http://www.Department%d.University%d.edu/Course%d", random.IntN(25), random.IntN(1000), random.IntN(400))),
		}
		for _, o := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
			key, _ := triple.AppendKey(nil, o, t)
			keys = append(keys, key)
		}
	}
	ids := make([]trie.MachineID, machines)
	for i := range ids {
		ids[i] = trie.MachineIDOf([16]byte{1, byte(i), byte(i >> 8)})
	}
	base, err := trie.NewPlacement(ids, trie.PlacementOptions{})
	if err != nil {
		b.Fatal(err)
	}
	target, err := trie.NewPlacement(ids[1:], trie.PlacementOptions{})
	if err != nil {
		b.Fatal(err)
	}
	tr := trie.New(1, 0)
	for id := uint64(2); tr.Len() < segments; id++ {
		at := keys[random.IntN(len(keys))]
		s := tr.Lookup(at)
		if string(s.Lo) == string(at) {
			continue
		}
		if tr, err = tr.Split(s.ID, at, id); err != nil {
			b.Fatal(err)
		}
		if tr, err = tr.Assign(id, trie.HashPartition(id, base.Partitions())); err != nil {
			b.Fatal(err)
		}
	}
	slices.SortFunc(keys, slices.Compare[[]byte])
	live := trie.NewRing(ids[1:]...)
	return &Joint{Base: Layout{Trie: tr, Placement: base}, Target: Layout{Trie: tr, Placement: target}, Phase: Fill, Members: live, BaseLive: live}, keys
}

// BenchmarkWalk resolves row after row, as a backfill does, and asks what each fills.
func BenchmarkWalk(b *testing.B) {
	for _, machines := range []int{3, 5, 100} {
		b.Run(fmt.Sprintf("machines=%d", machines), func(b *testing.B) {
			j, keys := benchJoint(b, machines, 10_000, 50_000)
			r, from := j.Resolver(), j.Members[1]
			b.ReportAllocs()
			owed := 0
			for i := 0; b.Loop(); i++ {
				key := keys[i%len(keys)]
				if err := r.Resolve(key); err != nil {
					b.Fatal(err)
				}
				owed += len(r.Fills(Place{Machine: from, Order: triple.Order(key[0])}))
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkBackfill finds what a machine must read after a loss.
func BenchmarkBackfill(b *testing.B) {
	for _, machines := range []int{5, 16, 64, 128} {
		b.Run(fmt.Sprintf("machines=%d", machines), func(b *testing.B) {
			j, _ := benchJoint(b, machines, 10_000, 20_000)
			j.Target = j.Base // what is lost goes to all others
			var err error
			if j.Target.Placement, err = j.Base.Placement.Adapt(j.Members, trie.PlacementOptions{}); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				j.Backfill(j.Members[1])
			}
		})
	}
}
