package cluster

import (
	"context"
	"fmt"
	"sync"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/trie"
)

// This file is how a node reads the journals of others: what has come to them of triples
// with some predicates (see [node.Store.Journal]).

// methodJournal asks a machine for its journal:
//
//	request: epoch uvarint, kind byte, incarnation uvarint, number uvarint
//	answer:  incarnation uvarint, number uvarint, known bool, the journal's end uvarint, n uvarint, n entries
//
// An entry is its key, flags (1 a delete, 2 settled), and epoch and sequence of its stamp.
const methodJournal = "cluster/journal"

// The kinds of requests.
const (
	journalEnd     byte = iota // its end, when all before that is settled
	journalBehind              // what is behind a mark
	journalSettled             // the count of changes, when all of them are settled
	journalChanges             // the count of changes
)

const (
	flagDeleted byte = 1 << iota
	flagSettled
)

// journalAnswer is about how many bytes of keys an answer has.
const journalAnswer = 1 << 20

// JournalEnd returns the end of a member's journal, under the view of an epoch: what was
// before is settled when it returns, or never will be.
func (n *Node) JournalEnd(ctx context.Context, epoch uint64, of trie.MachineID) (node.JournalMark, error) {
	_, end, _, err := n.askJournal(ctx, of, epoch, journalEnd, node.JournalMark{})
	return end, err
}

// Journal returns the adds and deletes that have come to a member behind a mark, and where they end: all that are settled when Journal is called, and
// came to it under the view of the epoch or before. The error is [node.ErrJournal] where some
// are not known any more.
func (n *Node) Journal(ctx context.Context, epoch uint64, of trie.MachineID, after node.JournalMark) (entries []node.JournalEntry, next node.JournalMark, err error) {
	until := after.Number
	for next = after; ; {
		some, upTo, end, err := n.askJournal(ctx, of, epoch, journalBehind, next)
		if err != nil {
			return nil, node.JournalMark{}, err
		}
		if next == after {
			until = end // what comes while it is read is not asked for
		}
		if upTo == next && upTo.Number < until {
			return nil, node.JournalMark{}, fmt.Errorf("%w: the journal of machine %s does not get behind operation %d of %d", peer.ErrMessage, of, upTo.Number, until)
		}
		entries, next = append(entries, some...), upTo
		if next.Number >= until {
			return entries, next, nil
		}
	}
}

// JournalChanges returns the count of a member's changes (see [node.Store.JournalChanges]),
// under the view of an epoch. Where settled is asked for, all that is counted is settled
// when it returns, or never will be: whoever reads then sees it.
//
// So if all members' counts were once told as settled under a view, and are still the same
// under it after a read, that read has seen all that they count and nothing else: what a
// machine shows it has counted before.
func (n *Node) JournalChanges(ctx context.Context, epoch uint64, of trie.MachineID, settled bool) (node.JournalMark, error) {
	kind := journalChanges
	if settled {
		kind = journalSettled
	}
	_, mark, _, err := n.askJournal(ctx, of, epoch, kind, node.JournalMark{})
	return mark, err
}

// MayAnswer returns nil while this machine is a member in an epoch, has adopted its view
// and holds a lease for it: nothing is settled under a later view then.
func (n *Node) MayAnswer(epoch uint64) error {
	leave, err := n.Enter(epoch)
	if err != nil {
		return err
	}
	defer leave()
	return n.Lease()
}

func (n *Node) askJournal(ctx context.Context, of trie.MachineID, epoch uint64, kind byte, after node.JournalMark) (entries []node.JournalEntry, mark node.JournalMark, end uint64, err error) {
	request := journalRequest{epoch: epoch, kind: kind, after: after}.encode()
	var answer []byte
	if of == n.self {
		answer, err = n.handleJournal(ctx, peer.Header{}, request)
	} else {
		answer, err = n.Call(ctx, of, methodJournal, request)
	}
	if err != nil {
		return nil, mark, 0, err
	}
	part, err := decodeJournalPart(answer)
	if err != nil {
		return nil, mark, 0, err
	}
	if !part.known {
		return nil, mark, 0, fmt.Errorf("machine %s: %w to operation %d", of, node.ErrJournal, after.Number)
	}
	return part.entries, part.mark, part.end, nil
}

func (n *Node) handleJournal(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	request, err := decodeJournalRequest(body)
	if err != nil {
		return nil, err
	}
	leave, err := n.Enter(request.epoch)
	if err != nil {
		return nil, err
	}
	left := sync.OnceFunc(leave)
	defer left()
	// The end comes first: what is behind a mark goes that far, or some way.
	part := journalPart{mark: node.JournalMark{Incarnation: n.incarnation}, known: true, end: n.store.JournalEnd()}
	switch request.kind {
	case journalEnd, journalSettled, journalChanges:
		// An operation is in the list of what is not settled before it is in the journal.
		if part.mark.Number = part.end; request.kind != journalEnd {
			if part.mark.Number, part.known = n.store.JournalChanges(); !part.known {
				return nil, refuse(peer.CodeUnavailable, request.epoch, "machine %s counts no changes, or takes in rows that it cannot count one by one", n.self)
			}
		}
		if request.kind == journalChanges {
			break
		}
		batches := n.unsettledOrigins()
		left() // what is settled may wait for another view
		if err := n.writes.WaitSettled(ctx, batches); err != nil {
			return nil, refuse(peer.CodeUnavailable, request.epoch, "%v", err)
		}
	case journalBehind:
		if part.known = request.after.Incarnation == n.incarnation; part.known {
			part.entries, part.mark.Number, part.known = n.store.Journal(request.after.Number, journalAnswer)
		}
	}
	return part.encode(), nil
}

// unsettledOrigins returns what this machine's store does not know to be settled.
func (n *Node) unsettledOrigins() (batches []node.Origin) {
	for _, b := range n.store.UnsettledBatches() {
		batches = append(batches, b.Origin)
	}
	return batches
}

// Hears reports whether a member is heard of: false says that it has been silent for some
// time and may be dead, though it is still a member.
func (n *Node) Hears(id trie.MachineID) bool {
	parts := n.parts.Load()
	if parts == nil || parts.gossip == nil {
		return true
	}
	p, ok := parts.gossip.Peer(id)
	return !ok || p.Alive
}
