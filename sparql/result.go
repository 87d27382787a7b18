// Results: solutions, a boolean, or triples.

package sparql

import (
	"context"
	"iter"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/triple"
)

// Result is the result of a query. The query runs while its result is read. A Result belongs to
// one goroutine, and must be read only once.
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

// Plan returns the plan, with the counts of the run so far. It is never nil.
func (r *Result) Plan() *explain.Plan { return r.run.Plan }

// Held returns the bytes counted against [exec.Options.Memory]: 0 after
// Close.
func (r *Result) Held() int64 { return r.run.Held() }

// Rows returns the solutions of a SELECT: a term for each variable, zero if it
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
// than once if there are many. An error ends them.
func (r *Result) Triples() iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		defer r.Close()
		w := &tripleWriter{
			check: r.run.Check, yield: yield, seen: map[triple.Triple]struct{}{}, held: r.run.Hold("triples of the result"),
		}
		defer w.held.Free()
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

// tripleWriter yields triples. If it yielded a triple recently, it skips it.
type tripleWriter struct {
	check func() error
	yield func(triple.Triple, error) bool
	seen  map[triple.Triple]struct{}
	held  *exec.Held
	bytes int
	count int
	ended bool // by the reader
}

// maxSeen bounds the bytes of triples kept by a tripleWriter, if memory allows it.
const maxSeen = 8 << 20

// write reports whether to go on.
func (w *tripleWriter) write(t triple.Triple) (bool, error) {
	if w.count++; w.count%1024 == 0 {
		if err := w.check(); err != nil {
			return false, err
		}
	}
	if _, ok := w.seen[t]; ok {
		return true, nil
	}
	w.remember(t)
	w.ended = !w.yield(t, nil)
	return !w.ended, nil
}

func (w *tripleWriter) remember(t triple.Triple) {
	bytes := 256 + len(t.Subject.Value()) + len(t.Predicate.Value()) + len(t.Object.Value())
	if w.bytes+bytes > maxSeen || w.held.Grow(bytes) != nil {
		clear(w.seen)
		w.held.Free()
		w.bytes = 0
		if w.held.Grow(bytes) != nil {
			return
		}
	}
	w.bytes += bytes
	w.seen[t] = struct{}{}
}

func (r *Result) construct(w *tripleWriter) error {
	blanks := map[string]triple.Term{}
	for r.run.Next() {
		clear(blanks)
		// 1. A blank node of the template is a new one for each solution, but the same within
		// it.
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
		for i := range r.query.Template {
			// 2. If a variable is unbound or a term may not stand in its place, the triple is
			// left out.
			t, ok := r.query.Template[i].Fill(place)
			if !ok {
				continue
			}
			if ok, err := w.write(t); !ok || err != nil {
				return err
			}
		}
	}
	return r.run.Err()
}

// describe gives the triples with a resource as subject, and those of the blank nodes among
// their objects (concise bounded descriptions).
func (r *Result) describe(w *tripleWriter) error {
	d := describer{result: r, w: w, held: r.run.Hold("describe"), seen: map[triple.Term]struct{}{}}
	defer d.held.Free()
	for _, v := range r.query.Describe {
		if ok, err := d.describe(v.Term); !ok || err != nil {
			return err
		}
	}
	for r.run.Next() {
		for _, column := range r.query.Columns {
			if ok, err := d.describe(r.run.Term(column.Slot)); !ok || err != nil {
				return err
			}
		}
	}
	return r.run.Err()
}

// describer holds the described and queued terms, because each must be described once.
type describer struct {
	result *Result
	w      *tripleWriter
	held   *exec.Held
	seen   map[triple.Term]struct{}
	todo   []triple.Term
}

// describe reports whether to go on.
func (d *describer) describe(t triple.Term) (bool, error) {
	if err := d.queue(t); err != nil {
		return false, err
	}
	for len(d.todo) > 0 {
		t := d.todo[len(d.todo)-1]
		d.todo = d.todo[:len(d.todo)-1]
		if ok, err := d.triples(t); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (d *describer) queue(t triple.Term) error {
	if t.Kind() != triple.IRI && t.Kind() != triple.Blank {
		return nil
	}
	if _, ok := d.seen[t]; ok {
		return nil
	}
	if err := d.held.Grow(192 + len(t.Value())); err != nil {
		return err
	}
	d.seen[t] = struct{}{}
	d.todo = append(d.todo, t)
	return nil
}

// triples gives the triples of a subject.
func (d *describer) triples(t triple.Term) (bool, error) {
	if err := d.result.run.Check(); err != nil {
		return false, err
	}
	// 1. Scan the rows of the subject. SPO has the triples of all graphs.
	scan, err := triple.Pattern{Subject: t}.Scan(triple.SPO)
	if err != nil {
		return false, err
	}
	rows, err := d.result.src.Scan(d.result.ctx, scan.Range, false)
	if err != nil {
		return false, err
	}
	defer func() { _ = rows.Close() }() // Err returned its error
	for rows.Next() {
		_, found, err := triple.DecodeKey(rows.Row())
		if err != nil {
			return false, err
		}
		// 2. A description has no graphs. A blank node must be described too, because its name
		// means nothing outside.
		found.Graph = triple.Term{}
		_, err = found.Object.MapBlanks(func(node triple.Term) (triple.Term, error) { return node, d.queue(node) })
		if err != nil {
			return false, err
		}
		if ok, err := d.w.write(found); !ok || err != nil {
			return false, err
		}
	}
	return true, rows.Err()
}
