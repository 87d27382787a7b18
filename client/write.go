// Changing: adding and deleting triples.

package client

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/trefoildb/trefoil/triple"
)

// AddResult says what an Add did.
type AddResult struct{ Added, Existing int64 }

// DeleteResult says what a delete did.
type DeleteResult struct{ Deleted, Missing int64 }

// batchBytes is the size of the documents that a long list is sent in; a triple of
// more is sent by itself.
const batchBytes = 8 << 20

// Add adds triples, durably when it returns. Labels of blank nodes are taken as
// they are: a triple that a node has given out names the same nodes again.
//
// A list of up to some 8 MiB is sent as one; a longer one in several requests, and
// where one of them fails, the result says what those before did. See the package
// on retries.
func (c *Client) Add(ctx context.Context, triples []triple.Triple) (AddResult, error) {
	var total AddResult
	err := c.sendAll(ctx, http.MethodPost, url.Values{"blank": {"keep"}}, triples, func(text []byte) error {
		var answer AddResult
		err := decodeJSON(text, &answer)
		total.Added += answer.Added
		total.Existing += answer.Existing
		return err
	})
	if err != nil {
		return total, fmt.Errorf("add: %w", err)
	}
	return total, nil
}

// Delete deletes triples, durably when it returns. A triple without a graph is one
// of the default graph. For the rest see [Client.Add].
func (c *Client) Delete(ctx context.Context, triples []triple.Triple) (DeleteResult, error) {
	var total DeleteResult
	err := c.sendAll(ctx, http.MethodDelete, url.Values{}, triples, func(text []byte) error {
		var answer DeleteResult
		err := decodeJSON(text, &answer)
		total.Deleted += answer.Deleted
		total.Missing += answer.Missing
		return err
	})
	if err != nil {
		return total, fmt.Errorf("delete: %w", err)
	}
	return total, nil
}

// DeleteMatch deletes all triples that match p, which must name a term, a graph or
// the default graph.
func (c *Client) DeleteMatch(ctx context.Context, p triple.Pattern) (DeleteResult, error) {
	var answer DeleteResult
	text, err := c.change(ctx, call{method: http.MethodDelete, url: c.door("/triples", patternQuery(p))}, true)
	if err == nil {
		err = decodeJSON(text, &answer)
	}
	if err != nil {
		return answer, fmt.Errorf("delete: %w", err)
	}
	return answer, nil
}

// sendAll sends triples as N-Quads documents of about batchBytes.
func (c *Client) sendAll(ctx context.Context, method string, query url.Values, triples []triple.Triple, answered func([]byte) error) error {
	// All are checked before any is sent: a term with a line end in it, say, would
	// be read as something else.
	for i, t := range triples {
		if err := t.Check(); err != nil {
			return fmt.Errorf("triple %d: %w", i, err)
		}
	}
	what := call{method: method, url: c.door("/triples", query), header: http.Header{"Content-Type": {"application/n-quads"}}}
	send := func(document []byte) error {
		what.body = document
		text, err := c.change(ctx, what, true)
		if err != nil {
			return err
		}
		return answered(text)
	}
	var document []byte
	for _, t := range triples {
		before := len(document)
		document = triple.AppendNQuad(document, t)
		if before == 0 || len(document) <= batchBytes {
			continue
		}
		if err := send(document[:before:before]); err != nil {
			return err
		}
		document = bytes.Clone(document[before:]) // a transport may still read the old one
	}
	if len(document) == 0 {
		return nil
	}
	return send(document)
}
