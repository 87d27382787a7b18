// The join with an endpoint: blocks of rows become requests.

package service

import (
	"errors"
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/exec/spill"
	"github.com/trefoildb/trefoil/triple"
)

// Bounds of a request of SERVICE: its rows of the query, and bytes of their terms in its text.
const (
	serviceRows  = 500
	serviceBytes = 256 << 10
)

// Join joins its input with the solutions of a pattern at other endpoints (SPARQL 1.1 Federated
// Query).
//
// A request serves a block of input rows. It carries a variable of the pattern in VALUES if all
// rows of the block bind it to IRIs or literals, each combination once. So each returned
// solution belongs to one combination, and is joined with the block's rows as it arrives. With
// SILENT the whole answer is read first, because an error on the way must leave the rows as
// they were.
type Join struct {
	Exec    *exec.Execution
	Input   exec.Operator
	Name    algebra.VarOrTerm
	Silent  bool
	Pos     ast.Pos
	Text    string // of the pattern
	Columns []algebra.Column
	Slots   []int // of columns
	memory.Holder

	view     solution.View
	Block    *solution.Batch
	Some     *solution.Batch
	requests []request
	answer   *answer
}

// request is rows of the block for one endpoint.
type request struct {
	endpoint string
	rows     []int32
	bytes    int
	err      error // why there is no endpoint
}

func (s *Join) Next(out *solution.Batch) error {
	for {
		if err := s.Exec.Check(); err != nil {
			return err
		}
		// 1. Give the rows of the present answer.
		if s.answer != nil {
			done, err := s.answer.give(out)
			if err != nil {
				return err
			}
			if done {
				s.answer.close()
				s.answer = nil
			}
			if out.Full() || out.Len > 0 && done && len(s.requests) == 0 {
				return nil
			}
			continue
		}
		// 2. Send the next request of the block.
		if len(s.requests) > 0 {
			q := s.requests[0]
			s.requests = s.requests[1:]
			if err := s.sendRequest(q); err != nil {
				return err
			}
			continue
		}
		if out.Len > 0 {
			return nil
		}
		if err := s.fill(); err != nil || s.Block.Len == 0 {
			return err
		}
	}
}

// fill reads a block of rows and makes requests of them.
func (s *Join) fill() error {
	s.Block.Clear()
	// 1. Collect rows, because each request is a round trip.
	for s.Block.Len < serviceRows && s.Block.Len*s.Exec.Width < solution.BatchCells && s.Block.Weight < solution.MaxWeight {
		if s.Some.Len == 0 {
			if err := s.Input.Next(s.Some); err != nil {
				return err
			}
			if s.Some.Len == 0 {
				break
			}
		}
		for i := range s.Some.Len {
			s.Block.Add(s.Some.Row(i), s.Some.Origin[i])
		}
		s.Block.Weight += s.Some.Weight
		s.Some.Clear()
	}
	// 2. Divide them by endpoint. A request may not be too large for it.
	byName := map[string]int{}
	for i := range s.Block.Len {
		s.view.MoveTo(s.Block.Row(i), s.Exec.Terms)
		endpoint, err := s.endpoint()
		bytes := 0
		for _, slot := range s.Slots {
			bytes += 4 + len(s.Block.Row(i)[slot])
		}
		at, ok := byName[endpoint]
		if ok {
			q := &s.requests[at]
			ok = err == nil && len(q.rows) < serviceRows && q.bytes+bytes <= serviceBytes
		}
		if !ok {
			at = len(s.requests)
			byName[endpoint] = at
			s.requests = append(s.requests, request{endpoint: endpoint, err: err})
		}
		s.requests[at].rows = append(s.requests[at].rows, int32(i))
		s.requests[at].bytes += bytes
	}
	return nil
}

// endpoint returns the endpoint of the row in view.
func (s *Join) endpoint() (string, error) {
	name := s.Name.Term
	if s.Name.IsVar() {
		if !s.view.Bound(s.Name.Slot) {
			return "", errors.New("its variable is not bound")
		}
		name = s.view.Value(s.Name.Slot).Term()
	}
	if name.Kind() != triple.IRI {
		return "", fmt.Errorf("its variable is bound to %s, which is no IRI", name)
	}
	return name.Value(), nil
}

// sendRequest sends a request to the endpoint.
func (s *Join) sendRequest(ask request) error {
	a := &answer{service: s, endpoint: ask.endpoint, rows: ask.rows, index: map[string][]int32{}, blanks: map[string]triple.Term{}}
	err := ask.err
	if err == nil {
		err = a.open(ask.endpoint, s.query(a))
	}
	if err == nil && s.Silent {
		err = a.readAll()
	}
	if err == nil {
		s.answer = a
		return nil
	}
	a.close()
	// If the query has ended, or a local limit was reached, this is no failure of the endpoint.
	if e := s.Exec.Check(); e != nil {
		return e
	}
	if !s.Silent || errors.Is(err, memory.ErrMemory) || errors.Is(err, spill.ErrFile) {
		return s.wrap(ask.endpoint, err)
	}
	s.answer = &answer{service: s, rows: ask.rows, failed: true}
	return nil
}

func (s *Join) wrap(endpoint string, err error) error {
	if endpoint == "" {
		return fmt.Errorf("SERVICE at %s: %w", s.Pos, err)
	}
	return fmt.Errorf("SERVICE <%s> at %s: %w", endpoint, s.Pos, err)
}

// query returns the text of a request, and puts the rows into the answer's index.
func (s *Join) query(a *answer) string {
	// 1. A column is sent if all rows bind it. Blank nodes mean nothing to another store.
	for i, slot := range s.Slots {
		sent := true
		for _, at := range a.rows {
			row := s.Block.Row(int(at))
			if row[slot] == "" || s.view.MoveTo(row, s.Exec.Terms).Value(slot).Term().HasBlanks() {
				sent = false
				break
			}
		}
		if sent {
			a.sent = append(a.sent, i)
		}
	}
	// 2. VALUES has each combination once; the index leads from it to its rows.
	var b strings.Builder
	b.WriteString("SELECT * WHERE {\n")
	if len(a.sent) > 0 {
		b.WriteString("  VALUES (")
		for _, i := range a.sent {
			b.WriteString(" ?" + s.Columns[i].Name)
		}
		b.WriteString(" ) {\n")
	}
	for _, at := range a.rows {
		row := s.Block.Row(int(at))
		key := a.key(row)
		a.index[string(key)] = append(a.index[string(key)], at)
		if len(a.sent) == 0 || len(a.index[string(key)]) > 1 {
			continue
		}
		b.WriteString("    (")
		for _, i := range a.sent {
			b.WriteString(" " + ast.TermString(s.view.MoveTo(row, s.Exec.Terms).Value(s.Slots[i]).Term()))
		}
		b.WriteString(" )\n")
	}
	if len(a.sent) > 0 {
		b.WriteString("  }\n")
	}
	// 3. The pattern follows as it was written.
	b.WriteString(s.Text)
	b.WriteString("\n}\n")
	return b.String()
}

func (s *Join) stop() {
	if s.answer != nil {
		s.answer.close()
		s.answer = nil
	}
	s.requests = nil
	s.Block.Clear()
	s.Some.Clear()
	s.Free()
}

func (s *Join) Reset() { s.stop(); s.Input.Reset() }
func (s *Join) Close() { s.stop(); s.Input.Close() }
