// Counts for descriptions: few queries, in bounded time, kept until a triple changes.

package sparql

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/readtimeout"
	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// defaultCountTime bounds the counts of one request.
	defaultCountTime = 900 * time.Millisecond
	// maxListed is the most graphs, properties or classes that a description lists.
	maxListed = 1000
)

// The queries of counts. Each groups rows by x, or has one row.
const (
	countProperties = "SELECT ?x (COUNT(*) AS ?n) { ?s ?x ?o } GROUP BY ?x ORDER BY DESC(?n) ?x"
	countClasses    = "SELECT ?x (COUNT(*) AS ?n) { ?s a ?x } GROUP BY ?x ORDER BY DESC(?n) ?x"
	countGraphs     = "SELECT ?x (COUNT(*) AS ?n) { GRAPH ?x { ?s ?p ?o } } GROUP BY ?x ORDER BY DESC(?n) ?x"
	countObjects    = "SELECT (1 AS ?x) (COUNT(DISTINCT ?o) AS ?n) { ?s ?p ?o }"
	countSubjects   = "SELECT (1 AS ?x) (COUNT(DISTINCT ?s) AS ?n) { ?s ?p ?o }"
)

// group is a term and its number of rows.
type group struct {
	term triple.Term
	n    int64
}

// groups are the groups of a count, the largest first.
type groups struct {
	listed  []group // at most maxListed
	all     int64   // the number of groups
	members int64   // the sum over all groups
}

// figures keeps the counts of one position of the change feed.
type figures struct {
	turn     chan struct{} // has room for one, which is held while a count runs
	position string
	counts   map[string]*groups // by query; nil if it did not end in time
}

// listable returns all groups. It returns none if they are too many to list, or if g is nil.
func (g *groups) listable() []group {
	if g == nil || g.all > maxListed {
		return nil
	}
	return g.listed
}

// count returns the groups of a query as of now. They are nil if the query does not end before ctx, or
// needs too much memory, or if the user may not read all graphs. Such a query is not tried again before the store changes.
func (a *API) count(ctx context.Context, r *request.Request, text string) (*groups, error) {
	if graphrights.FromContext(r.Context()) != nil {
		return nil, nil // the counts are of all graphs, and this user may read some only
	}
	// 1. Wait for the turn, so that equal requests count once. If it is free, ctx may have ended,
	// because a count that is kept takes no time.
	select {
	case a.figures.turn <- struct{}{}:
	default:
		select {
		case a.figures.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, r.Context().Err()
		}
	}
	defer func() { <-a.figures.turn }()
	// 2. Drop the counts if something has changed. The position is read before the rows.
	waiting, cancel := readtimeout.Bound(r.Context())
	defer cancel()
	position, err := a.Store.Feed().Position(waiting)
	if err != nil {
		return nil, err
	}
	if now := position.String(); now != a.figures.position {
		a.figures.position, a.figures.counts = now, map[string]*groups{}
	}
	if found, ok := a.figures.counts[text]; ok {
		return found, nil
	}
	found, err := a.countNow(ctx, text, limits.ClientOf(r.Request))
	if err != nil {
		found = nil
		ended := ctx.Err() != nil && r.Context().Err() == nil
		if !ended && !errors.Is(err, sparql.ErrMemory) {
			return nil, err
		}
	}
	a.figures.counts[text] = found
	return found, nil
}

func (a *API) countNow(ctx context.Context, text, client string) (*groups, error) {
	q, err := a.engine.Prepare(ctx, text, engine.Params{Client: client})
	if err != nil {
		return nil, err
	}
	answer, err := q.Run(ctx)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	found := &groups{}
	for row, err := range answer.Rows() {
		if err != nil {
			return nil, err
		}
		n, err := strconv.ParseInt(row[1].Value(), 10, 64)
		if err != nil {
			return nil, err
		}
		found.all++
		found.members += n
		if len(found.listed) < maxListed {
			found.listed = append(found.listed, group{row[0].Clone(), n})
		}
	}
	return found, nil
}
