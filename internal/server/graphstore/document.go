// The document of a request to /data: of one graph, in one part or, as multipart/form-data, in
// several (section 5).

package graphstore

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"

	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// MaxParts is the greatest number of documents in one request.
const MaxParts = 1000

// readGraph reads the triples of a request's document, all of them in its graph. Blank nodes are
// the document's own. If a statement names another graph, the document is rejected.
func (a *API) readGraph(r *request.Request, t graphTarget, account *limits.Account) ([]triple.Triple, error) {
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
func (a *API) readPart(r *request.Request, t graphTarget, account *limits.Account, contentType string, body io.ReadCloser) ([]triple.Triple, error) {
	part := &request.Request{Request: r.WithContext(r.Context()), Caller: r.Caller, Part: r.Part, Prefixes: r.Prefixes}
	if t.base != "" {
		part.Params = request.Params{"base": t.base}
	}
	part.Body = body
	part.Header = r.Header.Clone()
	part.Header.Set("Content-Type", contentType)
	triples, err := a.Documents.Read(part, account, false, nil)
	if err != nil {
		return nil, err
	}
	for i := range triples {
		if t.store {
			break // any graph is part of it
		}
		switch named := triples[i].Graph; {
		case named.IsZero():
			triples[i].Graph = t.graph
		case named != t.graph:
			return nil, problem.Errorf(problem.KindBadRequest, request.BodyName, "a statement is of the graph %s, but the request is about %s; POST /triples takes documents of several graphs",
				problem.Clip(named.String()), t.name())
		}
	}
	return triples, nil
}

// holdsDataset reports whether the document of a request is of a syntax that can name graphs.
func holdsDataset(r *request.Request) bool {
	s, err := syntax.ByMediaType(r.Header.Get("Content-Type"))
	return err == nil && slices.Contains(DatasetSyntaxes, s)
}

// isJSONLD reports whether a document is JSON-LD, which POST takes for one graph.
func isJSONLD(r *request.Request) bool {
	s, err := syntax.ByMediaType(r.Header.Get("Content-Type"))
	return err == nil && s == syntax.JSONLD
}

func (t graphTarget) name() string {
	if t.graph.IsZero() {
		return "the default graph"
	}
	return problem.Clip(t.graph.String())
}

// sniffed returns the media type of a body without Content-Type, by its first bytes. If they are
// not clear, it is RDF/XML, because section 5 requires it.
func sniffed(r *request.Request) string {
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

// readParts reads the documents of a form, one a part. The syntax of a part comes from its
// Content-Type or, if that names none, as of a browser or curl, from its file name.
func (a *API) readParts(r *request.Request, t graphTarget, account *limits.Account, boundary string) ([]triple.Triple, error) {
	// 1. Check the form as a whole. Its size is bounded by that of one document.
	if boundary == "" {
		return nil, problem.Errorf(problem.KindBadRequest, "Content-Type", "multipart/form-data without a boundary")
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" {
		return nil, problem.Errorf(problem.KindUnsupportedMedia, "Content-Encoding", "a form is taken as it is, not as %q", problem.Clip(encoding))
	}
	if max := a.Documents.MaxBytes; r.ContentLength > max {
		return nil, request.TooLarge(r, max)
	}
	form := multipart.NewReader(http.MaxBytesReader(nil, r.Body, a.Documents.MaxBytes), boundary)
	// 2. Read the parts. Each has its own syntax and its own blank nodes.
	var all []triple.Triple
	for n := 1; ; n++ {
		part, err := form.NextRawPart()
		if err == io.EOF {
			return all, nil
		}
		if err == nil && n > MaxParts {
			err = problem.Errorf(problem.KindTooLarge, "", "more than %d documents in one request", MaxParts)
		}
		if err != nil {
			return nil, request.BodyError(err)
		}
		contentType := part.Header.Get("Content-Type")
		if s, ok := syntax.ByFile(part.FileName()); ok && saysNothing(contentType) {
			contentType = s.MediaType()
		}
		if contentType == "" {
			return nil, problem.Errorf(problem.KindBadRequest, fmt.Sprintf("part %d", n), "has neither a Content-Type nor a file name that tells its syntax")
		}
		triples, err := a.readFormPart(r, t, account, contentType, part, n)
		if err != nil {
			return nil, inPart(err, n)
		}
		all = append(all, triples...)
	}
}

// saysNothing reports whether a Content-Type is what a client sends for a file of a type that it does not know.
func saysNothing(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return contentType == "" || err == nil && (kind == "application/octet-stream" || kind == "text/plain")
}

func (a *API) readFormPart(r *request.Request, t graphTarget, account *limits.Account, contentType string, part *multipart.Part, number int) ([]triple.Triple, error) {
	one := &request.Request{Request: r.WithContext(r.Context()), Caller: r.Caller, Part: number, Prefixes: r.Prefixes}
	one.ContentLength = -1
	return a.readPart(one, t, account, contentType, part)
}

// inPart adds the number of a form's part to an error.
func inPart(err error, n int) error {
	e := *problem.As(err)
	e.Message = fmt.Sprintf("part %d: %s", n, e.Message)
	return &e
}
