// Random layouts, failures and triples: no row is left out that fills something.

package recovery

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

var seedOf = seed.Number

// backfills is a joint view over a few triples, both at random.
type backfills struct {
	*rand.Rand
	t       *testing.T
	triples []triple.Triple
	keys    [][]byte // of all triples in all orders, with one annotation each, ascending
	joint   *Joint
}

func newBackfills(t *testing.T, random *rand.Rand) *backfills {
	b := &backfills{Rand: random, t: t}
	terms := func(kind string, n int) triple.Term {
		text := fmt.Sprintf("urn:%s%c", kind, 'a'+random.IntN(n))
		if random.IntN(8) == 0 {
			text += "b" // one is the beginning of another
		}
		if kind == "o" && random.IntN(3) == 0 {
			return triple.NewString(string(bytes.Repeat([]byte{0, byte(random.IntN(3))}, random.IntN(3))))
		}
		if kind == "s" && random.IntN(4) == 0 {
			// The long one sorts between the version of the short one and its annotations.
			text = "urn:s" + string(bytes.Repeat([]byte("x"), 251))
			if random.IntN(2) == 0 {
				text += string(bytes.Repeat([]byte("x"), 900))
			}
			return triple.NewIRI(text)
		}
		if random.IntN(40) == 0 {
			text += string(bytes.Repeat([]byte("x"), 1100)) // in keys it is a hash
		}
		return triple.NewIRI(text)
	}
	for range 30 + random.IntN(120) {
		tr := triple.Triple{Subject: terms("s", 6), Predicate: terms("p", 4), Object: terms("o", 8)}
		if random.IntN(4) == 0 {
			tr.Graph = terms("g", 3)
		}
		b.triples = append(b.triples, tr)
		for _, o := range triple.Orders {
			if key, _ := triple.AppendKey(nil, o, tr); len(key) > 0 {
				b.keys = append(b.keys, key, triple.AppendAnnotationKey(nil, key, "test"))
			}
		}
	}
	slices.SortFunc(b.keys, bytes.Compare)
	b.keys = slices.CompactFunc(b.keys, bytes.Equal)
	b.joint = b.view()
	return b
}

// view draws a loss, a join, a change of the number of copies, moves, or all of these.
func (b *backfills) view() *Joint {
	universe := make([]trie.MachineID, 1+b.IntN(7))
	for i := range universe {
		universe[i] = trie.MachineID(10 * (i + 1))
	}
	some := func(of trie.Ring, leave int) trie.Ring {
		of = slices.Clone(of)
		for range leave {
			if len(of) > 1 {
				i := b.IntN(len(of))
				of = slices.Delete(of, i, i+1)
			}
		}
		return trie.NewRing(of...)
	}
	all := trie.NewRing(universe...)
	j := &Joint{Phase: Fill}
	j.Base = Layout{Trie: b.trie(trie.New(1, 0), 1+b.IntN(60)), Placement: b.placement(some(all, b.IntN(3))), Copies: b.IntN(MaxCopies + 1)}
	j.Members = some(all, b.IntN(3))
	j.BaseLive = some(j.Members, b.IntN(3))
	if b.IntN(3) == 0 { // all of base live
		j.Members = trie.NewRing(append(j.Members, j.Base.Placement.Machines()...)...)
		j.BaseLive = j.Base.Placement.Machines()
	}
	j.Target = j.Base
	if b.IntN(8) > 0 {
		ring := some(j.Members, b.IntN(2))
		if j.Target.Placement = b.placement(ring); b.IntN(3) > 0 {
			j.Target.Placement = movedPlacement(b.t, b.Rand, j.Base.Placement, ring, b.IntN(3))
		}
	}
	if b.IntN(3) == 0 {
		j.Target.Trie = b.trie(j.Base.Trie, 5)
	}
	if b.IntN(4) == 0 {
		j.Target.Copies = b.IntN(MaxCopies + 1)
	}
	return j
}

const testPartitions = 64

func (b *backfills) placement(ring trie.Ring) *trie.Placement {
	p, err := trie.NewPlacement(ring, trie.PlacementOptions{Partitions: testPartitions, VirtualNodes: 10, Load: 1.25 + b.Float64()*4})
	require.NoError(b.t, err)
	return p
}

// movedPlacement returns a placement of a ring in which of 20 partitions that need not
// move so many do.
func movedPlacement(t testing.TB, random *rand.Rand, from *trie.Placement, ring trie.Ring, moves int) *trie.Placement {
	t.Helper()
	table := binary.AppendUvarint([]byte("tfPL\x01"), uint64(len(ring)))
	for _, m := range ring {
		table = binary.BigEndian.AppendUint64(table, uint64(m))
	}
	table = binary.AppendUvarint(table, uint64(from.Partitions()))
	for partition := range uint32(from.Partitions()) {
		at := slices.Index(ring, from.PartitionOwner(partition))
		if at < 0 || random.IntN(20) < moves {
			at = random.IntN(len(ring))
		}
		table = binary.AppendUvarint(table, uint64(at))
	}
	p, err := trie.ParsePlacement(binary.BigEndian.AppendUint64(table, xxhash.Sum64(table)))
	require.NoError(t, err)
	return p
}

