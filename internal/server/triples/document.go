// Answers in the syntaxes that are documents: Turtle, TriG, RDF/XML and JSON-LD.

package triples

import (
	"io"

	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload/syntax"
)

// document writes rows with the writer of a syntax. Its beginning and end belong to the document, so unlike a
// line, a row cannot be taken back.
type document struct {
	w      syntax.Writer
	format *format
}

// newDocument begins a document of a format at out. It is nil for formats of lines.
func (a *API) newDocument(out io.Writer, r *request.Request, f *format) (*document, error) {
	if f.syntax == 0 {
		return nil, nil
	}
	names, err := a.Prefixes(r.Context(), f.syntax, nil)
	if err != nil {
		return nil, err
	}
	w, err := syntax.NewWriter(out, f.syntax, names)
	return &document{w, f}, err
}

// write adds a row to the document.
func (d *document) write(row store.Row) error {
	t, err := row.Triple()
	if err == nil {
		err = d.format.version.Check(t.Object)
	}
	if err != nil {
		return err
	}
	return d.w.Write(t)
}

// end ends the document.
func (d *document) end() error { return d.w.Close() }
