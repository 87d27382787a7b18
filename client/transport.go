// The transport that a client's parts share: its addresses, its HTTP client and its pauses.

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

const (
	maxPageSize       = 10_000
	defaultRetries    = 4
	defaultMinBackoff = 100 * time.Millisecond
	defaultMaxBackoff = 10 * time.Second
	// failoverDialTimeout bounds a connection attempt if there is another address.
	failoverDialTimeout = 3 * time.Second
)

// transport sends requests to one node, or to one of several members of a cluster. It is safe for
// concurrent use.
type transport struct {
	nodes   []url.URL
	current atomic.Int64    // its remainder by len(nodes) is the index of the node that gets requests
	options Options         // without zero values
	own     *http.Transport // closed by closeIdle; nil if HTTPClient was given
}

// newTransport returns a transport to the nodes at addresses, with the defaults of valid options.
func newTransport(addresses string, options Options) (*transport, error) {
	// 1. Check the addresses.
	t := &transport{options: options}
	for address := range strings.SplitSeq(addresses, ",") {
		u, err := url.Parse(strings.TrimSpace(address))
		if err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("client: %q is not the address of a node, like http://127.0.0.1:7333", address)
		}
		t.nodes = append(t.nodes, *u)
	}
	// 2. Fill in the defaults.
	if options.HTTPClient == nil {
		t.own = newHTTPTransport(options.RootCAs)
		if len(t.nodes) > 1 { // a machine that is off does not refuse a connection
			t.own.DialContext = (&net.Dialer{Timeout: failoverDialTimeout}).DialContext
		}
		t.options.HTTPClient = &http.Client{Transport: t.own}
	}
	if options.PageSize == 0 {
		t.options.PageSize = maxPageSize
	}
	if options.Retries == 0 {
		t.options.Retries = defaultRetries
	}
	if options.MinBackoff == 0 {
		t.options.MinBackoff = defaultMinBackoff
	}
	if options.MaxBackoff == 0 {
		t.options.MaxBackoff = max(defaultMaxBackoff, t.options.MinBackoff)
	}
	if options.Sleep == nil {
		t.options.Sleep = sleep
	}
	return t, nil
}

// newHTTPTransport returns a transport for many goroutines and one node.
func newHTTPTransport(roots *x509.CertPool) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	t.MaxIdleConnsPerHost = 256
	t.DisableCompression = true
	return t
}

// closeIdle closes idle connections, unless the HTTP client is the caller's.
func (t *transport) closeIdle() {
	if t.own != nil {
		t.own.CloseIdleConnections()
	}
}

// endpoint returns the URL of an endpoint, such as "/range", below the address of any node.
func (t *transport) endpoint(path string, query url.Values) url.URL {
	return url.URL{Path: path, RawQuery: query.Encode()}
}

// endpointURL returns the URL of an endpoint of a node.
func (t *transport) endpointURL(node int64, target url.URL) string {
	u := t.nodes[node%int64(len(t.nodes))]
	u.Path = strings.TrimSuffix(u.Path, "/") + target.Path
	u.RawPath = ""
	u.RawQuery = target.RawQuery
	return u.String()
}

// leave turns to the next node, unless it has left this one before.
func (t *transport) leave(node int64) { t.current.CompareAndSwap(node, node+1) }

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
func (t *transport) backoff(n int) time.Duration {
	d := t.options.MinBackoff << min(n-1, 20)
	if d <= 0 || d > t.options.MaxBackoff {
		d = t.options.MaxBackoff
	}
	return d - rand.N(d/2+1)
}
