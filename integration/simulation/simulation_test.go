// Tests of the traffic and of a run.

package main

import (
	"bytes"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// A change of placement moves what it has to and no more: the rows sent or made
// equal in number the missing places of the new placement.
func TestTraffic(t *testing.T) {
	s, err := newSample(3000, 7)
	require.NoError(t, err)
	segments, err := s.split(64, trie.DefaultPartitions)
	require.NoError(t, err)
	ids := machineIDs(6)
	at := func(ids []trie.MachineID) recovery.Layout {
		p, err := trie.NewPlacement(ids, trie.PlacementOptions{})
		require.NoError(t, err)
		return recovery.Layout{Trie: segments, Placement: p}
	}
	five, four, six := at(ids[:5]), at(ids[1:5]), at(ids)
	for _, c := range []struct {
		name   string
		target recovery.Layout
		dead   []trie.MachineID
	}{{"loss", four, ids[:1]}, {"growth", six, nil}} {
		got, err := s.change(five, c.target, c.dead...)
		require.NoError(t, err)
		want := int64(0)
		for _, key := range s.keys {
			had, has := slots(t, five, key), slots(t, c.target, key)
			for slot := range has {
				if !had[slot] {
					want++
				}
			}
		}
		if n := got.sent.total() + got.local.total(); n != want || want == 0 {
			t.Errorf("%s: %d rows are sent or made, %d slots were empty", c.name, n, want)
		}
		if got.sent.total() != got.received.total() {
			t.Errorf("%s: %d rows are sent, %d arrive", c.name, got.sent.total(), got.received.total())
		}
		for _, m := range c.dead {
			if got.sent[m] > 0 || got.received[m] > 0 {
				t.Errorf("%s: the dead machine takes part", c.name)
			}
		}
	}
}

func slots(t *testing.T, l recovery.Layout, key []byte) map[recovery.Place]bool {
	t.Helper()
	list, err := l.Places(key)
	require.NoError(t, err)
	set := map[recovery.Place]bool{}
	for _, s := range list {
		set[s] = true
	}
	return set
}

func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(&out, options{machines: []int{3, 5}, triples: 2000, segments: 16, partitions: 20, held: 1 << 30, network: 1e9, seed: 3}))
	if lines := bytes.Count(out.Bytes(), []byte("\n")); lines != 5 {
		t.Errorf("%d lines:\n%s", lines, &out)
	}
}
