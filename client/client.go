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
// [Client.Update]. [Client.Select] accepts triple patterns only:
//
//	for s, err := range c.Select(ctx, `?who <http://example.org/knows> ?whom`, client.QueryOptions{}) {
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
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
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

const (
	maxPageSize       = 10_000
	defaultRetries    = 4
	defaultMinBackoff = 100 * time.Millisecond
	defaultMaxBackoff = 10 * time.Second
)

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

// Client sends requests to one node, or to one of several members of a cluster. It is safe for
// concurrent use.
type Client struct {
	nodes   []url.URL
	current atomic.Int64 // its remainder by len(nodes) is the index of the node that gets requests
	options Options
	own     *http.Transport // closed by Close; nil if HTTPClient was given
}

// New returns a client of the node at a URL like http://127.0.0.1:7333, or of the members of a
// cluster at several, like "http://10.0.0.1:7333,http://10.0.0.2:7333". It does not connect yet. It
// fails if a URL or an option is invalid.
func New(addresses string, options Options) (*Client, error) {
	// 1. Check the options and the addresses.
	if err := options.Validate(); err != nil {
		return nil, err
	}
	c := &Client{options: options}
	for address := range strings.SplitSeq(addresses, ",") {
		u, err := url.Parse(strings.TrimSpace(address))
		if err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("client: %q is not the address of a node, like http://127.0.0.1:7333", address)
		}
		c.nodes = append(c.nodes, *u)
	}
	// 2. Fill in the defaults.
	if options.HTTPClient == nil {
		c.own = newTransport(options.RootCAs)
		if len(c.nodes) > 1 { // a machine that is off does not refuse a connection
			c.own.DialContext = (&net.Dialer{Timeout: failoverDialTimeout}).DialContext
		}
		c.options.HTTPClient = &http.Client{Transport: c.own}
	}
	if options.PageSize == 0 {
		c.options.PageSize = maxPageSize
	}
	if options.Retries == 0 {
		c.options.Retries = defaultRetries
	}
	if options.MinBackoff == 0 {
		c.options.MinBackoff = defaultMinBackoff
	}
	if options.MaxBackoff == 0 {
		c.options.MaxBackoff = max(defaultMaxBackoff, c.options.MinBackoff)
	}
	if options.Sleep == nil {
		c.options.Sleep = sleep
	}
	return c, nil
}

// failoverDialTimeout bounds a connection attempt if there is another address.
const failoverDialTimeout = 3 * time.Second

// newTransport returns a transport for many goroutines and one node.
func newTransport(roots *x509.CertPool) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	t.MaxIdleConnsPerHost = 256
	t.DisableCompression = true
	return t
}

// Close closes idle connections. The client must not be used afterwards.
func (c *Client) Close() error {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}

// endpoint returns the URL of an endpoint, such as "/range", below the address of any node.
func (c *Client) endpoint(path string, query url.Values) url.URL {
	return url.URL{Path: path, RawQuery: query.Encode()}
}

// at returns the URL of an endpoint of a node.
func (c *Client) at(node int64, target url.URL) string {
	u := c.nodes[node%int64(len(c.nodes))]
	u.Path = strings.TrimSuffix(u.Path, "/") + target.Path
	u.RawPath = ""
	u.RawQuery = target.RawQuery
	return u.String()
}

// leave makes the client turn to the next node, unless it has left this one before.
func (c *Client) leave(node int64) { c.current.CompareAndSwap(node, node+1) }

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// backoff returns the pause before the n-th retry, from 1. It doubles up to MaxBackoff. It is cut
// by up to half at random, because clients must not retry at the same moment.
func (c *Client) backoff(n int) time.Duration {
	d := c.options.MinBackoff << min(n-1, 20)
	if d <= 0 || d > c.options.MaxBackoff {
		d = c.options.MaxBackoff
	}
	return d - rand.N(d/2+1)
}
