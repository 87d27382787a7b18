package exec

import (
	"errors"
	"fmt"
	"io"

	"github.com/trefoildb/trefoil/sparql/results"
	"github.com/trefoildb/trefoil/triple"
)

// answer is the solutions that an endpoint gives for a request.
type answer struct {
	service  *service
	endpoint string
	rows     []int32
	sent     []int              // of the columns
	index    map[string][]int32 // rows by the bindings of sent
	blanks   map[string]triple.Term
	failed   bool // the rows stay as they are

	body    io.Closer
	reader  *results.Reader
	columns []int // of the reader's: our slots, or -1
	kept    *kept // of SILENT: all solutions

	found []string // the solution that is being joined
	tries []int32  // the rows to try with it
	buf   []byte
}

// open sends the request and reads the head of the answer.
func (a *answer) open(endpoint, text string) error {
	q := a.service.q
	contentType, body, err := q.opts.Services.Select(q.ctx, endpoint, text)
	if err != nil {
		return err
	}
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
	for _, name := range a.reader.Vars() {
		slot := -1
		for _, column := range a.service.columns {
			if column.Name == name {
				slot = column.Slot
			}
		}
		a.columns = append(a.columns, slot)
	}
	a.found = make([]string, q.width)
	return nil
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
		if t.Kind() == triple.Blank {
			fresh, ok := a.blanks[t.Value()]
			if !ok {
				if err := a.service.grow(len(t.Value()) + 128); err != nil {
					return false, err
				}
				fresh = a.service.q.blanks.next()
				a.blanks[t.Value()] = fresh
			}
			t = fresh
		}
		a.buf = triple.AppendWholeTerm(a.buf[:0], t)
		a.found[slot] = a.service.q.arena.keep(a.buf)
	}
	return true, nil
}

// readAll keeps all solutions.
func (a *answer) readAll() error {
	a.kept = newKept(a.service.q, &a.service.holder)
	for n := 0; ; n++ {
		if n%batchRows == 0 {
			if err := a.service.q.check(); err != nil {
				return err
			}
		}
		ok, err := a.read()
		if err != nil {
			return err
		}
		if !ok {
			return a.kept.finish()
		}
		if err := a.kept.add(a.found); err != nil {
			return err
		}
	}
}

// give joins solutions with rows until out is full or there are no more.
func (a *answer) give(out *batch) (done bool, err error) {
	s := a.service
	if a.failed {
		for ; len(a.rows) > 0 && !out.full(); a.rows = a.rows[1:] {
			out.add(s.block.row(int(a.rows[0])), s.block.ord[a.rows[0]])
		}
		return len(a.rows) == 0, nil
	}
	for n := 1; ; n++ {
		if n%batchRows == 0 {
			if err := s.q.check(); err != nil {
				return false, err
			}
		}
		for len(a.tries) > 0 {
			if out.full() {
				return false, nil
			}
			at := a.tries[0]
			a.tries = a.tries[1:]
			row := s.block.row(int(at))
			if compatible(row, a.found, s.slots) {
				next := out.add(row, s.block.ord[at])
				merge(next, a.found)
				for _, slot := range s.slots {
					out.weigh(next[slot])
				}
			}
		}
		var ok bool
		if a.kept != nil {
			ok, err = a.kept.next(a.found)
		} else if ok, err = a.read(); err != nil {
			if e := s.q.check(); e != nil {
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
		if a.found[a.service.slots[i]] == "" {
			return false // an endpoint that did not join with VALUES
		}
	}
	return true
}

func (a *answer) key(row []string) []byte {
	a.buf = a.buf[:0]
	for _, i := range a.sent {
		a.buf = append(append(a.buf, row[a.service.slots[i]]...), 0, 1)
	}
	return a.buf
}

func (a *answer) close() {
	if a.body != nil {
		_ = a.body.Close() // what is not read is not wanted
		a.body = nil
	}
	if a.kept != nil {
		a.kept.close()
		a.kept = nil
	}
	a.service.free()
}
