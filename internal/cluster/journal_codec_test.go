// Tests of messages about journals.

package cluster

import (
	"encoding/hex"
	"errors"
	"reflect"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/triple"
)

// somePart is a part of a journal with entries of all flags.
func somePart() journalPart {
	return journalPart{
		mark: replica.JournalMark{Incarnation: 3, Number: 300}, known: true, end: 301,
		entries: []replica.JournalEntry{
			{Key: []byte("a"), Stamp: triple.Stamp{Epoch: 1, Sequence: 2}},
			{Key: []byte("bc"), Deleted: true, Stamp: triple.Stamp{Epoch: 1, Sequence: 3}},
			{Key: []byte("d"), Settled: true, Stamp: triple.Stamp{Epoch: 200, Sequence: 4}},
			{Key: []byte("e"), Deleted: true, Settled: true, Stamp: triple.Stamp{Epoch: 2, Sequence: 5}},
		},
	}
}

func decodeJournalRequest(b []byte) (r journalRequest, err error) {
	err = peer.Decode(b, r.fields)
	return r, err
}

func decodeJournalPart(b []byte) (p journalPart, err error) {
	err = peer.Decode(b, p.fields)
	return p, err
}

// TestJournalMessages pins the bytes of messages about journals.
func TestJournalMessages(t *testing.T) {
	request := journalRequest{epoch: 300, kind: journalBehind, after: replica.JournalMark{Incarnation: 5, Number: 128}}
	if got := hex.EncodeToString(peer.Encode(0, request.fields)); got != "ac02"+"01"+"05"+"8001" {
		t.Errorf("a request is %s", got)
	}
	if back, err := decodeJournalRequest(peer.Encode(0, request.fields)); err != nil || back != request {
		t.Errorf("%+v, %v", back, err)
	}
	part := somePart()
	want := "03" + "ac02" + "01" + "ad02" + "04" + "0161" + "00" + "0102" + "026263" + "01" + "0103" + "0164" + "02" + "c80104" + "0165" + "03" + "0205"
	if got := hex.EncodeToString(part.encode()); got != want {
		t.Errorf("a part is %s, want %s", got, want)
	}
	if back, err := decodeJournalPart(part.encode()); err != nil || !reflect.DeepEqual(back, part) {
		t.Errorf("%+v, %v", back, err)
	}
	for name, bad := range map[string][]byte{
		"flags":                           {3, 1, 1, 9, 1, 0, 4, 1, 1},
		"more entries than it has":        {3, 1, 1, 9, 2, 0, 0, 1, 1},
		"as many entries as there may be": {3, 1, 1, 9, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1},
		"more":                            append(part.encode(), 0),
		"no bool":                         {3, 1, 2, 9, 0},
	} {
		if _, err := decodeJournalPart(bad); !errors.Is(err, peer.ErrMessage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzJournalMessages(f *testing.F) {
	part := somePart()
	f.Add(part.encode())
	f.Add((&journalPart{}).encode())
	f.Add(peer.Encode(0, (&journalRequest{epoch: 1, kind: journalEnd}).fields))
	f.Add(peer.Encode(0, (&journalRequest{epoch: 1, kind: journalBehind, after: replica.JournalMark{Incarnation: 2, Number: 1 << 63}}).fields))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decodeJournalRequest(b); err == nil {
			if back, err := decodeJournalRequest(peer.Encode(0, r.fields)); err != nil || back != r {
				t.Errorf("%+v comes back as %+v, %v", r, back, err)
			}
		} else if !errors.Is(err, peer.ErrMessage) {
			t.Error(err)
		}
		if p, err := decodeJournalPart(b); err == nil {
			if back, err := decodeJournalPart(p.encode()); err != nil || len(back.entries) != len(p.entries) || len(b) < 4*len(p.entries) {
				t.Errorf("%+v comes back as %+v, %v", p, back, err)
			}
		} else if !errors.Is(err, peer.ErrMessage) {
			t.Error(err)
		}
	})
}
