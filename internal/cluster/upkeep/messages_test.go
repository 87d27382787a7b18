// Tests of messages, floors, and when a purge is due.

package upkeep

import (
	"reflect"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

func TestPurgeDue(t *testing.T) {
	rest := PurgeFacts{Idle: true, Quiet: true, Tombstones: 1, Rows: 1_000_000, Since: time.Hour, Every: time.Hour}
	for _, c := range []struct {
		name   string
		change func(*PurgeFacts)
		want   bool
	}{
		{"in time", func(*PurgeFacts) {}, true},
		{"not idle, or lost", func(f *PurgeFacts) { f.Idle = false }, false},
		{"not swept, reconciled or back", func(f *PurgeFacts) { f.Quiet = false }, false},
		{"no tombstone", func(f *PurgeFacts) { f.Tombstones = 0 }, false},
		{"never", func(f *PurgeFacts) { f.Every = -1 }, false},
		{"few, too early", func(f *PurgeFacts) { f.Since = 59 * time.Minute }, false},
		{"many", func(f *PurgeFacts) { f.Since, f.Tombstones = 6*time.Minute, 10_001 }, true},
		{"many, just purged", func(f *PurgeFacts) { f.Since, f.Tombstones = time.Minute, 10_001 }, false},
		{"a share of the rows", func(f *PurgeFacts) { f.Since, f.Tombstones, f.Rows = 6*time.Minute, 200, 19_000 }, true},
		{"not a share", func(f *PurgeFacts) { f.Since, f.Tombstones, f.Rows = 6*time.Minute, 200, 21_000 }, false},
		{"many, not idle", func(f *PurgeFacts) { f.Idle, f.Tombstones = false, 1_000_000 }, false},
	} {
		f := rest
		c.change(&f)
		if got := f.due(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// The floor of a sequencer is its lowest stamp in flight anywhere, or its next one. Other
// sequencers must not change it.
func TestCombine(t *testing.T) {
	at := func(epoch, sequence uint64) triple.Stamp { return triple.Stamp{Epoch: epoch, Sequence: sequence} }
	floors, number := combine(map[trie.MachineID]bounds{
		1: {number: 4, next: at(7, 100), lowest: replica.Floors{2: at(7, 3)}},
		2: {number: 6, next: at(7, 9), lowest: replica.Floors{2: at(7, 5)}},
		3: {number: 5, next: at(7, 1), lowest: replica.Floors{1: at(7, 100)}},
	})
	want := replica.Floors{1: at(7, 100), 2: at(7, 3), 3: at(7, 1)}
	if !reflect.DeepEqual(floors, want) || number != 6 {
		t.Errorf("%v, %d", floors, number)
	}
}

func TestUpkeepMessages(t *testing.T) {
	b := bounds{number: 3, next: triple.Stamp{Epoch: 2, Sequence: 1}, lowest: replica.Floors{5: {Epoch: 1, Sequence: 9}}}
	if got, err := parseBounds(b.encode()); err != nil || !reflect.DeepEqual(got, b) {
		t.Errorf("%+v, %v", got, err)
	}
	r := scanRequest{secret: recovery.Secret{1, 2}, bits: 5, rate: 77, floors: b.lowest, buckets: [2][]int{{1, 31}, {4}}}
	if got, err := parseScan(r.encode()); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, wrong := range []scanRequest{{bits: maxBucketBits + 1}, {bits: 4, buckets: [2][]int{{16}, nil}}} {
		if _, err := parseScan(wrong.encode()); err == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

func FuzzUpkeepMessages(f *testing.F) {
	r := scanRequest{bits: 5, floors: replica.Floors{5: {Epoch: 1}}, buckets: [2][]int{{1}, {4}}}
	f.Add(r.encode())
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		parseScan(data)
		parseBounds(data)
		decodePurge(data)
		parseList(data)
		parseLook(data, make([]recovery.Place, 2))
		parseDigests(data, &scanRequest{bits: 4})
	})
}
