// The running queries of a node or cluster.

package client

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// RunningQuery is a query, an update or a stream of triples at a node.
type RunningQuery struct {
	ID string `json:"id"` // random; for StopQuery
	// Machine is the ID of the machine at which it runs, and Node is its address.
	Machine string `json:"machine"`
	Node    string `json:"node"`

	Kind string `json:"kind"` // query, update or read
	Text string `json:"text"` // cut at 1,000 bytes
	// User is client, operator, application:ID or anonymous.
	User    string    `json:"user"`
	Request string    `json:"request"` // the ID of its request
	Start   time.Time `json:"start"`
	// Of the time of the list, or of the query's end.
	Milliseconds int64 `json:"milliseconds"`
	Rows         int64 `json:"rows"`
	Memory       int64 `json:"memory"` // bytes
}

// SlowQuery is one that took as long as the node's limit, or longer.
type SlowQuery struct {
	RunningQuery
	Bytes  int64 `json:"bytes"`  // of the answer as sent
	Status int   `json:"status"` // of HTTP
}

// QueryList is what runs at the members of a cluster, or at a node alone, the oldest first, and the last 100 slow queries, the
// latest first.
type QueryList struct {
	Running []RunningQuery `json:"running"`
	Slow    []SlowQuery    `json:"slow"`
	// Absent are the members that did not answer. Their queries are missing in the lists.
	Absent []AbsentMember `json:"absent"`
}

// AbsentMember is a member of which an answer has nothing.
type AbsentMember struct {
	Machine string `json:"machine"` // its ID
	Node    string `json:"node"`    // its address
	Error   string `json:"error"`   // why it did not answer
}

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
