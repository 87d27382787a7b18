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
// The same in SPARQL, with [Client.Query], [Client.Construct], [Client.Ask] and
// [Client.Update]; [Client.Select] takes triple patterns alone:
//
//	for s, err := range c.Select(ctx, `?who <http://example.org/knows> ?whom`, client.QueryOptions{}) {
//
// # What is retried
//
// Reads, Leave and Remove are sent again after a pause that doubles from time to
// time, or the one that the node asks for by Retry-After: if the connection fails, and
// if the node says 429, 502, 503 (but not that rows are lost) or 504. A query is sent
// again only before its first solution.
//
// Each change has a key of its own (Idempotency-Key), by which it is made once, even if
// it is sent several times, through other nodes of a cluster and after restarts:
// otherwise an add that is sent twice could bring back what another client has deleted in
// between. It is sent again if nothing of it was done, and if its outcome is unknown. Of
// Add and Delete, without annotations, the rest is then done; their results count what the last try did, and
// all that an earlier one did as existing or missing. Other changes that had begun return
// [ErrUnknownOutcome], unless the node that had them remembers its answer. Load has no
// key; Load and Backup are never sent again.
//
// Match and Range read page by page. A page is yielded when all of it has come,
// and a broken one is asked for again, so that every triple that is in the store
// throughout is yielded exactly once.
package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options are the parameters of [New]. The zero value is ready to use.
type Options struct {
	// HTTPClient sends the requests; nil is one of the client's own, without time
	// limits: contexts set them.
	HTTPClient *http.Client
	// RootCAs are the certificates to know an https node by; nil is the system's. It is
	// not for where HTTPClient is set.
	RootCAs *x509.CertPool
	// Token is the node's, where it wants one.
	Token string
	// PageSize is how many triples Match and Range ask for at a time; 0 is 10,000,
	// the most that a node gives.
	PageSize int
	// Retries is how often a request is sent again; 0 is 4, less is never.
	Retries int
	// MinBackoff and MaxBackoff bound the pause before a retry; 0 are 100 ms and 10 s.
	MinBackoff, MaxBackoff time.Duration
	// Degraded, where set, is called for each answer of which something came from
	// other copies than it would, because machines of the cluster are away; the
	// answer is complete all the same. The path is that of the request. It is called
	// by whichever goroutine asked.
	Degraded func(path string)
	// Sleep waits for a time or until ctx is done, whose error it then returns; nil
	// is the clock.
	Sleep func(ctx context.Context, d time.Duration) error
}

const (
	maxPageSize       = 10_000
	defaultRetries    = 4
	defaultMinBackoff = 100 * time.Millisecond
	defaultMaxBackoff = 10 * time.Second
)

// Validate says what is wrong with the options.
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

// Client talks to one node. It may be used by any number of goroutines.
type Client struct {
	base    url.URL
	options Options
	own     *http.Transport // closed by Close; nil where HTTPClient was given
}

// New returns a client of the node at a URL like http://127.0.0.1:7333. It does
// not connect yet.
func New(baseURL string, options Options) (*Client, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	u, err := url.Parse(baseURL)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("client: %q is not the address of a node, like http://127.0.0.1:7333", baseURL)
	}
	c := &Client{base: *u, options: options}
	if options.HTTPClient == nil {
		c.own = newTransport(options.RootCAs)
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

// newTransport returns a transport for many goroutines that use one node.
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

// door returns the URL of a door, such as "/range".
func (c *Client) door(path string, query url.Values) string {
	u := c.base
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	u.RawPath = ""
	u.RawQuery = query.Encode()
	return u.String()
}

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

// backoff returns the pause before the n-th retry, from 1: it doubles, up to the
// most, and is cut by up to half at random, so that clients come apart.
func (c *Client) backoff(n int) time.Duration {
	d := c.options.MinBackoff << min(n-1, 20)
	if d <= 0 || d > c.options.MaxBackoff {
		d = c.options.MaxBackoff
	}
	return d - rand.N(d/2+1)
}
