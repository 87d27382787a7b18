// The document that a request to /data brings: of one graph, in one part or, as
// multipart/form-data, in several (section 5).

package httpapi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// maxParts is the greatest number of documents in one request.
const maxParts = 1000

// readGraph reads the triples of a request's document, all of them in its graph.
// Blank nodes are the document's own. Where a statement names another graph the
// document is not one of a graph, and is refused.
func (a *API) readGraph(r *request, t graphTarget, account *account) ([]triple.Triple, error) {
	contentType := r.Header.Get("Content-Type")
	if contentType == "" {
		return a.readPart(r, t, account, sniffed(r), r.Body)
	}
	if kind, parameters, err := mime.ParseMediaType(contentType); err == nil && kind == "multipart/form-data" {
		return a.readParts(r, t, account, parameters["boundary"])
	}
	return a.readPart(r, t, account, contentType, r.Body)
}

// readPart reads one document.
func (a *API) readPart(r *request, t graphTarget, account *account, contentType string, body io.ReadCloser) ([]triple.Triple, error) {
	part := &request{Request: r.WithContext(r.Context()), part: r.part}
	if t.base != "" {
		part.params = params{"base": t.base}
	}
	part.Body = body
	part.Header = r.Header.Clone()
	part.Header.Set("Content-Type", contentType)
	triples, err := a.readDocument(part, account, false, nil)
	if err != nil {
		return nil, err
	}
	for i := range triples {
		switch named := triples[i].Graph; {
		case named.IsZero():
			triples[i].Graph = t.graph
		case named != t.graph:
			return nil, errorf(KindBadRequest, bodyName, "a statement is of the graph %s, but the request is about %s; POST /triples takes documents of several graphs",
				clip(named.String()), t.name())
		}
	}
	return triples, nil
}

func (t graphTarget) name() string {
	if t.graph.IsZero() {
		return "the default graph"
	}
	return clip(t.graph.String())
}

// sniffed returns the media type of a body that has none declared: what it looks
// like, otherwise RDF/XML, as section 5 asks.
func sniffed(r *request) string {
	body := bufio.NewReaderSize(r.Body, syntax.SniffBytes)
	head, err := body.Peek(syntax.SniffBytes)
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	if s, ok := syntax.Sniff(head, errors.Is(err, io.EOF)); ok {
		return s.MediaType()
	}
	return syntax.RDFXML.MediaType()
}

// readParts reads the documents of a form, one per part. The syntax of a part is
// that of its Content-Type or, without one, of its file's name.
func (a *API) readParts(r *request, t graphTarget, account *account, boundary string) ([]triple.Triple, error) {
	if boundary == "" {
		return nil, errorf(KindBadRequest, "Content-Type", "multipart/form-data without a boundary")
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" {
		return nil, errorf(KindUnsupportedMedia, "Content-Encoding", "a form is taken as it is, not as %q", clip(encoding))
	}
	if max := a.options.MaxBodyBytes; r.ContentLength > max {
		return nil, tooLarge(r, max)
	}
	form := multipart.NewReader(http.MaxBytesReader(nil, r.Body, a.options.MaxBodyBytes), boundary)
	var all []triple.Triple
	for n := 1; ; n++ {
		part, err := form.NextRawPart()
		if err == io.EOF {
			return all, nil
		}
		if err == nil && n > maxParts {
			err = errorf(KindTooLarge, "", "more than %d documents in one request", maxParts)
		}
		if err != nil {
			return nil, bodyError(err)
		}
		contentType := part.Header.Get("Content-Type")
		if s, ok := syntax.ByFile(part.FileName()); contentType == "" && ok {
			contentType = s.MediaType()
		}
		if contentType == "" {
			return nil, errorf(KindBadRequest, fmt.Sprintf("part %d", n), "has neither a Content-Type nor a file name that tells its syntax")
		}
		triples, err := a.readFormPart(r, t, account, contentType, part, n)
		if err != nil {
			return nil, inPart(err, n)
		}
		all = append(all, triples...)
	}
}

func (a *API) readFormPart(r *request, t graphTarget, account *account, contentType string, part *multipart.Part, number int) ([]triple.Triple, error) {
	one := &request{Request: r.WithContext(r.Context()), part: number}
	one.ContentLength = -1
	return a.readPart(one, t, account, contentType, part)
}

// inPart adds to an error which part of a form it is about.
func inPart(err error, n int) error {
	e := *asError(err)
	e.Message = fmt.Sprintf("part %d: %s", n, e.Message)
	return &e
}
