// Journals of other members.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/trie"
)

// This file is how a node reads the journals of others: their latest operations on triples with
// some predicates (see [replica.Store.Journal]). It is no way to follow changes for consumers other
// than copies of links: a journal has operations in flight, and ends with the process.

// methodJournal asks a machine for its journal:
//
//	request: epoch uvarint, kind byte, incarnation uvarint, number uvarint
//	answer:  incarnation uvarint, number uvarint, known bool, the journal's end uvarint, n uvarint, n entries
//
// An entry is its key, flags (1 a delete, 2 committed), and epoch and sequence of its stamp.
const methodJournal = "cluster/journal"

// The kinds of requests.
const (
	journalEnd     byte = iota // its end, when all entries before it are committed
	journalBehind              // the entries after a mark
	journalSettled             // the count of changes, when all of them are committed
	journalChanges             // the count of changes
)

const (
	flagDeleted byte = 1 << iota
	flagSettled
)

// journalAnswer is about how many bytes of keys an answer has.
const journalAnswer = 1 << 20

// journals are the journals of this member, and its requests for those of others.
type journals struct {
	localMember
	writes *writes.Writes
}

// JournalEnd returns the end of a member's journal under the view of an epoch. When it returns,
// every operation before the end is committed or never will be.
func (j *journals) JournalEnd(ctx context.Context, epoch uint64, of trie.MachineID) (replica.JournalMark, error) {
	_, end, _, err := j.ask(ctx, of, epoch, journalEnd, replica.JournalMark{})
	return end, err
}

// Journal returns a member's adds and deletes after a mark, and their end. They are all
// operations which are committed when Journal is called and which came under the view of the
// epoch or before. The error is [replica.ErrJournal] if some are not known any more.
func (j *journals) Journal(ctx context.Context, epoch uint64, of trie.MachineID, after replica.JournalMark) (entries []replica.JournalEntry, next replica.JournalMark, err error) {
	until := after.Number
	for next = after; ; {
		some, upTo, end, err := j.ask(ctx, of, epoch, journalBehind, next)
		if err != nil {
			return nil, replica.JournalMark{}, err
		}
		if next == after {
			until = end // entries after the begin of the read are not requested
		}
		if upTo == next && upTo.Number < until {
			return nil, replica.JournalMark{}, fmt.Errorf("%w: the journal of machine %s does not get behind operation %d of %d", peer.ErrMessage, of, upTo.Number, until)
		}
		entries, next = append(entries, some...), upTo
		if next.Number >= until {
			return entries, next, nil
		}
	}
}

// JournalChanges returns the count of a member's changes (see [replica.Store.JournalChanges]),
// under the view of an epoch. If settled is true, all counted operations are committed or dropped
// when it returns, and a later read sees them.
//
// A machine must count an operation before it shows it. So a read has seen exactly the counted
// operations if all members' counts were committed under a view before it and are the same under
// it afterwards.
func (j *journals) JournalChanges(ctx context.Context, epoch uint64, of trie.MachineID, settled bool) (replica.JournalMark, error) {
	kind := journalChanges
	if settled {
		kind = journalSettled
	}
	_, mark, _, err := j.ask(ctx, of, epoch, kind, replica.JournalMark{})
	return mark, err
}

func (j *journals) ask(ctx context.Context, of trie.MachineID, epoch uint64, kind byte, after replica.JournalMark) (entries []replica.JournalEntry, mark replica.JournalMark, end uint64, err error) {
	request := peer.Encode(32, (&journalRequest{epoch: epoch, kind: kind, after: after}).fields)
	var answer []byte
	if of == j.self {
		answer, err = j.answer(ctx, peer.Header{}, request)
	} else {
		answer, err = j.Call(ctx, of, methodJournal, request)
	}
	if err != nil {
		return nil, mark, 0, err
	}
	var part journalPart
	if err := peer.Decode(answer, part.fields); err != nil {
		return nil, mark, 0, err
	}
	if !part.known {
		return nil, mark, 0, fmt.Errorf("machine %s: %w to operation %d", of, replica.ErrJournal, after.Number)
	}
	return part.entries, part.mark, part.end, nil
}

func (j *journals) answer(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	var request journalRequest
	if err := peer.Decode(body, request.fields); err != nil {
		return nil, err
	}
	leave, err := j.Enter(request.epoch)
	if err != nil {
		return nil, err
	}
	left := sync.OnceFunc(leave)
	defer left()
	// The end must come first, because entries after a mark reach it or stop before it.
	part := journalPart{mark: replica.JournalMark{Incarnation: j.incarnation}, known: true, end: j.store.Journal().End()}
	switch request.kind {
	case journalEnd, journalSettled, journalChanges:
		// An operation enters the list of operations in flight before it enters the journal.
		if part.mark.Number = part.end; request.kind != journalEnd {
			if part.mark.Number, part.known = j.store.Journal().Changes(); !part.known {
				return nil, peer.Refuse(peer.CodeUnavailable, request.epoch, "machine %s counts no changes, or takes in rows that it cannot count one by one", j.self)
			}
		}
		if request.kind == journalChanges {
			break
		}
		batches := j.unsettledOrigins()
		left() // because a commit may wait for another view
		if err := j.writes.WaitSettled(ctx, batches); err != nil {
			return nil, peer.Refuse(peer.CodeUnavailable, request.epoch, "%v", err)
		}
	case journalBehind:
		if part.known = request.after.Incarnation == j.incarnation; part.known {
			part.entries, part.mark.Number, err = j.store.Journal().Entries(request.after.Number, journalAnswer)
			if part.known = err == nil; err != nil && !errors.Is(err, replica.ErrJournal) {
				return nil, err
			}
		}
	}
	return part.encode(), nil
}

// unsettledOrigins returns the batches this machine's store cannot call committed yet.
func (j *journals) unsettledOrigins() (batches []replica.Origin) {
	for _, b := range j.store.UnsettledBatches() {
		batches = append(batches, b.Origin)
	}
	return batches
}
