package exec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// Bounds of a request of SERVICE: rows of the query that it is about, and bytes of
// their terms in its text.
const (
	serviceRows  = 500
	serviceBytes = 256 << 10
)

// service joins its input with what other endpoints answer to a pattern (SPARQL 1.1
// Federated Query).
//
// A request is about a block of input rows: it carries, in VALUES, those variables of
// the pattern that all rows of the block bind to IRIs or literals, each combination
// once. So each solution that comes back belongs to one combination, and is joined
// with the block's rows as it arrives. With SILENT the whole answer is read first,
// for an error on the way must leave the rows as they were.
type service struct {
	q       *query
	in      operator
	name    algebra.VarOrTerm
	silent  bool
	pos     ast.Pos
	text    string // of the pattern
	columns []algebra.Column
	slots   []int // of columns
	holder

	view   rowView
	block  *batch
	some   *batch
	asks   []request
	answer *answer
}

// request is rows of the block for one endpoint.
type request struct {
	endpoint string
	rows     []int32
	bytes    int
	err      error // why there is no endpoint
}

func (s *service) next(out *batch) error {
	for {
		if err := s.q.check(); err != nil {
			return err
		}
		if s.answer != nil {
			done, err := s.answer.give(out)
			if err != nil {
				return err
			}
			if done {
				s.answer.close()
				s.answer = nil
			}
			if out.full() || out.n > 0 && done && len(s.asks) == 0 {
				return nil
			}
			continue
		}
		if len(s.asks) > 0 {
			ask := s.asks[0]
			s.asks = s.asks[1:]
			if err := s.ask(ask); err != nil {
				return err
			}
			continue
		}
		if out.n > 0 {
			return nil
		}
		if err := s.fill(); err != nil || s.block.n == 0 {
			return err
		}
	}
}

// fill reads a block of rows and makes requests of them.
func (s *service) fill() error {
	s.block.clear()
	for s.block.n < serviceRows && !s.block.full() {
		if s.some.n == 0 {
			if err := s.in.next(s.some); err != nil {
				return err
			}
			if s.some.n == 0 {
				break
			}
		}
		for i := range s.some.n {
			s.block.add(s.some.row(i), s.some.ord[i])
		}
		s.some.clear()
	}
	byName := map[string]int{}
	for i := range s.block.n {
		s.view.of(s.block.row(i))
		endpoint, err := s.endpoint()
		bytes := 0
		for _, slot := range s.slots {
			bytes += 4 + len(s.block.row(i)[slot])
		}
		at, ok := byName[endpoint]
		if ok {
			ask := &s.asks[at]
			ok = err == nil && len(ask.rows) < serviceRows && ask.bytes+bytes <= serviceBytes
		}
		if !ok {
			at = len(s.asks)
			byName[endpoint] = at
			s.asks = append(s.asks, request{endpoint: endpoint, err: err})
		}
		s.asks[at].rows = append(s.asks[at].rows, int32(i))
		s.asks[at].bytes += bytes
	}
	return nil
}

// endpoint returns the endpoint of the row in view.
func (s *service) endpoint() (string, error) {
	name := s.name.Term
	if s.name.IsVar() {
		if !s.view.Bound(s.name.Slot) {
			return "", errors.New("its variable is not bound")
		}
		name = s.view.Value(s.name.Slot).Term()
	}
	if name.Kind() != triple.IRI {
		return "", fmt.Errorf("its variable is bound to %s, which is no IRI", name)
	}
	return name.Value(), nil
}

// ask sends a request.
func (s *service) ask(ask request) error {
	a := &answer{service: s, endpoint: ask.endpoint, rows: ask.rows, index: map[string][]int32{}, blanks: map[string]triple.Term{}}
	err := ask.err
	if err == nil {
		err = a.open(ask.endpoint, s.query(a))
	}
	if err == nil && s.silent {
		err = a.readAll()
	}
	if err == nil {
		s.answer = a
		return nil
	}
	a.close()
	// What ends the query, or is a limit of ours, is no failure of the endpoint.
	if e := s.q.check(); e != nil {
		return e
	}
	if !s.silent || errors.Is(err, ErrMemory) || errors.Is(err, errScratch) {
		return s.wrap(ask.endpoint, err)
	}
	s.answer = &answer{service: s, rows: ask.rows, failed: true}
	return nil
}

func (s *service) wrap(endpoint string, err error) error {
	if endpoint == "" {
		return fmt.Errorf("SERVICE at %s: %w", s.pos, err)
	}
	return fmt.Errorf("SERVICE <%s> at %s: %w", endpoint, s.pos, err)
}

// query returns the text of a request, and puts the rows into the answer's index.
func (s *service) query(a *answer) string {
	for i, slot := range s.slots {
		sent := true
		for _, at := range a.rows {
			row := s.block.row(int(at))
			if row[slot] == "" || s.view.of(row).Value(slot).Term().Kind() == triple.Blank {
				sent = false
				break
			}
		}
		if sent {
			a.sent = append(a.sent, i)
		}
	}
	var b strings.Builder
	b.WriteString("SELECT * WHERE {\n")
	if len(a.sent) > 0 {
		b.WriteString("  VALUES (")
		for _, i := range a.sent {
			b.WriteString(" ?" + s.columns[i].Name)
		}
		b.WriteString(" ) {\n")
	}
	for _, at := range a.rows {
		row := s.block.row(int(at))
		key := a.key(row)
		a.index[string(key)] = append(a.index[string(key)], at)
		if len(a.sent) == 0 || len(a.index[string(key)]) > 1 {
			continue
		}
		b.WriteString("    (")
		for _, i := range a.sent {
			b.WriteString(" " + ast.TermString(s.view.of(row).Value(s.slots[i]).Term()))
		}
		b.WriteString(" )\n")
	}
	if len(a.sent) > 0 {
		b.WriteString("  }\n")
	}
	b.WriteString(s.text)
	b.WriteString("\n}\n")
	return b.String()
}

func (s *service) stop() {
	if s.answer != nil {
		s.answer.close()
		s.answer = nil
	}
	s.asks = nil
	s.block.clear()
	s.some.clear()
	s.free()
}

func (s *service) reset() { s.stop(); s.in.reset() }
func (s *service) close() { s.stop(); s.in.close() }
