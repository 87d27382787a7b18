// Tests of messages.

package changes

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// The messages of each method, as they must stay: members of two releases run side by side.
func messages() map[string]struct {
	fields func(*peer.Coder)
	empty  func() any
	want   string
} {
	operation := replica.Logged{Operation: replica.Operation{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 5, Sequence: 600}, Key: []byte{byte(triple.SPO), 7}, Stamper: 9}, Time: 300}
	sr := &stateRequest{3, 2}
	s := &state{reconciled: true, next: 7, sequencers: []trie.MachineID{1, 1 << 63}, trimmed: 4, trims: []trim{{1, triple.Stamp{Epoch: 5, Sequence: 6}}}}
	rr := &readRequest{view: 3, stamper: 9, epoch: 2, after: 300, late: true, live: true, from: 4, wait: 5000, maxBytes: 1}
	p := &part{future: true, until: 300, last: 2, operations: []replica.Logged{operation}}
	pr, pd, er := &pauseRequest{300}, &pause{300}, &endRequest{3, 300}
	lr := &loneRequest{3, "0", 300, 9}
	l := &loneBatch{gone: true, reason: "r", position: "0", part: 2, more: true, time: 5, changes: []feed.Change{
		{Kind: feed.Load, Depth: 1, Stamp: triple.Stamp{Epoch: 1, Sequence: 2}, Load: &feed.LoadInfo{ID: "a", New: 1}}}}
	type message = struct {
		fields func(*peer.Coder)
		empty  func() any
		want   string
	}
	return map[string]message{
		"state request": {sr.fields, func() any { return &stateRequest{} }, "0302"},
		"state":         {s.fields, func() any { return &state{} }, "01" + "07" + "02" + "0000000000000001" + "8000000000000000" + "04" + "01" + "0000000000000001" + "0506"},
		"pause request": {pr.fields, func() any { return &pauseRequest{} }, "ac02"},
		"pause":         {pd.fields, func() any { return &pause{} }, "ac02"},
		"end request":   {er.fields, func() any { return &endRequest{} }, "03ac02"},
		"read request":  {rr.fields, func() any { return &readRequest{} }, "03" + "0000000000000009" + "02ac02" + "06" + "04" + "8827" + "01"},
		"part":          {p.fields, func() any { return &part{} }, "02" + "ac02" + "02" + "01" + "ac02" + "41" + "0000000000000009" + "05d804" + "020107" + "00"},
		"lone request":  {lr.fields, func() any { return &loneRequest{} }, "03" + "0130" + "ac02" + "09"},
		"lone": {l.fields, func() any { return &loneBatch{} }, "01" + "0172" + "0130" + "02" + "01" + "05" + "01" + "0401" + "0102" + "0000" +
			"1b" + hex.EncodeToString([]byte(`{"Load":{"ID":"a","New":1}}`))},
	}
}

func fieldsOf(m any) func(*peer.Coder) {
	return m.(interface{ fields(*peer.Coder) }).fields
}

func TestMessages(t *testing.T) {
	for name, m := range messages() {
		b := peer.Encode(0, m.fields)
		if got := hex.EncodeToString(b); got != m.want {
			t.Errorf("%s: %s\nwant %s", name, got, m.want)
		}
		back := m.empty()
		if err := peer.Decode(b, fieldsOf(back)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if again := peer.Encode(0, fieldsOf(back)); hex.EncodeToString(again) != m.want {
			t.Errorf("%s became %x", name, again)
		}
	}
}

// FuzzMessages checks that malformed messages are errors, and that others keep their meaning.
func FuzzMessages(f *testing.F) {
	for _, m := range messages() {
		f.Add(peer.Encode(0, m.fields))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, m := range messages() {
			first, second := m.empty(), m.empty()
			if peer.Decode(b, fieldsOf(first)) != nil {
				continue
			}
			if err := peer.Decode(peer.Encode(0, fieldsOf(first)), fieldsOf(second)); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if !reflect.DeepEqual(first, second) {
				t.Errorf("%s: %+v became %+v", name, first, second)
			}
		}
	})
}

// TestMerge checks that operations of several machines become one ascending list, cut at the least
// end of the answers.
func TestMerge(t *testing.T) {
	op := func(sequence uint64, key byte) replica.Logged {
		return replica.Logged{Operation: replica.Operation{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 2, Sequence: sequence}, Key: []byte{0, key}}}
	}
	all := merge([]*part{
		{operations: []replica.Logged{op(1, 1), op(3, 3)}},
		{operations: []replica.Logged{op(1, 1), op(2, 2), op(9, 9)}},
		{},
	}, 3)
	if len(all) != 3 || all[0].Stamp.Sequence != 1 || all[1].Stamp.Sequence != 2 || all[2].Stamp.Sequence != 3 {
		t.Errorf("%+v", all)
	}
}
