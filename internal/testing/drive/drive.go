// Operations, and the judgement of their answers.

package drive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/testing/oracle"
	"github.com/trefoildb/trefoil/triple"
)

// ErrWrong is wrapped by errors about a complete but wrong answer.
var ErrWrong = errors.New("a wrong answer")

// A Driver runs operations and judges their answers. The zero value is that of an empty store. It
// is safe for concurrent use, but clients must keep the rules of [dataset.Application].
type Driver struct {
	Oracle oracle.Oracle
	// Counts makes it check the store's numbers of changed triples too.
	Counts bool
}

// loadBatch is the number of statements in one add of Load.
const loadBatch = 500

// Load adds the initial data of an application. It fails if one of its batches does.
func (d *Driver) Load(ctx context.Context, store Store, app dataset.Application) error {
	for batch := range slices.Chunk(slices.Collect(app.Statements()), loadBatch) {
		if err := d.Do(ctx, store, dataset.Op{Kind: dataset.Add, Name: "load", Statements: batch}); err != nil {
			return err
		}
	}
	return nil
}

// Do runs one operation. The error is the store's, or wraps ErrWrong if the answer is wrong.
func (d *Driver) Do(ctx context.Context, store Store, op dataset.Op) error {
	var err error
	if op.Kind == dataset.Find {
		err = d.find(ctx, store, op.Search)
	} else {
		err = d.change(ctx, store, op)
	}
	if err != nil {
		return fmt.Errorf("%s (%v): %w", op.Name, op.Search, err)
	}
	return nil
}

func (d *Driver) change(ctx context.Context, store Store, op dataset.Op) error {
	triples, err := triplesOf(op)
	if err != nil {
		return err
	}
	c, err := d.Oracle.Begin(op)
	if err != nil {
		return err
	}
	changed, err := store.Change(ctx, op.Kind == dataset.Add, triples)
	outcome := oracle.Done
	switch {
	case errors.Is(err, ErrUnknown):
		outcome = oracle.Unknown
	case err != nil:
		outcome = oracle.NotDone
	case d.Counts && (changed < int64(c.Least) || changed > int64(c.Most)):
		err = fmt.Errorf("%w: %d statements changed, not %d to %d", ErrWrong, changed, c.Least, c.Most)
	}
	return errors.Join(err, d.Oracle.End(c, outcome))
}

func (d *Driver) find(ctx context.Context, store Store, s dataset.Search) error {
	return steps(s, func(s dataset.Search) ([]dataset.Statement, error) { return d.search(ctx, store, s) })
}

// steps makes a search, and then the searches that follow from its answer.
func steps(s dataset.Search, search func(dataset.Search) ([]dataset.Statement, error)) error {
	follow := s.Follow
	s.Follow = nil
	answer, err := search(s)
	for _, property := range follow {
		if err != nil {
			break
		}
		var next []dataset.Statement
		seen := make(map[string]bool)
		for _, from := range answer {
			if seen[from.S] {
				continue
			}
			seen[from.S] = true
			some, err := search(dataset.Search{Pattern: dataset.Statement{P: property, O: from.S}})
			if err != nil {
				return err
			}
			next = append(next, some...)
		}
		answer = next
	}
	return err
}

// search makes one search, lets the oracle judge its answer, and returns the answer.
func (d *Driver) search(ctx context.Context, store Store, s dataset.Search) ([]dataset.Statement, error) {
	rows, err := searchCall(ctx, s)
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

// End checks all contents of a store, in each order. No operation may be in flight, and no change
// of unknown outcome may still be made.
func (d *Driver) End(ctx context.Context, store Store) error {
	for _, order := range triple.Orders {
		answer, err := collect(store.Range(ctx, triple.Bounds{Order: order}, false, 0))
		if err != nil {
			return err
		}
		if order == triple.SPO {
			err = d.Oracle.SetState(answer)
		} else {
			err = d.Oracle.Read().Check(dataset.Search{Order: name(order)}, answer)
		}
		if err != nil {
			return fmt.Errorf("all of %s: %w: %w", name(order), ErrWrong, err)
		}
	}
	return nil
}

func collect(rows iter.Seq2[triple.Triple, error]) (all []dataset.Statement, err error) {
	for t, err := range rows {
		if err != nil {
			return nil, err
		}
		all = append(all, statementOf(t))
	}
	return all, nil
}
