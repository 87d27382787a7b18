// Carrying out operations and judging their answers.

package drive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/trefoildb/trefoil/integration/workload"
	"github.com/trefoildb/trefoil/triple"
)

// ErrWrong is wrapped by errors that say what is wrong with a complete answer.
var ErrWrong = errors.New("a wrong answer")

// A Driver carries out operations and knows what answers to them are right. The zero
// value is that of an empty store. It is safe for concurrent use; see
// [workload.Application] on what clients may do at once.
type Driver struct {
	Oracle workload.Oracle
	// Counts says that the store's numbers of changed triples are checked as well.
	Counts bool
}

// loadBatch is how many statements Load adds at a time.
const loadBatch = 500

// Load adds the initial data of an application. It fails if one of its batches does.
func (d *Driver) Load(ctx context.Context, store Store, app workload.Application) error {
	for batch := range slices.Chunk(slices.Collect(app.Statements()), loadBatch) {
		if err := d.Do(ctx, store, workload.Op{Kind: workload.Add, Name: "load", Statements: batch}); err != nil {
			return err
		}
	}
	return nil
}

// Do carries out one operation. It returns an error of the store, or one that wraps
// ErrWrong.
func (d *Driver) Do(ctx context.Context, store Store, op workload.Op) error {
	var err error
	if op.Kind == workload.Find {
		err = d.find(ctx, store, op.Search)
	} else {
		err = d.change(ctx, store, op)
	}
	if err != nil {
		return fmt.Errorf("%s (%v): %w", op.Name, op.Search, err)
	}
	return nil
}

func (d *Driver) change(ctx context.Context, store Store, op workload.Op) error {
	triples, err := triplesOf(op)
	if err != nil {
		return err
	}
	c, err := d.Oracle.Begin(op)
	if err != nil {
		return err
	}
	changed, err := store.Change(ctx, op.Kind == workload.Add, triples)
	outcome := workload.Done
	switch {
	case errors.Is(err, ErrUnknown):
		outcome = workload.Unknown
	case err != nil:
		outcome = workload.NotDone
	case d.Counts && (changed < int64(c.Least) || changed > int64(c.Most)):
		err = fmt.Errorf("%w: %d statements changed, not %d to %d", ErrWrong, changed, c.Least, c.Most)
	}
	return errors.Join(err, d.Oracle.End(c, outcome))
}

func (d *Driver) find(ctx context.Context, store Store, s workload.Search) error {
	return steps(s, func(s workload.Search) ([]workload.Statement, error) { return d.search(ctx, store, s) })
}

// steps makes a search, and those that follow from its answer.
func steps(s workload.Search, search func(workload.Search) ([]workload.Statement, error)) error {
	follow := s.Follow
	s.Follow = nil
	answer, err := search(s)
	for _, property := range follow {
		if err != nil {
			break
		}
		var next []workload.Statement
		seen := make(map[string]bool)
		for _, from := range answer {
			if seen[from.S] {
				continue
			}
			seen[from.S] = true
			some, err := search(workload.Search{Pattern: workload.Statement{P: property, O: from.S}})
			if err != nil {
				return err
			}
			next = append(next, some...)
		}
		answer = next
	}
	return err
}

// search makes one search, has its answer judged and returns it.
func (d *Driver) search(ctx context.Context, store Store, s workload.Search) ([]workload.Statement, error) {
	rows, err := ask(ctx, s)
	if err != nil {
		return nil, err
	}
	read := d.Oracle.Read()
	answer, err := collect(rows(store))
	if err != nil {
		read.Cancel()
		return nil, err
	}
	if err := read.Check(s, answer); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrWrong, err)
	}
	return answer, nil
}

// End checks all that a store holds, in each order, when no operation is in flight
// and none of unknown outcome will be carried out any more.
func (d *Driver) End(ctx context.Context, store Store) error {
	for _, order := range triple.Orders {
		answer, err := collect(store.Range(ctx, triple.Bounds{Order: order}, false, 0))
		if err != nil {
			return err
		}
		if order == triple.SPO {
			err = d.Oracle.Settle(answer)
		} else {
			err = d.Oracle.Read().Check(workload.Search{Order: name(order)}, answer)
		}
		if err != nil {
			return fmt.Errorf("all of %s: %w: %w", name(order), ErrWrong, err)
		}
	}
	return nil
}

func collect(rows iter.Seq2[triple.Triple, error]) (all []workload.Statement, err error) {
	for t, err := range rows {
		if err != nil {
			return nil, err
		}
		all = append(all, statementOf(t))
	}
	return all, nil
}
