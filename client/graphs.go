// Whole graphs: the SPARQL 1.1 Graph Store HTTP Protocol.

package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"

	"github.com/trefoildb/trefoil/triple"
)

// Graphs reads and changes whole graphs.
type Graphs struct{ *transport }

// GraphName names a graph: an IRI, [DefaultGraph], or [Dataset] for all graphs.
type GraphName string

const (
	// Dataset is the whole dataset. Its documents are TriG, N-Quads or JSON-LD.
	Dataset GraphName = ""
	// DefaultGraph is the graph without a name.
	DefaultGraph GraphName = "default"
)

// endpoint returns the endpoint of a graph.
func (g GraphName) endpoint(t *transport) url.URL {
	switch g {
	case Dataset:
		return t.endpoint("/data", nil)
	case DefaultGraph:
		return t.endpoint("/data", url.Values{"default": {""}})
	}
	return t.endpoint("/data", url.Values{"graph": {string(g)}})
}

// GraphResult counts the triples of a change of a graph.
type GraphResult struct {
	Added    int64 // by Post: triples that did not exist
	Existing int64 // by Post: the others
	Deleted  int64 // by Delete
	// Repeated is true if an earlier try made the change. The counts are then unknown.
	Repeated bool
}

// Get returns the document of a graph in a syntax that mediaType names, such as "text/turtle". The
// node reads the graph while the document is read. A document is complete only if reading it ends with
// io.EOF. The caller must close it. A named graph without triples is [ErrNotFound]. It is sent
// again only before the document begins.
func (c *Graphs) Get(ctx context.Context, g GraphName, mediaType string) (io.ReadCloser, error) {
	what := call{method: http.MethodGet, target: g.endpoint(c.transport), header: http.Header{"Accept": {mediaType}}}
	var answer *http.Response
	err := c.retry(ctx, func() (err error) {
		answer, err = c.try(ctx, what, nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read graph: %w", err)
	}
	return answer.Body, nil
}

// Triples yields the triples of a graph, or of all graphs. An error ends them.
func (c *Graphs) Triples(ctx context.Context, g GraphName) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		document, err := c.Get(ctx, g, mediaNQuads)
		if err != nil {
			yield(triple.Triple{}, err)
			return
		}
		defer document.Close()
		sc := triple.NewScanner(document, triple.ScanOptions{Source: "answer", Quads: true, MaxLine: maxPageBytes})
		for sc.Scan() {
			if !yield(sc.Triple().Clone(), nil) {
				return
			}
		}
		if err := sc.Err(); err != nil {
			yield(triple.Triple{}, fmt.Errorf("read graph: %w", brokenOff(err)))
		}
	}
}

// Put replaces a graph, or all graphs, by a document of a media type. It is durable when it
// returns. On a lone node it is done as a whole or not at all; see docs/api/graphs.md for clusters and for
// the greatest document.
func (c *Graphs) Put(ctx context.Context, g GraphName, mediaType string, document []byte) (GraphResult, error) {
	return c.write(ctx, http.MethodPut, g, mediaType, document)
}

// Post adds a document to a graph, or to all graphs. A dataset must be TriG or N-Quads. See
// Put.
func (c *Graphs) Post(ctx context.Context, g GraphName, mediaType string, document []byte) (GraphResult, error) {
	return c.write(ctx, http.MethodPost, g, mediaType, document)
}

// Delete deletes all triples of a graph. A named graph without triples is [ErrNotFound]. The
// whole dataset cannot be deleted; replace it by an empty document. See Put.
func (c *Graphs) Delete(ctx context.Context, g GraphName) (GraphResult, error) {
	if g == Dataset {
		return GraphResult{}, errors.New("client: a dataset cannot be deleted; put an empty document")
	}
	return c.write(ctx, http.MethodDelete, g, "", nil)
}

func (c *Graphs) write(ctx context.Context, method string, g GraphName, mediaType string, document []byte) (r GraphResult, err error) {
	what := call{method: method, target: g.endpoint(c.transport), body: document}
	if method != http.MethodDelete {
		what.header = http.Header{"Content-Type": {mediaType}}
	}
	text, err := c.change(ctx, what, true)
	// PUT has no body, and neither has POST of an empty document.
	if err == nil && len(bytes.TrimSpace(text)) > 0 {
		err = decodeJSON(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("change graph: %w", err)
	}
	return r, nil
}
