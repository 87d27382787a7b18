// Package client is the Go client of a trefoil node over HTTP.
//
//	c, err := client.New("http://127.0.0.1:7333", client.Options{})
//	...
//	for t, err := range c.Match(ctx, triple.Pattern{Predicate: knows}) {
//		if err != nil {
//			return err
//		}
//		use(t)
//	}
//
// The same works in SPARQL, with [Client.Query], [Client.Construct], [Client.Ask] and
// [Client.Update]. [SPARQL.Select] accepts triple patterns only:
//
//	for s, err := range c.SPARQL.Select(ctx, `?who <http://example.org/knows> ?whom`, client.QueryOptions{}) {
//
// The other verbs are methods of the client's fields: c.Graphs.Put replaces a graph, c.Text.Search
// searches literals, c.Admin.Check compares the orders.
//
// [Store] is what a Client and an embedded store of package node have in common.
//
// # Retries
//
// Reads, Leave and Remove are sent again if the connection fails, or if the node returns 429, 502,
// 503 (unless rows are lost) or 504. The pause doubles with each try; if the node sends
// Retry-After, it is at least that long. A query is sent again only before its first solution.
//
// Each change has its own key (Idempotency-Key). It is made once, even if it is sent several times,
// through other nodes of a cluster and after restarts. This matters because an add that is sent
// twice could restore a triple that another client has deleted in between. A change is sent again
// if nothing of it was done, or if its outcome is unknown. If an Add without annotations or a
// Delete had begun, the next try does the rest. Its result counts the work of the last try; the
// work of earlier ones counts as existing or missing. Other changes that had begun return
// [ErrUnknownOutcome], unless the node that made them remembers its answer. Load has no key; Load
// and Backup are never sent again.
//
// # Several addresses
//
// The address may be a list of members of one cluster, with commas between them. Requests go to one
// of them. If a connection cannot be made, the request goes to the next one at once; so do Load and
// Backup, because nothing of them was sent. If a connection breaks before the answer, or the node
// returns 502, 503 or 504, the client turns to the next one: what may be sent again is sent there, by
// the rules above.
//
// Match and Range read page by page. A page is yielded when all of it has arrived. If it breaks
// off, it is requested again. So every triple that stays in the store during the read is yielded
// exactly once.
package client

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Options are the parameters of [New]. The zero value is ready to use.
type Options struct {
	// HTTPClient sends the requests. If nil, it is a client without time limits, because contexts
	// set them.
	HTTPClient *http.Client
	// RootCAs are the certificates to verify an https node; nil is the system's. It must be nil if
	// HTTPClient is set.
	RootCAs *x509.CertPool
	// Token is the node's token, if it needs one.
	Token string
	// PageSize is the number of triples in a request of Match and Range; 0 is 10,000, the maximum
	// of a node.
	PageSize int
	// Retries is the number of retries of a request; 0 is 4, a negative number is none.
	Retries int
	// MinBackoff and MaxBackoff bound the pause before a retry; if 0, they are 100 ms and 10 s.
	MinBackoff, MaxBackoff time.Duration
	// Degraded, if set, is called for each degraded answer: a part of it came from other copies,
	// because machines of the cluster are down. The answer is complete. The path is that of the
	// request. The goroutine that calls the client calls Degraded, before the answer is read. So it
	// must be safe for concurrent use if several goroutines use the client.
	Degraded func(path string)
	// Warning, if set, is called for each answer of a query that is empty because filters were errors in
	// every row that they met. The text says which filters and why. It is called as Degraded is.
	Warning func(text string)
	// Sleep waits for a time or until ctx is done, and then returns its error; nil is the clock.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Validate returns an error if an option is out of range or contradicts another one.
func (o Options) Validate() error {
	switch {
	case o.PageSize < 0 || o.PageSize > maxPageSize:
		return fmt.Errorf("client: a page size of %d; it is 1 to %d, or 0 for that", o.PageSize, maxPageSize)
	case o.RootCAs != nil && o.HTTPClient != nil:
		return fmt.Errorf("client: an HTTPClient has certificates of its own; leave RootCAs out")
	case o.MinBackoff < 0 || o.MaxBackoff < 0:
		return fmt.Errorf("client: a negative pause: %s to %s", o.MinBackoff, o.MaxBackoff)
	case strings.ContainsAny(o.Token, "\r\n"):
		return fmt.Errorf("client: the token has a line end in it")
	}
	return nil
}

// Client is a store behind one node, or behind several members of a cluster. It has the verbs of
// every day, and its fields have the others. They are set by [New] and must not be changed. A Client
// and its fields are safe for concurrent use.
type Client struct {
	*transport

	Annotations   *Annotations
	SPARQL        *SPARQL
	Graphs        *Graphs
	Text          *Text
	Links         *Links
	Feed          *Feed
	Subscriptions *Subscriptions
	Functions     *Functions
	Prefixes      *Prefixes
	Admin         *Admin
}

// New returns a client of the node at a URL like http://127.0.0.1:7333, or of the members of a
// cluster at several, like "http://10.0.0.1:7333,http://10.0.0.2:7333". It does not connect yet. It
// fails if a URL or an option is invalid.
func New(addresses string, options Options) (*Client, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	t, err := newTransport(addresses, options)
	if err != nil {
		return nil, err
	}
	c := &Client{
		transport: t, Annotations: &Annotations{t}, Graphs: &Graphs{t}, Text: &Text{t}, Links: &Links{transport: t}, Feed: &Feed{t},
		Subscriptions: &Subscriptions{t}, Functions: &Functions{t}, Prefixes: &Prefixes{t}, Admin: &Admin{t},
	}
	c.SPARQL = &SPARQL{c}
	return c, nil
}

// Close closes idle connections. The client must not be used afterwards.
func (c *Client) Close() error {
	c.closeIdle()
	return nil
}
