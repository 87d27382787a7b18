// Messages about journals.

package cluster

import (
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
)

// This file encodes and decodes messages about journals; journal.go defines them.

// journalRequest asks about a journal.
type journalRequest struct {
	epoch uint64
	kind  byte                // up to journalChanges
	after replica.JournalMark // of journalBehind
}

func (r *journalRequest) fields(c *peer.Coder) {
	c.Uvarint(&r.epoch)
	peer.Byte(c, &r.kind)
	c.Uvarint(&r.after.Incarnation, &r.after.Number)
	if r.kind > journalChanges {
		c.Fail("kind %d", r.kind)
	}
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
	return peer.Encode(size, p.fields)
}

// fields codes an answer. Decoded keys share memory with the message.
func (p *journalPart) fields(c *peer.Coder) {
	c.Uvarint(&p.mark.Incarnation, &p.mark.Number)
	c.Bool(&p.known)
	c.Uvarint(&p.end)
	peer.List(c, &p.entries, 4, codeEntry)
}

func codeEntry(entry *replica.JournalEntry, c *peer.Coder) {
	flags := byte(0)
	if entry.Deleted {
		flags |= flagDeleted
	}
	if entry.Settled {
		flags |= flagSettled
	}
	c.Bytes(&entry.Key)
	if peer.Byte(c, &flags); flags > flagDeleted|flagSettled {
		c.Fail("flags %#x", flags)
	}
	if c.Reading() {
		entry.Deleted, entry.Settled = flags&flagDeleted != 0, flags&flagSettled != 0
	}
	c.Uvarint(&entry.Stamp.Epoch, &entry.Stamp.Sequence)
}
