package sparql

import (
	"context"
	"iter"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/triple"
)

// Result is the result of a query, which is executed as it is read. It belongs to
// one goroutine, and is read once.
type Result struct {
	Form ast.Form
	Vars []string // of SELECT: the names of the variables

	ctx   context.Context
	src   Source
	query *algebra.Query
	run   *exec.Run
}

// Close ends the execution.
func (r *Result) Close() { r.run.Close() }

// Plan returns the plan, with what the run did so far.
func (r *Result) Plan() *exec.Plan { return r.run.Plan }

// Rows returns the solutions of a SELECT: a term for each variable, zero where it
// is unbound. The slice is valid until the next step. An error ends the solutions.
func (r *Result) Rows() iter.Seq2[[]triple.Term, error] {
	return func(yield func([]triple.Term, error) bool) {
		defer r.Close()
		row := make([]triple.Term, len(r.query.Columns))
		for r.run.Next() {
			for i, column := range r.query.Columns {
				row[i] = r.run.Term(column.Slot)
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := r.run.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// Boolean returns the result of an ASK.
func (r *Result) Boolean() (bool, error) {
	defer r.Close()
	return r.run.Next(), r.run.Err()
}

// Triples returns the triples of a CONSTRUCT or DESCRIBE. A triple may come more
// than once where there are many. An error ends them.
func (r *Result) Triples() iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		defer r.Close()
		w := &tripleWriter{yield: yield, seen: map[triple.Triple]struct{}{}}
		var err error
		if r.Form == ast.Describe {
			err = r.describe(w)
		} else {
			err = r.construct(w)
		}
		if err != nil && !w.ended {
			yield(triple.Triple{}, err)
		}
	}
}

// tripleWriter yields triples, and those that it saw lately only once.
type tripleWriter struct {
	yield func(triple.Triple, error) bool
	seen  map[triple.Triple]struct{}
	bytes int
	ended bool
}

// maxSeen is how many bytes of triples a tripleWriter remembers.
const maxSeen = 8 << 20

func (w *tripleWriter) write(t triple.Triple) bool {
	if _, ok := w.seen[t]; ok {
		return true
	}
	w.bytes += 256 + len(t.Subject.Value()) + len(t.Predicate.Value()) + len(t.Object.Value())
	if w.bytes > maxSeen {
		clear(w.seen)
		w.bytes = 0
	}
	w.seen[t] = struct{}{}
	if !w.yield(t, nil) {
		w.ended = true
	}
	return !w.ended
}

func (r *Result) construct(w *tripleWriter) error {
	blanks := map[string]triple.Term{}
	for r.run.Next() {
		clear(blanks)
		place := func(v algebra.VarOrTerm) triple.Term {
			if v.IsVar() {
				return r.run.Term(v.Slot)
			}
			if v.Term.Kind() != triple.Blank {
				return v.Term
			}
			fresh, ok := blanks[v.Term.Value()]
			if !ok {
				fresh = r.run.NewBlank()
				blanks[v.Term.Value()] = fresh
			}
			return fresh
		}
		for _, p := range r.query.Template {
			t := triple.Triple{Subject: place(p.Subject), Predicate: place(p.Predicate), Object: place(p.Object)}
			// An unbound variable or a term out of its place leaves the triple out.
			if t.Subject.Kind() != triple.IRI && t.Subject.Kind() != triple.Blank ||
				t.Predicate.Kind() != triple.IRI || t.Object.IsZero() {
				continue
			}
			if !w.write(t) {
				return nil
			}
		}
	}
	return r.run.Err()
}

// describe gives the triples of which a resource is the subject, and those of
// the blank nodes among their objects (concise bounded descriptions).
func (r *Result) describe(w *tripleWriter) error {
	seen := map[triple.Term]bool{}
	for _, v := range r.query.Describe {
		if ok, err := r.describeTerm(w, v.Term, seen); !ok || err != nil {
			return err
		}
	}
	for r.run.Next() {
		for _, column := range r.query.Columns {
			if ok, err := r.describeTerm(w, r.run.Term(column.Slot), seen); !ok || err != nil {
				return err
			}
		}
	}
	return r.run.Err()
}

func (r *Result) describeTerm(w *tripleWriter, t triple.Term, seen map[triple.Term]bool) (bool, error) {
	todo := []triple.Term{t}
	for len(todo) > 0 {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if t.Kind() != triple.IRI && t.Kind() != triple.Blank || seen[t] {
			continue
		}
		seen[t] = true
		scan, err := triple.Pattern{Subject: t}.Scan(triple.SPO)
		if err != nil {
			return false, err
		}
		rows, err := r.src.Scan(r.ctx, scan.Range, false)
		if err != nil {
			return false, err
		}
		for rows.Next() {
			_, found, err := triple.DecodeKey(rows.Key(), rows.Value())
			if err != nil {
				_ = rows.Close()
				return false, err
			}
			found.Graph = triple.Term{}
			if found.Object.Kind() == triple.Blank {
				todo = append(todo, found.Object)
			}
			if !w.write(found) {
				return false, rows.Close()
			}
		}
		err = rows.Err()
		if e := rows.Close(); err == nil {
			err = e
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}
