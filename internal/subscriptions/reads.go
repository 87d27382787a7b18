// Subscriptions of kind read: their rows, and the batches of read counts.

package subscriptions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/readcount"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// A subscription of kind read has a second triple, so that each machine finds all of them, with their
// filters, by one range of GSPO. Clients cannot make this range longer, because it is in the system
// graph:
//
//	<urn:trefoil:reads> <urn:trefoil:subscription:NAME> "JSON of Definition.Filter" <urn:trefoil:system>
//	    urn:trefoil:reads    the latest batch of read counts, see package readcount
var readsSubject = triple.NewIRI(systemgraph.Reads)

// readsTerm is the subject, encoded.
var readsTerm, _ = triple.AppendTerm(nil, readsSubject)

// readsRow returns the second triple of a subscription.
func readsRow(d *Definition) (triple.Triple, error) {
	filter, err := json.Marshal(d.Filter)
	return triple.Triple{Subject: readsSubject, Predicate: triple.NewIRI(namePrefix + d.Name), Object: triple.NewString(string(filter)), Graph: systemgraph.Graph}, err
}

// readsPattern returns the pattern of the second triples of a subscription.
func readsPattern(name string) triple.Pattern {
	return triple.Pattern{Subject: readsSubject, Predicate: triple.NewIRI(namePrefix + name), Graph: systemgraph.Graph}
}

// CountsReads reports whether a filter selects reads.
func CountsReads(f feed.Filter) bool { return slices.Contains(f.Kinds, feed.Read) }

// FeedFilter returns the filter with which the feed has all that a subscription of a filter gets: the
// batches of its read counts, too.
func FeedFilter(name string, f feed.Filter) feed.Filter {
	if CountsReads(f) {
		f.Also = &feed.Filter{Pattern: readsPattern(name), Kinds: []feed.Kind{feed.Annotate}, Application: systemgraph.Reads}
	}
	return f
}

// readsRows are the changes that give a subscription its second triple, or none.
type readsRows struct{ old, added []triple.Triple }

// planReads returns what must change of the second triples of a subscription. The error is
// [ErrInvalid] if there are too many subscriptions of kind read.
func (r *Registry) planReads(ctx context.Context, d *Definition) (rows readsRows, err error) {
	f, err := r.Filter(d.Filter)
	if err != nil {
		return rows, err
	}
	row, err := readsRow(d)
	if err != nil {
		return rows, err
	}
	all, err := r.Reads(ctx)
	if err != nil {
		return rows, err
	}
	// 1. Remove what differs.
	exists := false
	for _, s := range all {
		exists = exists || s.Row == row
		if s.Row.Predicate == row.Predicate && (s.Row != row || !CountsReads(f)) {
			rows.old = append(rows.old, s.Row)
		}
	}
	// 2. Add what is missing.
	if !CountsReads(f) || exists {
		return rows, nil
	}
	if len(all)-len(rows.old) >= readcount.MaxSubscriptions {
		return rows, fmt.Errorf("%w: there are %d subscriptions of kind read already", ErrInvalid, readcount.MaxSubscriptions)
	}
	rows.added = []triple.Triple{row}
	return rows, nil
}

// putReads stores and removes second triples.
func (r *Registry) putReads(ctx context.Context, rows readsRows) error {
	if len(rows.old) > 0 {
		if _, err := store.Delete(ctx, r.Store, rows.old); err != nil {
			return err
		}
	}
	if len(rows.added) == 0 {
		return nil
	}
	_, err := store.Add(ctx, r.Store, rows.added)
	return err
}

// Reads implements [readcount.Registry]. A filter that cannot be parsed is left out: an operator has
// written it.
func (r *Registry) Reads(ctx context.Context) (all []readcount.Subscription, err error) {
	reader, err := r.Store.Reader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	for row, err := range reader.Match(ctx, triple.Pattern{Subject: readsSubject, Graph: systemgraph.Graph}, store.ReadOptions{}) {
		if err != nil {
			return nil, err
		}
		t, err := row.Triple()
		if err != nil {
			return nil, err
		}
		var params map[string]string
		if !strings.HasPrefix(t.Predicate.Value(), namePrefix) || json.Unmarshal([]byte(t.Object.Value()), &params) != nil {
			continue
		}
		if f, err := r.Filter(params); err == nil {
			all = append(all, readcount.Subscription{Row: t, Filter: f})
		}
	}
	return all, nil
}

// SaveReads implements [readcount.Registry].
func (r *Registry) SaveReads(ctx context.Context, row triple.Triple, batch []byte) error {
	_, err := store.AnnotateIf(ctx, r.Store, row, systemgraph.Reads, batch, store.Condition{})
	return err
}

// readsOf returns the name of the subscription if a change is a batch of its read counts.
func readsOf(c *feed.Change, terms triple.KeyTerms) (name string, ok bool) {
	if !c.IsReads() || string(terms[triple.Graph]) != string(systemTerm) || string(terms[triple.Subject]) != string(readsTerm) {
		return "", false
	}
	predicate, err := triple.DecodeTerm(terms[triple.Predicate])
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(predicate.Value(), namePrefix)
}
