// Tests of the universes.

package model

import (
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// The worlds are made through encodings and numbers; this holds them against
// what packages trie and recovery say directly.
func TestWorldIsWhatWasAsked(t *testing.T) {
	w := newWorld(4, 2, Rules{}, placement{ring: setOf(0, 2, 3), owners: []owners{{0, 2, 3}, {3, 3, 0}}})
	l := w.layouts[0]
	if got, want := l.owner, ([maxTriples]owners{{0, 2, 3}, {3, 3, 0}}); got != want {
		t.Errorf("owners %v, want %v", got, want)
	}
	if got, want := l.slots[0], ([maxMachines]uint8{1 << spo, 0, 1 << pos, 1 << osp}); got != want {
		t.Errorf("slots of t0 %v, want %v", got, want)
	}
	if got, want := l.slots[1], ([maxMachines]uint8{1 << osp, 0, 1 << extra, 1<<spo | 1<<pos}); got != want {
		t.Errorf("slots of t1 %v, want %v: the extra goes clockwise from the owner of two, past the owner of one", got, want)
	}
}

// A split by itself changes no slot: both halves stay in their partition. Which
// is why the model has no action for it.
func TestSplitMovesNothing(t *testing.T) {
	w := &world{machines: 3, triples: 3}
	keys := w.keys()
	p := tableOf(setOf(0, 1, 2), []int{2}, 1)
	slots := func(tr *trie.Trie) (all []recovery.Place) {
		for x := range keys {
			all = append(all, must(recovery.Layout{Trie: tr, Placement: p}.Places(keys[x][spo]))...)
		}
		return all
	}
	whole := trie.New(1, 0)
	want := slots(whole)
	split := must(must(whole.Split(1, keys[1][pos], 2)).Split(1, keys[2][spo], 3))
	if got := slots(split); !slices.Equal(got, want) {
		t.Errorf("slots after two splits: %v, before: %v", got, want)
	}
}
