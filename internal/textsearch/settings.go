// The indexed predicates: triples of the system graph.

package textsearch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// settingPredicate is the predicate of the triples of the system graph whose subjects are the indexed predicates.
var settingPredicate = triple.NewIRI(systemgraph.Prefix + "text:indexed")

var settingValue = triple.NewTyped("true", "http://www.w3.org/2001/XMLSchema#boolean")

// MaxPredicates is how many predicates may be indexed.
const MaxPredicates = 1000

// ErrInvalid means that no such predicate can be indexed.
var ErrInvalid = errors.New("no predicate for the text index")

func setting(predicate string) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(predicate), Predicate: settingPredicate, Object: settingValue, Graph: systemgraph.Graph}
}

// Predicates returns the indexed predicates, sorted.
func (x *Index) Predicates(ctx context.Context) ([]string, error) {
	r, err := x.node.Reader()
	if err != nil {
		return nil, err
	}
	list, err := readSettings(ctx, r)
	return list, errors.Join(err, r.Close())
}

// readSettings reads the indexed predicates.
func readSettings(ctx context.Context, r store.Reader) (list []string, err error) {
	for row, err := range r.Match(ctx, triple.Pattern{Predicate: settingPredicate, Graph: systemgraph.Graph}, store.ReadOptions{}) {
		if err != nil {
			return nil, fmt.Errorf("read the indexed predicates: %w", err)
		}
		t, err := row.Triple()
		if err != nil {
			return nil, err
		}
		if t.Subject.Kind() == triple.IRI && t.Object == settingValue {
			list = append(list, t.Subject.Value())
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// Add makes a predicate be indexed. The index is built in the background.
func (x *Index) Add(ctx context.Context, predicate string) error {
	if err := triple.NewIRI(predicate).Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	list, err := x.Predicates(ctx)
	if err != nil {
		return err
	}
	if len(list) >= MaxPredicates && !slices.Contains(list, predicate) {
		return fmt.Errorf("%w: %d predicates are indexed, and no more are allowed; remove one", ErrInvalid, len(list))
	}
	ctx = store.WithRequestKey(systemgraph.WithOperator(ctx), "", false)
	if _, err := x.node.Add(ctx, []triple.Triple{setting(predicate)}); err != nil {
		return fmt.Errorf("index %s: %w", predicate, err)
	}
	x.wake()
	return nil
}

// Remove ends the index of a predicate. The error wraps [store.ErrNotFound] if there is none.
func (x *Index) Remove(ctx context.Context, predicate string) error {
	list, err := x.Predicates(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(list, predicate) {
		return fmt.Errorf("%s is not indexed: %w", predicate, store.ErrNotFound)
	}
	ctx = store.WithRequestKey(systemgraph.WithOperator(ctx), "", false)
	if _, err := x.node.Delete(ctx, []triple.Triple{setting(predicate)}); err != nil {
		return fmt.Errorf("end the index of %s: %w", predicate, err)
	}
	x.wake()
	return nil
}
