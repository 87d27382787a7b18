// Documents of LOAD, in temporary files.

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"

	"github.com/trefoildb/trefoil/internal/outbound"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/jsonld"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql/exec/spill"
	"github.com/trefoildb/trefoil/triple"
)

// documentTypes are the syntaxes that LOAD reads. JSON-LD is last, because its contexts may be
// missing.
const documentTypes = "application/n-quads, application/n-triples, application/trig;q=0.9, text/turtle;q=0.9, " +
	"application/rdf+xml;q=0.7, application/ld+json;q=0.4, */*;q=0.1"

// documents reads the documents of one update, for LOAD. They are fetched before the update gets
// its turn to write, because a slow server must not delay other updates. Until then they are kept
// in temporary files.
type documents struct {
	network  *outbound.Client
	spill    spill.Storage
	contexts syntax.Contexts
	newBlank func() string // returns a new prefix of labels
	limit    int64         // bytes of one document, and of all together as sent
	fetched  map[string]*document
	received int64
}

// errAnnotated ends LOAD of a document with annotations. Without it they would be lost in silence: an
// update changes triples only.
var errAnnotated = errors.New("it has annotations, and LOAD stores triples only: send the document to POST /triples or /load")

// document is a document in a temporary file, or the error of fetching it.
type document struct {
	file        spill.File
	size        int64
	base        string // URL after redirects
	contentType string
	contexts    contextMemo // of a JSON-LD document
	err         error
}

// contextMemo has the contexts of a document, or the errors of getting them.
type contextMemo map[string]func() (*jsonld.Context, error)

// loader returns what was kept. all are those of the engine, which may be nil.
func (m contextMemo) loader(all syntax.Contexts) syntax.Contexts {
	if all == nil {
		return nil
	}
	return func(_ context.Context, url string) (*jsonld.Context, error) {
		if known := m[url]; known != nil {
			return known()
		}
		return nil, jsonld.ErrRemoteContext // not reached: the document was parsed before
	}
}

// fetch gets the documents. It returns an error only if ctx ends. Load returns all other errors,
// because LOAD SILENT must ignore them.
func (d *documents) fetch(ctx context.Context, iris []string) error {
	for _, iri := range iris {
		if d.fetched[iri] != nil {
			continue
		}
		doc, err := d.get(ctx, iri)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		doc.err = err
		d.fetched[iri] = doc
		if err := d.fetchContexts(ctx, iri, doc); err != nil {
			return err
		}
	}
	return nil
}

// fetchContexts gets the contexts of a JSON-LD document by parsing it, because later they would delay
// other updates. It returns an error only if ctx ends; others come again when the document is parsed.
func (d *documents) fetchContexts(ctx context.Context, iri string, doc *document) error {
	doc.contexts = contextMemo{}
	in, s, err := d.open(doc)
	if err != nil {
		return nil
	}
	defer in.Close()
	if s != syntax.JSONLD || d.contexts == nil {
		return nil
	}
	contexts := func(ctx context.Context, url string) (*jsonld.Context, error) {
		c, err := d.contexts(ctx, url)
		doc.contexts[url] = func() (*jsonld.Context, error) { return c, err }
		return c, err
	}
	for _, err := range syntax.Parse(ctx, in, s, syntax.Options{Source: iri, Base: doc.base, MaxDocument: d.limit, Contexts: contexts}) {
		if err != nil {
			break
		}
	}
	return ctx.Err()
}

// open opens a fetched document.
func (d *documents) open(doc *document) (*input.Reader, syntax.Syntax, error) {
	// The file stays until close, so a document may be parsed more than once.
	if doc.err != nil {
		return nil, 0, doc.err
	}
	in, err := input.NewReader(io.NewSectionReader(doc.file, 0, doc.size), "the document", input.Limits{MaxBytes: d.limit})
	if err != nil {
		return nil, 0, err
	}
	s, err := doc.syntax(in)
	if err != nil {
		return nil, 0, errors.Join(err, in.Close())
	}
	return in, s, nil
}

// get fetches one document. The result may have a file although there is an error.
func (d *documents) get(ctx context.Context, iri string) (*document, error) {
	// 1. Send the request, and check the coding of the answer.
	doc := &document{}
	a, err := d.network.Do(ctx, http.MethodGet, iri, http.Header{"Accept": {documentTypes}}, "")
	if err != nil {
		return doc, err
	}
	defer a.Body.Close()
	switch coding := a.Header.Get("Content-Encoding"); coding {
	case "", "identity", "gzip", "x-gzip": // gzip shows in the first bytes
	default:
		return doc, fmt.Errorf("%w: it is coded as %q, which was not asked for", ErrNetwork, outbound.Printable(coding))
	}
	doc.base, doc.contentType = a.URL.String(), a.Header.Get("Content-Type")
	if doc.file, err = d.spill.Create(); err != nil {
		return doc, err
	}
	doc.size, err = io.Copy(doc.file, outbound.Bounded(a.Body, d.limit-d.received, d.limit))
	d.received += doc.size
	return doc, err
}

// close removes the temporary files.
func (d *documents) close() error {
	var errs []error
	for _, doc := range d.fetched {
		if doc.file != nil {
			errs = append(errs, doc.file.Close())
		}
	}
	clear(d.fetched)
	return errors.Join(errs...)
}

// Load yields the triples of a document. Each LOAD gives its blank nodes new labels.
func (d *documents) Load(ctx context.Context, iri string) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		if err := d.fetch(ctx, []string{iri}); err != nil {
			yield(triple.Triple{}, err)
			return
		}
		d.parse(ctx, iri, d.fetched[iri])(yield)
	}
}

func (d *documents) parse(ctx context.Context, iri string, doc *document) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		in, s, err := d.open(doc)
		if err != nil {
			yield(triple.Triple{}, err)
			return
		}
		defer in.Close()
		annotated := false
		for t, err := range syntax.Parse(ctx, in, s, syntax.Options{
			Source: iri, Base: doc.base, BlankPrefix: d.newBlank(), MaxDocument: d.limit, Contexts: doc.contexts.loader(d.contexts),
			Annotated: func(all []triple.ApplicationData) { annotated = annotated || len(all) > 0 },
		}) {
			if err == nil && annotated {
				t, err = triple.Triple{}, errAnnotated
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// syntax returns the syntax of a document by its content type. If that means only text or bytes,
// the end of the path decides, and then the first bytes.
func (doc *document) syntax(in *input.Reader) (syntax.Syntax, error) {
	mediaType, _, err := mime.ParseMediaType(doc.contentType)
	if err != nil && mediaType == "" && doc.contentType != "" {
		return 0, fmt.Errorf("%w: its content type is %q", ErrNetwork, outbound.Printable(doc.contentType))
	}
	switch mediaType {
	case "", "text/plain", "application/octet-stream", "binary/octet-stream", "application/json",
		"application/xml", "text/xml", "application/gzip", "application/x-gzip", "application/x-bzip2",
		"application/zstd", "application/x-xz":
		return in.Syntax(pathOf(doc.base), false)
	}
	return syntax.ByMediaType(doc.contentType)
}

// pathOf returns the path of a URL, because it may end like a file name.
func pathOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Path
}
