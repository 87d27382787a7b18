// The answer of an endpoint, joined with rows as it arrives.

package service

import (
	"errors"
	"fmt"
	"io"

	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/exec/spill"
	"github.com/trefoildb/trefoil/sparql/results"
	"github.com/trefoildb/trefoil/triple"
)

// answer is the solutions of an endpoint for a request.
type answer struct {
	service  *Join
	endpoint string
	rows     []int32
	sent     []int              // of the columns
	index    map[string][]int32 // rows by the bindings of sent
	blanks   map[string]triple.Term
	failed   bool // the rows stay as they are

	body    io.Closer
	reader  *results.Reader
	columns []int        // of the reader's: our slots, or -1
	kept    *spill.Queue // of SILENT: all solutions

	found []string // the solution being joined
	tries []int32  // the rows to try with it
	buf   []byte
}

// open sends the request and reads the head of the answer.
func (a *answer) open(endpoint, text string) error {
	q := a.service.Exec
	contentType, body, err := q.Options.Services.Select(q.Ctx, endpoint, text)
	if err != nil {
		return err
	}
	// The body is closed with the answer, even if its head is bad.
	a.body = body
	format, ok := results.FormatOf(contentType)
	if !ok {
		return fmt.Errorf("the answer is of type %q, which is no format of results", contentType)
	}
	if a.reader, err = results.NewReader(body, format); err != nil {
		return err
	}
	if _, ok := a.reader.Boolean(); ok {
		return errors.New("the answer is that of an ASK")
	}
	// The endpoint may give columns in any order, and ones not requested.
	for _, name := range a.reader.Vars() {
		slot := -1
		for _, column := range a.service.Columns {
			if column.Name == name {
				slot = column.Slot
			}
		}
		a.columns = append(a.columns, slot)
	}
	a.found = make([]string, q.Width)
	return nil
}

// freshBlank returns the blank node of the query for one of the answer.
func (a *answer) freshBlank(node triple.Term) (triple.Term, error) {
	fresh, ok := a.blanks[node.Value()]
	if !ok {
		if err := a.service.Grow(len(node.Value()) + 128); err != nil {
			return fresh, err
		}
		fresh = a.service.Exec.Blanks.Next()
		a.blanks[node.Value()] = fresh
	}
	return fresh, nil
}

// read reads the next solution into found.
func (a *answer) read() (bool, error) {
	if !a.reader.Next() {
		return false, a.reader.Err()
	}
	clear(a.found)
	for i, t := range a.reader.Row() {
		slot := a.columns[i]
		if slot < 0 || t.IsZero() {
			continue
		}
		t, err := t.MapBlanks(a.freshBlank)
		if err != nil {
			return false, err
		}
		a.buf = triple.AppendWholeTerm(a.buf[:0], t)
		a.found[slot] = a.service.Exec.Arena.Copy(a.buf)
	}
	return true, nil
}

// readAll keeps all solutions.
func (a *answer) readAll() error {
	a.kept = spill.NewQueue(&a.service.Exec.Scratch, &a.service.Holder, a.service.Exec.Width)
	for n := 0; ; n++ {
		if n%solution.BatchRows == 0 {
			if err := a.service.Exec.Check(); err != nil {
				return err
			}
		}
		ok, err := a.read()
		if err != nil {
			return err
		}
		if !ok {
			return a.kept.Finish()
		}
		if err := a.kept.Add(a.found); err != nil {
			return err
		}
	}
}

// give joins solutions with rows until out is full or there are no more.
func (a *answer) give(out *solution.Batch) (done bool, err error) {
	s := a.service
	// 1. A failed request of SERVICE SILENT leaves its rows as they were.
	if a.failed {
		for ; len(a.rows) > 0 && !out.Full(); a.rows = a.rows[1:] {
			out.Add(s.Block.Row(int(a.rows[0])), s.Block.Origin[a.rows[0]])
		}
		return len(a.rows) == 0, nil
	}
	for n := 1; ; n++ {
		if n%solution.BatchRows == 0 {
			if err := s.Exec.Check(); err != nil {
				return false, err
			}
		}
		// 2. Join the solution with the rows of its combination.
		for len(a.tries) > 0 {
			if out.Full() {
				return false, nil
			}
			at := a.tries[0]
			a.tries = a.tries[1:]
			row := s.Block.Row(int(at))
			if solution.Compatible(row, a.found, s.Slots) {
				next := out.Add(row, s.Block.Origin[at])
				solution.Merge(next, a.found)
				for _, slot := range s.Slots {
					out.AddWeight(next[slot])
				}
			}
		}
		// 3. Read the next solution. If the query has ended, its error goes before the
		// endpoint's.
		var ok bool
		if a.kept != nil {
			ok, err = a.kept.Next(a.found)
		} else if ok, err = a.read(); err != nil {
			if e := s.Exec.Check(); e != nil {
				return false, e
			}
			err = s.wrap(a.endpoint, err)
		}
		if err != nil || !ok {
			return true, err
		}
		a.tries = a.rows
		if a.allSent() {
			a.tries = a.index[string(a.key(a.found))]
		}
	}
}

func (a *answer) allSent() bool {
	for _, i := range a.sent {
		if a.found[a.service.Slots[i]] == "" {
			return false // the endpoint did not join with VALUES
		}
	}
	return true
}

func (a *answer) key(row []string) []byte {
	a.buf = a.buf[:0]
	for _, i := range a.sent {
		a.buf = append(append(a.buf, row[a.service.Slots[i]]...), 0, 1)
	}
	return a.buf
}

func (a *answer) close() {
	if a.body != nil {
		_ = a.body.Close() // the rest of the body is not needed
		a.body = nil
	}
	if a.kept != nil {
		a.kept.Close()
		a.kept = nil
	}
	a.service.Free()
}
