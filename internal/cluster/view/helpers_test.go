// Views for tests.

package view

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// up returns a machine that is up, by a small number.
func up(id trie.MachineID) Member {
	return Member{ID: id, Incarnation: 1, Address: fmt.Sprintf("10.0.0.%d:7000", id), State: Up}
}

func spare(id trie.MachineID) Member {
	m := up(id)
	m.State = Spare
	return m
}

func must(t testing.TB) func(*View, error) *View {
	return func(v *View, err error) *View {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// idle returns an idle view of these machines, with a dozen segments where they
// belong.
func idle(t testing.TB, ids ...trie.MachineID) *View {
	t.Helper()
	v := First("test", "id", up(ids[0]), simLayout(t, ids[0]), 1)
	var splits []SplitAt
	for _, o := range triple.Orders[1:] {
		splits = append(splits, SplitAt{1, []byte{byte(o)}})
	}
	for _, letter := range "bdfhjlnpr" {
		splits = append(splits, SplitAt{1, append([]byte{1}, "\x20http://"+string(letter)...)})
	}
	v = must(t)(v.Split(splits))
	if len(ids) > 1 {
		var ms []Member
		for _, id := range ids[1:] {
			ms = append(ms, up(id))
		}
		v = through(t, must(t)(v.Join(ms...)))
	}
	return v
}

// through takes a view that fills to idle.
func through(t testing.TB, v *View) *View {
	t.Helper()
	return must(t)(must(t)(v.ToServe(nil)).ToIdle())
}

func text(t testing.TB, v *View) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// spread returns the layout of a first machine with so many segments, and keys of
// triples that are spread over them evenly.
func spread(t testing.TB, first trie.MachineID, segments, samples int) (recovery.Layout, [][]byte) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 8))
	var keys [][]byte
	hashed := func() triple.Term {
		return triple.NewIRI(fmt.Sprintf("http://a/%016x", random.Uint64()))
	}
	p, err := trie.NewPlacement([]trie.MachineID{first}, trie.PlacementOptions{})
	require.NoError(t, err)
	tr, id := trie.New(1, trie.HashPartition(1, p.Partitions())), uint64(2)
	for range samples {
		key, _ := triple.AppendKey(nil, triple.SPO, triple.Triple{Subject: hashed(), Predicate: hashed(), Object: hashed()})
		keys = append(keys, key)
	}
	for o := 1; o <= 3; o++ {
		for i := range segments / 3 {
			at := binary.BigEndian.AppendUint16(nil, uint16(i*(1<<16)/(segments/3)))
			at = fmt.Appendf([]byte{byte(o), 0x20}, "http://a/%x", at)
			if tr, err = tr.Split(tr.Lookup(at).ID, at, id); err != nil {
				t.Fatal(err)
			}
			id++
		}
	}
	return recovery.Layout{Trie: tr, Placement: p}, keys
}

func machineOf(i int) trie.MachineID { return trie.MachineIDOf([16]byte{byte(i), 1}) }
