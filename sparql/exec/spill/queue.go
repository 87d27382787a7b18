// Rows in order of arrival, in memory or in a file.

package spill

import (
	"errors"

	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// Queue is rows in order of arrival: in memory, and if they may go
// to a file no more of them than a part, because nothing needs them there.
type Queue struct {
	scratch *Scratch
	table   solution.Table
	file    *RecordFile
	reader  *RecordReader
	at      int
}

const queuePart = 8

// NewQueue returns an empty queue of rows of a width. It has a holder of its own, under the name
// of h.
func NewQueue(s *Scratch, h *memory.Holder, width int) *Queue {
	return &Queue{scratch: s, table: solution.NewTable(memory.Holder{Account: h.Account, Name: h.Name, Plan: h.Plan}, width)}
}

// Add appends a copy of a row.
func (k *Queue) Add(row []string) error {
	if k.file == nil {
		var err error
		full := k.scratch.Enabled() && k.table.Held+int64(k.table.RowBytes(row)) > k.table.Account.Limit/queuePart
		if !full {
			err = k.table.Add(row)
		}
		if !full && (err == nil || !errors.Is(err, memory.ErrMemory) || !k.scratch.Enabled()) {
			return err
		}
		if k.file, err = k.scratch.Create(&k.table.Holder, k.table.Width); err != nil {
			return err
		}
	}
	return k.file.Add(Record{Row: row})
}

// Finish must be called after the last row, before [Queue.Next].
func (k *Queue) Finish() error {
	if k.file == nil {
		return nil
	}
	k.reader = k.file.NewReader()
	return k.file.Finish()
}

// Next copies the next row into row.
func (k *Queue) Next(row []string) (bool, error) {
	if k.at < k.table.Len {
		copy(row, k.table.Row(k.at))
		k.at++
		return true, nil
	}
	if k.reader == nil {
		return false, nil
	}
	ok, err := k.reader.Next()
	if ok {
		copy(row, k.reader.Row)
	}
	return ok, err
}

func (k *Queue) Close() {
	k.table.Drop()
	k.file.Close()
}
