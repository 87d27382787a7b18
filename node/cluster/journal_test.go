package cluster

import (
	"bytes"
	"errors"
	"testing"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
)

// TestJournalMessage: what is no request is an error, and what is one is answered under the
// adopted view only.
func TestJournalMessage(t *testing.T) {
	pair(t, -1, func(t *testing.T, nodes []*Node) {
		n := nodes[0]
		epoch := n.View().Epoch
		message := func(epoch uint64, kind byte, after node.JournalMark) []byte {
			e := peer.NewEncoder(0)
			e.Uvarint(epoch)
			e.Byte(kind)
			e.Uvarint(after.Incarnation)
			e.Uvarint(after.Number)
			return e.Data()
		}
		good := message(epoch, journalEnd, node.JournalMark{})
		if _, err := n.handleJournal(t.Context(), peer.Header{}, good); err != nil {
			t.Fatal(err)
		}
		for size := range good {
			if _, err := n.handleJournal(t.Context(), peer.Header{}, good[:size]); !errors.Is(err, peer.ErrMessage) {
				t.Errorf("%d bytes of %d: %v", size, len(good), err)
			}
		}
		for name, bad := range map[string][]byte{
			"more":    append(bytes.Clone(good), 0),
			"kind":    message(epoch, journalBehind+1, node.JournalMark{}),
			"integer": bytes.Repeat([]byte{0xFF}, 30),
		} {
			if _, err := n.handleJournal(t.Context(), peer.Header{}, bad); !errors.Is(err, peer.ErrMessage) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := n.handleJournal(t.Context(), peer.Header{}, message(epoch+1, journalEnd, node.JournalMark{})); err == nil {
			t.Error("a view that is not adopted: taken")
		}
		// The stores of these nodes keep no journal: nothing is known of what is behind.
		for _, of := range nodes {
			end, err := n.JournalEnd(t.Context(), epoch, of.self)
			if err != nil || end.Incarnation != of.incarnation {
				t.Fatalf("%+v, %v", end, err)
			}
			for _, mark := range []node.JournalMark{end, {}, {Incarnation: end.Incarnation + 1}, {Incarnation: end.Incarnation, Number: 1 << 63}} {
				if _, _, err := n.Journal(t.Context(), epoch, of.self, mark); !errors.Is(err, node.ErrJournal) {
					t.Errorf("behind %+v: %v", mark, err)
				}
			}
		}
		if err := n.MayAnswer(epoch); err != nil {
			t.Error(err)
		}
		if err := n.MayAnswer(epoch + 1); err == nil {
			t.Error("it may answer under a view that it has not adopted")
		}
	})
}
