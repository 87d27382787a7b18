// Contexts from other hosts.

package contexts

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/outbound"
	"github.com/trefoildb/trefoil/rdfload/jsonld"
	"github.com/trefoildb/trefoil/triple/iri"
)

const (
	// keepTime is how long a fetched context is used again, and keepBytes how much is kept.
	keepTime  = time.Hour
	keepBytes = 32 << 20
	// maxRequests bounds the requests at a time.
	maxRequests = 16
	// failTime is how long a failure holds, because the documents of a load may all name the same
	// context.
	failTime = 5 * time.Second

	contextTypes = `application/ld+json;profile="http://www.w3.org/ns/json-ld#context", application/ld+json, application/json;q=0.9, */*;q=0.1`
)

// fetching is a context that is fetched, or was.
type fetching struct {
	done    chan struct{}
	until   time.Time // from then on it is fetched again. Set, as the rest, before done is closed
	context *jsonld.Context
	bytes   int64
	err     error
}

// isOver reports whether f ended and holds no more.
func (f *fetching) isOver(now time.Time) bool {
	select {
	case <-f.done:
		return now.After(f.until)
	default:
		return false
	}
}

// fetch returns a context of another host. Concurrent calls share one request.
func (s *Set) fetch(ctx context.Context, url string) (*jsonld.Context, error) {
	s.mu.Lock()
	f := s.fetched[url]
	if f == nil || f.isOver(time.Now()) {
		s.forget(url)
		f = &fetching{done: make(chan struct{})}
		s.fetched[url] = f
		// It goes on if this caller has gone, because others may wait for it. Its time is bounded.
		s.tasks.Go(func() { s.run(f, url) })
	}
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.context, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// run fetches a context.
func (s *Set) run(f *fetching, url string) {
	// 1. Send the request when there is a slot, within its time.
	ctx, cancel := context.WithTimeout(s.ctx, s.opts.Timeout)
	defer cancel()
	var c *jsonld.Context
	var n int64
	var err error
	select {
	case s.slots <- struct{}{}:
		c, n, err = s.get(ctx, url, true)
		<-s.slots
	case <-ctx.Done():
		err = ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		// The callers' own time has not ended.
		err = fmt.Errorf("%w: it took more than %s", outbound.ErrNetwork, s.opts.Timeout)
	}
	// 2. Keep what came of it.
	f.context, f.bytes, f.err, f.until = c, n, err, time.Now().Add(keepTime)
	if err != nil {
		f.until = time.Now().Add(failTime)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += f.bytes
	close(f.done)
	if s.bytes > keepBytes || len(s.fetched) > maxFetched {
		s.shrink(url)
	}
}

// maxFetched bounds the URLs whose contexts or failures are kept, because a document may name any.
const maxFetched = 1000

// shrink forgets all that has ended but one URL. It is called seldom, so an order of use is not kept.
func (s *Set) shrink(but string) {
	for url, f := range s.fetched {
		select {
		case <-f.done:
			if url != but {
				s.forget(url)
			}
		default:
		}
	}
}

// forget removes what was fetched from a URL. s.mu must be held.
func (s *Set) forget(url string) {
	if f := s.fetched[url]; f != nil {
		s.bytes -= f.bytes
		delete(s.fetched, url)
	}
}

// get sends the request for a context, and a second one if the answer names the context by a link, as
// that of schema.org does. n is the size of the context.
func (s *Set) get(ctx context.Context, url string, follow bool) (c *jsonld.Context, n int64, err error) {
	// 1. Send the request.
	a, err := s.client.Do(ctx, http.MethodGet, url, http.Header{"Accept": {contextTypes}}, "")
	if err != nil {
		return nil, 0, err
	}
	defer a.Body.Close()
	if !isJSON(a.Header.Get("Content-Type")) {
		target := alternate(a.Header.Values("Link"))
		if target == "" || !follow {
			return nil, 0, fmt.Errorf("%w: the content type of its answer is %q, not JSON", outbound.ErrNetwork, outbound.Printable(a.Header.Get("Content-Type")))
		}
		if target, err = iri.Resolve(a.URL.String(), target); err != nil {
			return nil, 0, fmt.Errorf("%w: its link to the context: %w", outbound.ErrNetwork, err)
		}
		return s.get(ctx, target, false)
	}
	// 2. Decompress it, within bounds of both sizes.
	body := outbound.Bounded(a.Body, maxBytes, maxBytes)
	switch coding := a.Header.Get("Content-Encoding"); coding {
	case "", "identity":
	case "gzip", "x-gzip":
		if body, err = gzip.NewReader(body); err != nil {
			return nil, 0, fmt.Errorf("%w: its answer is no gzip", outbound.ErrNetwork)
		}
	default:
		return nil, 0, fmt.Errorf("%w: it is coded as %q, which was not asked for", outbound.ErrNetwork, outbound.Printable(coding))
	}
	counted := &counter{Reader: body}
	if c, err = parse(counted, url); err == nil {
		c.URL = a.URL.String()
	}
	return c, counted.n, err
}

// counter counts the bytes that are read.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// isJSON reports whether a content type may be one of JSON. Hosts of source code send text/plain.
func isJSON(contentType string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	switch mediaType {
	case "application/json", "text/plain", "application/octet-stream":
		return true
	}
	return contentType == "" || err == nil && strings.HasSuffix(mediaType, "+json")
}

// alternate returns the target of the link to a JSON-LD document (RFC 8288); "" if there is none.
func alternate(links []string) string {
	for _, link := range links {
		for link != "" {
			var target, parameters string
			var ok bool
			if _, link, ok = strings.Cut(link, "<"); !ok {
				break
			}
			if target, link, ok = strings.Cut(link, ">"); !ok {
				break
			}
			// The next link begins behind a comma.
			parameters, link, _ = strings.Cut(link, ",")
			_, values, err := mime.ParseMediaType("link" + parameters)
			if err == nil && values["rel"] == "alternate" && values["type"] == "application/ld+json" {
				return target
			}
		}
	}
	return ""
}
