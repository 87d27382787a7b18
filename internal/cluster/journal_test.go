// Tests of journals of two nodes.

package cluster

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// TestJournalMessage: an invalid request is an error, and a valid one is answered only under the
// adopted view.
func TestJournalMessage(t *testing.T) {
	pair(t, -1, func(t *testing.T, nodes []*Node) {
		n := nodes[0]
		epoch := n.View().Epoch
		message := func(epoch uint64, kind byte, after replica.JournalMark) []byte {
			e := peer.NewEncoder(0)
			e.Uvarint(epoch)
			e.Byte(kind)
			e.Uvarint(after.Incarnation)
			e.Uvarint(after.Number)
			return e.Data()
		}
		good := message(epoch, journalEnd, replica.JournalMark{})
		if _, err := n.journals.answer(t.Context(), peer.Header{}, good); err != nil {
			t.Fatal(err)
		}
		for size := range good {
			if _, err := n.journals.answer(t.Context(), peer.Header{}, good[:size]); !errors.Is(err, peer.ErrMessage) {
				t.Errorf("%d bytes of %d: %v", size, len(good), err)
			}
		}
		for name, bad := range map[string][]byte{
			"more":    append(bytes.Clone(good), 0),
			"kind":    message(epoch, journalChanges+1, replica.JournalMark{}),
			"integer": bytes.Repeat([]byte{0xFF}, 30),
		} {
			if _, err := n.journals.answer(t.Context(), peer.Header{}, bad); !errors.Is(err, peer.ErrMessage) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := n.journals.answer(t.Context(), peer.Header{}, message(epoch+1, journalEnd, replica.JournalMark{})); err == nil {
			t.Error("a view that is not adopted: taken")
		}
		// The stores of these nodes keep no journal: nothing is known of what is behind.
		for _, of := range nodes {
			end, err := n.JournalEnd(t.Context(), epoch, of.self)
			if err != nil || end.Incarnation != of.incarnation {
				t.Fatalf("%+v, %v", end, err)
			}
			for _, mark := range []replica.JournalMark{end, {}, {Incarnation: end.Incarnation + 1}, {Incarnation: end.Incarnation, Number: 1 << 63}} {
				if _, _, err := n.Journal(t.Context(), epoch, of.self, mark); !errors.Is(err, replica.ErrJournal) {
					t.Errorf("behind %+v: %v", mark, err)
				}
			}
		}
		for _, settled := range []bool{false, true} {
			var refusal *peer.Refusal
			if mark, err := n.JournalChanges(t.Context(), epoch, nodes[1].self, settled); !errors.As(err, &refusal) || refusal.Code != peer.CodeUnavailable {
				t.Errorf("%+v, %v: a store that counts nothing", mark, err)
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

// TestJournalChanges: each member returns its count under the adopted view. If settled is
// requested, the counted operations must be committed first; otherwise it returns at once.
func TestJournalChanges(t *testing.T) {
	const linksTo = "http://example.org/linksTo"
	pairOf(t, -1, replica.Options{Journal: []string{linksTo}, CountOnly: true}, func(t *testing.T, nodes []*Node) {
		epoch := nodes[0].View().Epoch
		link := triple.Triple{Subject: triple.NewIRI("a:"), Predicate: triple.NewIRI(linksTo), Object: triple.NewIRI("b:")}
		counts := func(settled bool) (all []replica.JournalMark) {
			t.Helper()
			for _, of := range nodes {
				mark, err := nodes[0].JournalChanges(t.Context(), epoch, of.self, settled)
				if err != nil || mark.Incarnation != of.incarnation {
					t.Fatalf("%+v, %v", mark, err)
				}
				all = append(all, mark)
			}
			return all
		}
		before := counts(true)
		if _, err := nodes[1].Add(t.Context(), []triple.Triple{link}); err != nil {
			t.Fatal(err)
		}
		if err := nodes[0].Annotate(t.Context(), link, "a", []byte("x")); err != nil {
			t.Fatal(err)
		}
		after := counts(true)
		for i := range nodes {
			if after[i].Number != before[i].Number+2 {
				t.Errorf("machine %d counts %d changes, and %d before", i, after[i].Number, before[i].Number)
			}
		}
		if _, err := nodes[0].JournalChanges(t.Context(), epoch+1, nodes[1].self, false); err == nil {
			t.Error("a view that is not adopted: told")
		}
		// Operations of a sequencer in flight.
		of := nodes[0]
		o := replica.Origin{Sequencer: nodes[1].self, Incarnation: nodes[1].incarnation, Batch: 1 << 20}
		key, _ := triple.AppendKey(nil, triple.SPO, link)
		d := replica.Delivery{Origin: o, Operations: []replica.Operation{{Kind: store.OperationDelete, Stamp: triple.Stamp{Epoch: epoch, Sequence: 1 << 20}, Key: key}}}
		if err := of.store.Deliver(t.Context(), &d, of.View().Joint()); err != nil {
			t.Fatal(err)
		}
		if now := counts(false); now[0].Number != after[0].Number+1 || now[1] != after[1] {
			t.Errorf("%v, after %v", now, after)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // of virtual time
		defer cancel()
		if mark, err := of.JournalChanges(ctx, epoch, of.self, true); err == nil {
			t.Errorf("%+v is told, and is not settled", mark)
		}
		of.store.Settle(o, nil, nil)
		if now := counts(true); now[0].Number != after[0].Number+1 {
			t.Errorf("%v, after %v", now, after)
		}
		// While a machine ingests rows it cannot count, it returns no count.
		done := of.store.Journal().Break()
		if mark, err := nodes[1].JournalChanges(t.Context(), epoch, of.self, false); err == nil {
			t.Errorf("%+v is told", mark)
		}
		done()
		if now := counts(false); now[0].Number != after[0].Number+2 {
			t.Errorf("%v, after %v", now, after)
		}
	})
}
