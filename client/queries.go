// The running queries of a node.

package client

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// RunningQuery is a query, an update or a stream of triples at a node.
type RunningQuery struct {
	ID   uint64 `json:"id"`   // for StopQuery
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

// QueryList is what runs at a node, the oldest first, and its last slow queries, the latest first.
type QueryList struct {
	Running []RunningQuery `json:"running"`
	Slow    []SlowQuery    `json:"slow"`
}

// Queries returns the queries of this node. It needs the operators' token if there is one.
func (c *Client) Queries(ctx context.Context) (all QueryList, err error) {
	if err := c.get(ctx, c.endpoint("/queries", nil), &all); err != nil {
		return all, fmt.Errorf("list the queries: %w", unwrapPermanent(err))
	}
	return all, nil
}

// StopQuery stops a running query of this node: its client gets [ErrStopped]. It returns the last
// figures of the query, or [ErrNotFound] if none with this ID runs. It returns when the query has its
// signal, which may be before its end. The client must have one address, and the request is sent once, because
// each process of a node counts its queries from 1: another one may have the ID for another query.
func (c *Client) StopQuery(ctx context.Context, id uint64) (q RunningQuery, err error) {
	if len(c.nodes) > 1 {
		return q, fmt.Errorf("stop query %d: give the address of the node that lists it, because the client has %d addresses", id, len(c.nodes))
	}
	answer, err := c.try(ctx, call{method: http.MethodDelete, target: c.endpoint("/queries/"+strconv.FormatUint(id, 10), nil)}, http.NoBody)
	var text []byte
	if err == nil {
		defer answer.Body.Close()
		text, err = readAll(answer, maxJSONBytes)
	}
	if err == nil {
		err = decodeJSON(text, &q)
	}
	if err != nil {
		return q, fmt.Errorf("stop query %d: %w", id, unwrapPermanent(err))
	}
	return q, nil
}
