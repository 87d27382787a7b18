// How many rows the backfills of a change read.

package main

import (
	"bytes"
	"slices"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// reading is what the backfills of a change read.
type reading struct {
	read int64 // rows that are looked at
	held int64 // rows that the machines have
}

// maxReaders bounds on how many machines rows are counted; the sums are scaled.
const maxReaders = 8

// reading counts the rows that live machines of a change read, and those that they hold.
func (s *sample) reading(base, target recovery.Layout, dead ...trie.MachineID) (total reading, err error) {
	j := jointOf(base, target, dead)
	readers := j.BaseLive
	if len(readers) > maxReaders {
		readers = nil
		for i := range maxReaders {
			readers = append(readers, j.BaseLive[i*len(j.BaseLive)/maxReaders])
		}
	}
	rows, err := s.rows(j, readers)
	if err != nil {
		return total, err
	}
	for _, m := range readers {
		read, err := readOf(j, m, rows[m])
		if err != nil {
			return total, err
		}
		total.read += read
		total.held += int64(len(rows[m][false]) + len(rows[m][true]))
	}
	total.read = total.read * int64(len(j.BaseLive)) / int64(len(readers))
	total.held = total.held * int64(len(j.BaseLive)) / int64(len(readers))
	return total, nil
}

// rows returns the keys of some machines in base, of their storage and of their replica
// table (true), ascending.
func (s *sample) rows(j *recovery.Joint, of trie.Ring) (rows map[trie.MachineID]map[bool][][]byte, err error) {
	rows = map[trie.MachineID]map[bool][][]byte{}
	for _, m := range of {
		rows[m] = map[bool][][]byte{}
	}
	r := j.Resolver()
	for _, key := range s.keys {
		if err := r.Resolve(key); err != nil {
			return nil, err
		}
		for _, slot := range r.Base() {
			if tables := rows[slot.Machine]; tables != nil {
				tables[slot.Extra] = append(tables[slot.Extra], bytes.Clone(r.Key(slot.Order)))
			}
		}
	}
	for _, tables := range rows {
		for _, keys := range tables {
			slices.SortFunc(keys, bytes.Compare)
		}
	}
	return rows, nil
}

// readOf counts the rows that a machine reads.
func readOf(j *recovery.Joint, m trie.MachineID, tables map[bool][][]byte) (read int64, err error) {
	r, b := j.Resolver(), j.Backfill(m)
	var seek []byte
	for _, span := range b.Ranges {
		keys := tables[span.Replica]
		at, _ := slices.BinarySearchFunc(keys, span.Lo, bytes.Compare)
		for at < len(keys) && span.Contains(keys[at]) {
			read++
			if !span.Sparse {
				at++
				continue
			}
			if err := r.Resolve(keys[at]); err != nil {
				return 0, err
			}
			if seek = b.Skip(seek, keys[at], r.Key(triple.OSP)); seek == nil {
				at++
				continue
			}
			at, _ = slices.BinarySearchFunc(keys, seek, bytes.Compare)
		}
	}
	return read, nil
}
