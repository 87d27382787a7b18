// Requests to servers, whose answers are read to their ends.

package rig

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// NewHTTP returns a client that keeps up to a number of connections to each node.
func NewHTTP(connections int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true}}
}

// Get sends a request and returns its answer, which the caller must close. Triples come as
// N-Quads, solutions as tab-separated values.
func Get(ctx context.Context, c *http.Client, address string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/n-quads, text/tab-separated-values, application/json;q=0.1, text/plain;q=0.1")
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300)) // a part is better than nothing
		return nil, fmt.Errorf("%s: %s: %s", address, resp.Status, text)
	}
	return resp.Body, nil
}

// GetLines reads an answer to its end and returns the number of its lines.
func GetLines(ctx context.Context, c *http.Client, address string) (lines int64, err error) {
	body, err := Get(ctx, c, address)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	buf := make([]byte, 256<<10)
	for {
		n, err := body.Read(buf)
		lines += int64(bytes.Count(buf[:n], []byte{'\n'}))
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
	}
}
