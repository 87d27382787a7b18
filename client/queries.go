// The running queries of a node or cluster.

package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/trefoildb/trefoil/internal/api"
)

// QueryList is the result of [Admin.Queries], with its queries and the members that did not answer.
type (
	QueryList    = api.QueryList
	RunningQuery = api.RunningQuery
	SlowQuery    = api.SlowQuery
	AbsentMember = api.AbsentMember
)

// Queries returns the queries of all members. It needs the operators' token if there is one.
func (c *Admin) Queries(ctx context.Context) (all QueryList, err error) {
	if err := c.get(ctx, c.endpoint("/queries", nil), &all); err != nil {
		return all, fmt.Errorf("list the queries: %w", unwrapPermanent(err))
	}
	return all, nil
}

// StopQuery stops a running query of any member: its client gets [ErrStopped]. It returns the last figures of the query. It
// returns when the query has its signal, which may be before its end. The error is [ErrNotFound] if no query with this ID runs,
// also if an earlier try, whose answer was lost, has stopped it, and [ErrUnavailable] if it may run at a member that
// does not answer.
func (c *Admin) StopQuery(ctx context.Context, id string) (q RunningQuery, err error) {
	text, _, err := c.send(ctx, call{method: http.MethodDelete, target: c.endpoint("/queries/"+id, nil)}, maxJSONBytes)
	if err == nil {
		err = decodeJSON(text, &q)
	}
	if err != nil {
		return q, fmt.Errorf("stop query %s: %w", id, unwrapPermanent(err))
	}
	return q, nil
}
