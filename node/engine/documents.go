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

	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/triple"
)

// documentTypes are the syntaxes that LOAD reads. JSON-LD is last, because its
// contexts are not fetched.
const documentTypes = "application/n-quads, application/n-triples, application/trig;q=0.9, text/turtle;q=0.9, " +
	"application/rdf+xml;q=0.7, application/ld+json;q=0.4, */*;q=0.1"

// documents reads the documents of one update, for LOAD. They are fetched before
// the update has its turn to write, so that a slow server holds up no other
// update, and are kept in temporary files until then.
type documents struct {
	network  *network
	spill    exec.Spill
	newBlank func() string // a prefix for labels that no document had before
	limit    int64         // bytes of one document, and of all together as they are sent
	fetched  map[string]*document
	received int64
}

// document is a document in a temporary file, or why there is none.
type document struct {
	file        exec.SpillFile
	size        int64
	base        string // where the redirects led
	contentType string
	err         error
}

// fetch gets the documents. Only the end of ctx is an error: another one is met
// by Load, for it is nothing to LOAD SILENT.
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
	}
	return nil
}

// get fetches one document. The document that it returns may have a file beside
// an error.
func (d *documents) get(ctx context.Context, iri string) (*document, error) {
	doc := &document{}
	a, err := d.network.do(ctx, http.MethodGet, iri, http.Header{"Accept": {documentTypes}}, "")
	if err != nil {
		return doc, err
	}
	defer a.body.Close()
	switch coding := a.header.Get("Content-Encoding"); coding {
	case "", "identity", "gzip", "x-gzip": // which shows in the first bytes
	default:
		return doc, fmt.Errorf("%w: it is coded as %q, which was not asked for", ErrNetwork, printable(coding))
	}
	doc.base, doc.contentType = a.url.String(), a.header.Get("Content-Type")
	if doc.file, err = d.spill.Create(); err != nil {
		return doc, err
	}
	doc.size, err = io.Copy(doc.file, &bounded{Reader: a.body, left: d.limit - d.received, limit: d.limit})
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

// Load yields the triples of a document. Its blank nodes have labels that no
// other document, and no other LOAD of this one, has.
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
		if doc.err != nil {
			yield(triple.Triple{}, doc.err)
			return
		}
		in, err := input.NewReader(io.NewSectionReader(doc.file, 0, doc.size), "the document", input.Limits{MaxBytes: d.limit})
		if err != nil {
			yield(triple.Triple{}, err)
			return
		}
		defer in.Close()
		s, err := doc.syntax(in)
		if err != nil {
			yield(triple.Triple{}, err)
			return
		}
		for t, err := range syntax.Parse(ctx, in, s, syntax.Options{
			Source: iri, Base: doc.base, BlankPrefix: d.newBlank(), MaxDocument: d.limit,
		}) {
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// syntax tells the syntax of a document by its content type, where that says more
// than that it is text or bytes, by the end of its path, or by how it begins.
func (doc *document) syntax(in *input.Reader) (syntax.Syntax, error) {
	mediaType, _, err := mime.ParseMediaType(doc.contentType)
	if err != nil && mediaType == "" && doc.contentType != "" {
		return 0, fmt.Errorf("%w: its content type is %q", ErrNetwork, printable(doc.contentType))
	}
	switch mediaType {
	case "", "text/plain", "application/octet-stream", "binary/octet-stream", "application/json",
		"application/xml", "text/xml", "application/gzip", "application/x-gzip", "application/x-bzip2",
		"application/zstd", "application/x-xz":
		return in.Syntax(pathOf(doc.base))
	}
	return syntax.ByMediaType(doc.contentType)
}

// pathOf returns the path of a URL, which may tell the syntax as a file name does.
func pathOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Path
}