// trie splits a trie at random keys and at beginnings of them, between versions and
// their annotations, too.
func (b *backfills) trie(t *trie.Trie, splits int) *trie.Trie {
	for range splits {
		at := b.keys[b.IntN(len(b.keys))]
		if b.IntN(2) == 0 {
			at = at[:1+b.IntN(len(at))]
			if i := bytes.LastIndexByte(at, 0); i > 0 && b.IntN(2) == 0 {
				at = at[:i+1]
			}
		}
		s := t.Lookup(at)
		if bytes.Equal(s.Lo, at) {
			continue
		}
		id := uint64(t.Len() + 1)
		var err error
		if t, err = t.Split(s.ID, at, id); err != nil {
			b.t.Fatal(err)
		}
		if t, err = t.Assign(id, uint32(b.IntN(testPartitions))); err != nil {
			b.t.Fatal(err)
		}
	}
	return t
}

// place is a row on a machine.
type place struct {
	replica bool
	key     string
}

// rows returns the rows that a machine may have in its tables: those of its places in base
// and, if left is set, all others.
func (b *backfills) rows(self trie.MachineID, replica, left bool) (rows [][]byte) {
	r := b.joint.Resolver()
	for _, key := range b.keys {
		version := key
		if v, _, ok := triple.CutAnnotation(key); ok {
			version = v
		}
		require.NoError(b.t, r.Resolve(version))
		if left || slices.Contains(r.Base(), Place{Machine: self, Order: triple.Order(key[0]), Extra: replica}) {
			rows = append(rows, key)
		}
	}
	return rows
}

// read reads the ranges of a backfill as a machine does, and returns what it meets.
func (b *backfills) read(f *Backfill, rows map[bool][][]byte) (met map[place]bool) {
	met = map[place]bool{}
	r := b.joint.Resolver()
	last := place{}
	for _, span := range f.Ranges {
		var seek []byte
		for _, key := range rows[span.Replica] {
			if !span.Contains(key) || seek != nil && bytes.Compare(key, seek) < 0 {
				continue
			}
			at := place{span.Replica, string(key)}
			if met[at] || last.replica == at.replica && last.key >= at.key || last.replica && !at.replica {
				b.t.Fatalf("%v after %v", at, last)
			}
			met[at], last, seek = true, at, nil
			version := key
			if v, _, ok := triple.CutAnnotation(key); ok {
				version = v
			}
			require.NoError(b.t, r.Resolve(version))
			if span.Sparse {
				seek = f.Skip(nil, key, r.Key(triple.OSP))
			}
		}
	}
	return met
}

// TestBackfillReadsEnough compares, in many random views, what a machine reads with the
// rule for every row: each row that fills a place is read, annotations too, whatever else
// lies on the machine.
func TestBackfillReadsEnough(t *testing.T) {
	seed.Slow(t)
	random := rand.New(rand.NewPCG(seedOf(t), 1))
	views, all, looked, needed := seed.Rounds(600, 2000), 0, 0, 0
	if testing.Short() {
		views = 200
	}
	for view := range views {
		b := newBackfills(t, random)
		for _, self := range b.joint.BaseLive {
			rows := map[bool][][]byte{}
			for _, replica := range []bool{false, true} {
				rows[replica] = b.rows(self, replica, view%3 == 0)
			}
			met := b.read(b.joint.Backfill(self), rows)
			r := b.joint.Resolver()
			for replica, keys := range rows {
				for _, key := range keys {
					version := key
					if v, _, ok := triple.CutAnnotation(key); ok {
						version = v
					}
					require.NoError(t, r.Resolve(version))
					fills := r.Fills(Place{Machine: self, Order: triple.Order(key[0]), Extra: replica})
					if len(fills) > 0 && !met[place{replica, string(key)}] {
						t.Fatalf("view %d: machine %s does not read %q (replica %v), which fills %v", view, self, key, replica, fills)
					}
					all++
					if len(fills) > 0 {
						needed++
					}
				}
			}
			looked += len(met)
		}
	}
	t.Logf("%d views: %d rows, %d read, %d needed", views, all, looked, needed)
	if needed < all/100 || looked > all*9/10 {
		t.Errorf("the views show too little: %d rows, %d read, %d needed", all, looked, needed)
	}
}

// TestBackfillOfManyCombinations: if there are too many to be tried, all is read.
func TestBackfillOfManyCombinations(t *testing.T) {
	j, keys := benchJoint(t, 5, 100, 100)
	p := j.Backfill(j.Members[1])
	if all := j.backfill(j.Members[1], 100); len(p.Ranges) == 0 || !slices.ContainsFunc(all.Ranges, func(r BackfillRange) bool { return r.Replica }) {
		t.Fatalf("%d ranges, %d if all is read", len(p.Ranges), len(all.Ranges))
	} else {
		for _, key := range keys {
			if !slices.ContainsFunc(all.Ranges, func(r BackfillRange) bool { return r.Contains(key) }) {
				t.Fatalf("%q is not read", key)
			}
		}
	}
}
