// Queries over HTTP to one system, on connections that stay open.

package peers

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// endpoint is the SPARQL endpoint of a running system. It is safe for concurrent use.
type endpoint struct {
	url  string
	http *http.Client
}

func newEndpoint(url string, connections int) *endpoint {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return promptConn{conn.(*net.TCPConn)}, nil
	}
	return &endpoint{url, &http.Client{Transport: &http.Transport{
		DialContext: dial, MaxIdleConnsPerHost: connections, DisableCompression: true}}}
}

// promptConn acknowledges what it reads at once. Some servers hold the rest of an answer back
// until its beginning is acknowledged, which takes 40 ms otherwise.
type promptConn struct{ *net.TCPConn }

func (c promptConn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	acknowledgeNow(c.TCPConn)
	return n, err
}

// query returns the URL of a query.
func (e *endpoint) query(text string) string {
	separator := "?"
	if strings.Contains(e.url, "?") {
		separator = "&"
	}
	return e.url + separator + "query=" + url.QueryEscape(text)
}

// send sends a query and copies its answer to w. It returns the time until the last byte.
func (e *endpoint) send(ctx context.Context, q query, w io.Writer) (took time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.query(q.text), nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept", q.form.mediaType())
	begun := time.Now()
	resp, err := e.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200)) // a part is better than nothing
		return 0, fmt.Errorf("%s: %q", resp.Status, text)
	}
	_, err = io.Copy(w, resp.Body)
	return time.Since(begun), err
}
