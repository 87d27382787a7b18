// Tests of messages, floors, and when a purge is due.

package upkeep

import (
	"encoding/hex"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
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

// messages returns one of each kind with its bytes, which must not change.
func messages() (all []func(*peer.Coder), want []string) {
	number, rows := uint64(300), []byte{8, 9}
	b := bounds{number: 3, next: triple.Stamp{Epoch: 2, Sequence: 1}, lowest: replica.Floors{5: {Epoch: 1, Sequence: 900}}}
	r := scanRequest{secret: recovery.Secret{1, 2}, bits: 5, rate: 77, floors: b.lowest, buckets: [2][]int{{1, 31}, {4}}}
	return []func(*peer.Coder){
			b.fields,
			r.fields,
			codeLook(&[]lookup{{1, []byte{2, 3}, []byte{4}}, {5, nil, nil}}),
			codeLooked(&number, []slotState{{value: []byte{7}, stamp: b.next, inFlight: true}, {stamp: b.next}}),
			codeRepair(&number, &rows),
			(&purgeRequest{number, b.lowest}).fields,
		}, []string{
			"030201" + "01" + "0000000000000005" + "018407",
			"10" + "01020000000000000000000000000000" + "054d" + "01" + "0000000000000005" + "018407" + "02011f" + "0104",
			"02" + "0102020301" + "04" + "050000",
			"ac02" + "0302010107" + "00020100",
			"ac02" + "020809",
			"ac02" + "01" + "0000000000000005" + "018407",
		}
}

func TestUpkeepMessages(t *testing.T) {
	all, want := messages()
	for i, fields := range all {
		if got := hex.EncodeToString(peer.Encode(0, fields)); got != want[i] {
			t.Errorf("%s\nwant %s", got, want[i])
		}
	}
	r := scanRequest{secret: recovery.Secret{1, 2}, bits: 5, rate: 77, floors: replica.Floors{5: {Epoch: 1, Sequence: 9}}, buckets: [2][]int{{1, 31}, {4}}}
	var got scanRequest
	if err := peer.Decode(peer.Encode(0, r.fields), got.fields); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, wrong := range []scanRequest{{bits: maxBucketBits + 1}, {bits: 4, buckets: [2][]int{{16}, nil}}} {
		if err := peer.Decode(peer.Encode(0, wrong.fields), got.fields); !errors.Is(err, peer.ErrMessage) {
			t.Errorf("%+v is taken: %v", wrong, err)
		}
	}
}

func FuzzUpkeepMessages(f *testing.F) {
	all, _ := messages()
	for _, fields := range all {
		f.Add(peer.Encode(0, fields))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, _ := messages()
		for _, fields := range all {
			_ = peer.Decode(data, fields)
		}
		parseList(data)
		_ = peer.Decode(data, (&scanRequest{bits: 4}).codeDigests(&replica.ScrubDigests{}))
	})
}
