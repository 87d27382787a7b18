// Changes: adding and deleting triples.

package client

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/triple"
)

// AddResult and DeleteResult count the triples of a change.
type (
	AddResult    = api.AddResult
	DeleteResult = api.DeleteResult
)

// batchBytes is the size of the documents of a long list. A greater triple is sent alone.
const batchBytes = 8 << 20

// Add adds triples, durably when it returns. Labels of blank nodes are kept, because a triple from
// a node must name the same nodes again.
//
// A list of up to some 8 MiB is sent as one request, a longer one in several. If one of them fails,
// the result counts the work of those before. See the package on retries.
func (c *Client) Add(ctx context.Context, triples []triple.Triple) (AddResult, error) {
	return c.addTriples(ctx, triples, nil)
}

// Delete deletes triples, durably when it returns. A triple without a graph is one of the default
// graph. For the rest see [Client.Add].
func (c *Client) Delete(ctx context.Context, triples []triple.Triple) (DeleteResult, error) {
	var total DeleteResult
	err := c.sendTriples(ctx, http.MethodDelete, url.Values{}, triples, nil, func(text []byte) error {
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

// DeleteMatch deletes all triples that match p. p must have a term, a graph or the default graph.
func (c *Client) DeleteMatch(ctx context.Context, p triple.Pattern) (DeleteResult, error) {
	var answer DeleteResult
	text, err := c.change(ctx, call{method: http.MethodDelete, target: c.endpoint("/triples", patternQuery(p))}, true)
	if err == nil {
		err = decodeJSON(text, &answer)
	}
	if err != nil {
		return answer, fmt.Errorf("delete: %w", err)
	}
	return answer, nil
}

// addTriples adds triples, with annotations unless that is nil.
func (c *transport) addTriples(ctx context.Context, triples []triple.Triple, annotations [][]triple.ApplicationData) (AddResult, error) {
	var total AddResult
	err := c.sendTriples(ctx, http.MethodPost, url.Values{"blank": {"keep"}}, triples, annotations, func(text []byte) error {
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

// sendTriples sends triples as N-Quads documents of about batchBytes, with annotations unless that is
// nil.
func (c *transport) sendTriples(ctx context.Context, method string, query url.Values, triples []triple.Triple, annotations [][]triple.ApplicationData, answered func([]byte) error) error {
	// 1. Check all triples before any is sent, because a term with a line end, for example, would
	// be read as something else.
	for i, t := range triples {
		if err := cmp.Or(t.Check(), t.Object.CheckNesting(), t.Object.CheckLanguage()); err != nil {
			return fmt.Errorf("triple %d: %w", i, err)
		}
	}
	// 2. Send a document when it would exceed batchBytes.
	what := call{method: method, target: c.endpoint("/triples", query), header: http.Header{"Content-Type": {mediaNQuads}}, byTriple: annotations == nil}
	send := func(document []byte) error {
		what.body = document
		text, err := c.change(ctx, what, true)
		if err != nil {
			return err
		}
		return answered(text)
	}
	var head string
	if annotations != nil {
		head = triple.AnnotationsHeader + "\n"
	}
	document := []byte(head)
	for i, t := range triples {
		before := len(document)
		if annotations != nil {
			document = triple.AppendAnnotated(document, triple.AppendNQuad(nil, t), annotations[i])
		} else {
			document = triple.AppendNQuad(document, t)
		}
		if before == len(head) || len(document) <= batchBytes {
			continue
		}
		if err := send(document[:before:before]); err != nil {
			return err
		}
		document = append([]byte(head), document[before:]...) // a transport may still read the old one
	}
	if len(document) == len(head) {
		return nil
	}
	return send(document)
}
