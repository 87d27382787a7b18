// Messages about journals.

package cluster

import (
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/triple"
)

// This file encodes and decodes messages about journals; journal.go defines them.

// journalRequest asks about a journal.
type journalRequest struct {
	epoch uint64
	kind  byte                // up to journalChanges
	after replica.JournalMark // of journalBehind
}

func (r journalRequest) encode() []byte {
	e := peer.NewEncoder(32)
	e.Uvarint(r.epoch)
	e.Byte(r.kind)
	e.Uvarint(r.after.Incarnation)
	e.Uvarint(r.after.Number)
	return e.Data()
}

func decodeJournalRequest(body []byte) (r journalRequest, err error) {
	d := peer.NewDecoder(body)
	r.epoch, r.kind = d.Uvarint(), d.Byte()
	r.after = replica.JournalMark{Incarnation: d.Uvarint(), Number: d.Uvarint()}
	if err := d.End(); err != nil {
		return journalRequest{}, err
	}
	if r.kind > journalChanges {
		return journalRequest{}, fmt.Errorf("%w: kind %d", peer.ErrMessage, r.kind)
	}
	return r, nil
}

// journalPart is a part of a journal.
type journalPart struct {
	mark    replica.JournalMark // up to where it goes, or the count of changes
	known   bool                // the journal reaches back so far
	end     uint64              // of the journal
	entries []replica.JournalEntry
}

func (p *journalPart) encode() []byte {
	size := 64
	for i := range p.entries {
		size += len(p.entries[i].Key) + 16
	}
	e := peer.NewEncoder(size)
	e.Uvarint(p.mark.Incarnation)
	e.Uvarint(p.mark.Number)
	e.Bool(p.known)
	e.Uvarint(p.end)
	e.Uvarint(uint64(len(p.entries)))
	for _, entry := range p.entries {
		flags := byte(0)
		if entry.Deleted {
			flags |= flagDeleted
		}
		if entry.Settled {
			flags |= flagSettled
		}
		e.Bytes(entry.Key)
		e.Byte(flags)
		e.Uvarint(entry.Stamp.Epoch)
		e.Uvarint(entry.Stamp.Sequence)
	}
	return e.Data()
}

// decodeJournalPart reads an answer. Keys share memory with it.
func decodeJournalPart(answer []byte) (p journalPart, err error) {
	d := peer.NewDecoder(answer)
	p.mark = replica.JournalMark{Incarnation: d.Uvarint(), Number: d.Uvarint()}
	p.known, p.end = d.Bool(), d.Uvarint()
	p.entries = make([]replica.JournalEntry, d.Count(4))
	for i := range p.entries {
		key, flags := d.Bytes(), d.Byte()
		if d.Err() == nil && flags > flagDeleted|flagSettled {
			return journalPart{}, fmt.Errorf("%w: flags %#x of entry %d", peer.ErrMessage, flags, i)
		}
		stamp := triple.Stamp{Epoch: d.Uvarint(), Sequence: d.Uvarint()}
		p.entries[i] = replica.JournalEntry{Key: key, Deleted: flags&flagDeleted != 0, Stamp: stamp, Settled: flags&flagSettled != 0}
	}
	if err := d.End(); err != nil {
		return journalPart{}, err
	}
	return p, nil
}
