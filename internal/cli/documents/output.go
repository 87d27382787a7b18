// The documents that dump and convert write: their formats, and what a format cannot hold.

package documents

import (
	"errors"
	"fmt"
	"io"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// OutputFlags choose a format and its annotations.
type OutputFlags struct {
	Annotations bool   `default:"true" negatable:"" help:"Write what applications attach to triples, as the weights of links, in a form that load and add read: see docs/operations/node.md. By default; --no-annotations leaves it out."`
	Format      string `placeholder:"F" help:"nq, nt, trig, ndjson, ttl, rdf or jsonld; that of the file's name, or else nq. nt, ttl and rdf fail at the first triple of a named graph. ttl, rdf and jsonld cannot hold annotations; their number is printed."`
	canonical12 bool   // nq and nt are in the canonical form of RDF 1.2, which has no annotations
	Output      string `short:"o" placeholder:"FILE" help:"Write this file in place of standard output, compressed if its name ends with .gz or .zst. It appears when it is complete."`
}

// Syntax returns the format: that of the flag, or of the file's name.
func (f *OutputFlags) Syntax() (syntax.Syntax, error) {
	if f.Format != "" {
		s, err := syntax.ByName(f.Format)
		if err != nil {
			return 0, console.Usagef("--format: %w", err)
		}
		return s, nil
	}
	// This flag was the format once.
	if _, err := syntax.ByName(f.Output); err == nil {
		return 0, console.Usagef("--output %s: it names a file, and --format %[1]s is the syntax; --output ./%[1]s writes a file of this name", f.Output)
	}
	if s, ok := syntax.ByFile(f.Output); ok {
		return s, nil
	}
	return syntax.NQuads, nil
}

// WithOutput calls do with standard output, or with the file of --output in its place. The file gets its
// name when do has ended without an error.
func (f *OutputFlags) WithOutput(e *console.Env, do func(e *console.Env) error) error {
	// Check the flags before anything is created.
	if _, err := f.Syntax(); err != nil {
		return err
	}
	return e.WithOutput(f.Output, do)
}

// output writes items as one document.
type output struct {
	format syntax.Syntax
	header string
	asText bool // the items are the lines of Listing.WriteNQuads, if it has them
	// write appends an item, or passes it to a writer with a buffer of its own.
	write func(dst []byte, it target.Statement) ([]byte, error)
	// end ends the document.
	end func() error

	left int64 // annotations that are not written
}

// Open returns the document in a writer. annotated selects a form with annotations, if the format
// has one. Turtle and TriG use the prefixes, which may be nil.
func (f *OutputFlags) Open(w io.Writer, annotated bool, names prefixes.Names) (o *output, err error) {
	o = &output{end: func() error { return nil }}
	if o.format, err = f.Syntax(); err != nil {
		return nil, err
	}
	annotated = annotated && o.format.HoldsAnnotations() && !f.canonical12
	o.asText = o.format == syntax.NQuads && !f.canonical12
	// 1. Lines need no writer.
	switch {
	case o.format == syntax.NDJSON && annotated:
		o.write = writeNDJSON
	case o.format == syntax.NDJSON:
		o.write = WriteJSON
	case f.canonical12:
		o.write = writeCanonical
	case o.format == syntax.NQuads || o.format == syntax.NTriples:
		if o.write = WriteNQuad; annotated {
			o.write, o.header = withAnnotations(WriteNQuad), triple.AnnotationsHeader+"\n"
		}
	// 2. Others do.
	case annotated:
		out, err := syntax.NewTriGWriter(w, names)
		if err != nil {
			return nil, err
		}
		o.writeTo(out.WriteAnnotated, out.Close)
	default:
		out, err := syntax.NewWriter(w, o.format, names)
		if err != nil {
			return nil, err
		}
		o.writeTo(func(t triple.Triple, _ []triple.ApplicationData) error { return out.Write(t) }, out.Close)
	}
	// 3. What the document cannot hold is counted, or an error.
	if write := o.write; !annotated {
		o.write = func(dst []byte, it target.Statement) ([]byte, error) {
			o.left += int64(len(it.Attached))
			return write(dst, it)
		}
	}
	if !o.format.HasGraphs() {
		o.write = o.inDefaultGraph(o.write)
	}
	return o, nil
}

// writeTo makes write and end of a writer's methods.
func (o *output) writeTo(write func(triple.Triple, []triple.ApplicationData) error, end func() error) {
	o.end = end
	o.write = func(dst []byte, it target.Statement) ([]byte, error) {
		return dst, write(it.Triple, it.Attached)
	}
}

// inDefaultGraph returns a write function that rejects triples of named graphs.
func (o *output) inDefaultGraph(write func([]byte, target.Statement) ([]byte, error)) func([]byte, target.Statement) ([]byte, error) {
	return func(dst []byte, it target.Statement) ([]byte, error) {
		if !it.Graph.IsZero() {
			return dst, o.errNamedGraph(it.Triple)
		}
		return write(dst, it)
	}
}

// errNamedGraph returns the error for a triple that a format without graphs cannot express.
func (o *output) errNamedGraph(t triple.Triple) error {
	return console.WithHint(
		fmt.Errorf("the graph %.300s is named, which %v cannot say: %.300s", t.Graph, o.format, t),
		"--format nq writes graph names.",
	)
}

// WriteAll writes all items of a listing as the document. They have annotations only if [OutputFlags.Open] got
// annotated. An error leaves what was written before it.
func (o *output) WriteAll(e *console.Env, list *target.Listing) error {
	if _, err := io.WriteString(e.Stdout, o.header); err != nil {
		return err
	}
	if o.asText && list.WriteNQuads != nil {
		return list.WriteNQuads(e.Stdout)
	}
	if err := WriteItems(e, list, o.write); err != nil {
		return errors.Join(err, o.end())
	}
	return o.close(e)
}

// close ends the document, and prints the number of annotations that are not in it.
func (o *output) close(e *console.Env) error {
	if err := o.end(); err != nil {
		return err
	}
	switch {
	case o.left > 0 && !o.format.HoldsAnnotations():
		e.Sayf("%s left out, because %v cannot hold them: --format nq, trig or ndjson keeps them", console.Plural(o.left, "annotation"), o.format)
	case o.left > 0:
		e.Sayf("%s left out", console.Plural(o.left, "annotation"))
	}
	return nil
}
