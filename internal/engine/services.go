// SERVICE: queries sent to other SPARQL endpoints.

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/trefoildb/trefoil/internal/outbound"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/results"
)

// resultTypes are the accepted results of SERVICE. CSV is the last resort, because it does not
// distinguish IRIs from strings.
const resultTypes = "application/sparql-results+json, application/sparql-results+xml;q=0.8, " +
	"text/tab-separated-values;q=0.5, text/csv;q=0.1"

// services sends queries to SPARQL endpoints, for SERVICE.
type services struct {
	network     *outbound.Client // nil if it is off
	annotations *annotationService
	limit       int64 // bytes of an answer, decompressed
}

// Select sends a query by the SPARQL 1.1 Protocol, as a form of POST (section 2.1.2). The returned
// body is decompressed. If it exceeds the limit, its reads end with an error. The caller must close
// it.
func (s services) Select(ctx context.Context, endpoint, query string) (contentType string, body io.ReadCloser, err error) {
	switch {
	case endpoint == AnnotationsEndpoint:
		body, err = s.annotations.answer(ctx, query)
		return results.JSON.MediaType(), body, err
	case s.network == nil:
		return "", nil, fmt.Errorf("%w: who runs the store allows hosts by name (serve --allow-host)", sparql.ErrService)
	}
	// 1. Send the query. The slot is given back while the endpoint computes.
	header := http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"},
		"Accept":       {resultTypes},
	}
	form := url.Values{"query": {query}}
	var a *outbound.Answer
	err = turns.Wait(ctx, func() (err error) {
		a, err = s.network.Do(ctx, http.MethodPost, endpoint, header, form.Encode())
		return err
	})
	if err != nil {
		return "", nil, err
	}
	// 2. Check the content type, and open the body.
	contentType = a.Header.Get("Content-Type")
	if _, ok := results.FormatOf(contentType); !ok {
		a.Body.Close()
		return "", nil, fmt.Errorf("%w: the content type of its answer is %q, which is none of results",
			ErrNetwork, outbound.Printable(contentType))
	}
	err = turns.Wait(ctx, func() (err error) {
		body, err = decoded(a, "the answer", s.limit)
		return err
	})
	if err != nil {
		return "", nil, err
	}
	return contentType, waiting{ctx, body}, nil
}

// waiting is a body for a reader that computes in turns. It gives the slot back during each read.
type waiting struct {
	ctx context.Context
	io.ReadCloser
}

func (w waiting) Read(p []byte) (n int, err error) {
	err = turns.Wait(w.ctx, func() (err error) {
		n, err = w.ReadCloser.Read(p)
		return err
	})
	return n, err
}

// decoded returns the body of an answer without its content coding. If it fails, it closes the
// body.
func decoded(a *outbound.Answer, name string, limit int64) (io.ReadCloser, error) {
	in := outbound.Bounded(a.Body, limit, limit)
	switch coding := a.Header.Get("Content-Encoding"); coding {
	case "", "identity":
		return &body{in, a.Body.Close}, nil
	case "gzip", "x-gzip":
	default:
		a.Body.Close()
		return nil, fmt.Errorf("%w: its answer is coded as %q, which was not asked for", ErrNetwork, outbound.Printable(coding))
	}
	r, err := input.NewReader(in, name, input.Limits{MaxBytes: limit})
	if err != nil {
		a.Body.Close()
		return nil, err
	}
	return &body{r, func() error { return errors.Join(r.Close(), a.Body.Close()) }}, nil
}

// body is a reader with its own close function.
type body struct {
	io.Reader
	close func() error
}

func (b *body) Close() error { return b.close() }
