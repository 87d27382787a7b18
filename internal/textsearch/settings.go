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

// trigramPredicate is that of the triples for the indexed predicates that have trigrams, too.
var trigramPredicate = triple.NewIRI(systemgraph.Prefix + "text:trigrams")

var settingValue = triple.NewTyped("true", "http://www.w3.org/2001/XMLSchema#boolean")

// MaxPredicates is how many predicates may be indexed.
const MaxPredicates = 1000

// ErrInvalid means that no such predicate can be indexed.
var ErrInvalid = errors.New("no predicate for the text index")

func setting(of triple.Term, predicate string) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(predicate), Predicate: of, Object: settingValue, Graph: systemgraph.Graph}
}

// settings are the indexed predicates, and those of them that have trigrams. Both are sorted.
type settings struct{ predicates, trigrams []string }

func (s settings) equal(other settings) bool {
	return slices.Equal(s.predicates, other.predicates) && slices.Equal(s.trigrams, other.trigrams)
}

// hasTrigrams reports whether the segments of a predicate have trigrams.
func (s settings) hasTrigrams(predicate string) bool {
	_, ok := slices.BinarySearch(s.trigrams, predicate)
	return ok
}

// Predicates returns the indexed predicates, sorted.
func (x *Index) Predicates(ctx context.Context) ([]string, error) {
	s, err := x.readSettings(ctx)
	return s.predicates, err
}

// readSettings reads the settings.
func (x *Index) readSettings(ctx context.Context) (s settings, err error) {
	r, err := x.Node.Reader()
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if s.predicates, err = readSetting(ctx, r, settingPredicate); err != nil {
		return s, err
	}
	s.trigrams, err = readSetting(ctx, r, trigramPredicate)
	s.trigrams = slices.DeleteFunc(s.trigrams, func(p string) bool { return !slices.Contains(s.predicates, p) })
	return s, err
}

// readSetting reads the predicates with a setting.
func readSetting(ctx context.Context, r store.Reader, of triple.Term) (list []string, err error) {
	// Order POS, because the system graph has many other rows.
	for row, err := range r.Range(ctx, triple.Bounds{Order: triple.POS, Prefix: []triple.Term{of}}, store.ReadOptions{}) {
		if err != nil {
			return nil, fmt.Errorf("read the indexed predicates: %w", err)
		}
		t, err := row.Triple()
		if err != nil {
			return nil, err
		}
		if systemgraph.Contains(t) && t.Subject.Kind() == triple.IRI && t.Object == settingValue {
			list = append(list, t.Subject.Value())
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// Add makes a predicate be indexed, without trigrams. The index is built in the background. If the predicate has
// trigrams, it is built again.
func (x *Index) Add(ctx context.Context, predicate string) error { return x.add(ctx, predicate, false) }

// AddTrigrams makes a predicate be indexed with trigrams, as Add does without them.
func (x *Index) AddTrigrams(ctx context.Context, predicate string) error {
	return x.add(ctx, predicate, true)
}

func (x *Index) add(ctx context.Context, predicate string, trigrams bool) error {
	if err := triple.NewIRI(predicate).Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	s, err := x.readSettings(ctx)
	if err != nil {
		return err
	}
	if n := len(s.predicates); n >= MaxPredicates && !slices.Contains(s.predicates, predicate) {
		return fmt.Errorf("%w: %d predicates are indexed, and no more are allowed; remove one", ErrInvalid, n)
	}
	ctx = store.WithRequestKey(systemgraph.WithOperator(ctx), "", false)
	add := []triple.Triple{setting(settingPredicate, predicate)}
	if trigrams {
		add = append(add, setting(trigramPredicate, predicate))
	} else if s.hasTrigrams(predicate) {
		if _, err := store.Delete(ctx, x.Node, []triple.Triple{setting(trigramPredicate, predicate)}); err != nil {
			return fmt.Errorf("end the trigrams of %s: %w", predicate, err)
		}
	}
	if _, err := store.Add(ctx, x.Node, add); err != nil {
		return fmt.Errorf("index %s: %w", predicate, err)
	}
	x.waking.Send()
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
	if _, err := store.Delete(ctx, x.Node, []triple.Triple{setting(settingPredicate, predicate), setting(trigramPredicate, predicate)}); err != nil {
		return fmt.Errorf("end the index of %s: %w", predicate, err)
	}
	x.waking.Send()
	return nil
}
