// trefoil convert: RDF documents of any syntax to one of another.

package documents

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// ConvertCmd writes RDF documents as one, canonical in N-Triples and N-Quads.
type ConvertCmd struct {
	InputFlags
	OutputFlags
	Canonical string `enum:"1.1,1.2" default:"1.1" placeholder:"VERSION" help:"The canonical form of nq and nt: that of RDF 1.1, or of 1.2, which escapes all control characters, without annotations. ${default} by default."`
}

func (c *ConvertCmd) Run(e *console.Env) error {
	s, err := c.OutputFlags.Syntax()
	if err != nil {
		return err
	}
	c.canonical12 = c.Canonical == "1.2"
	if c.canonical12 && s != syntax.NQuads && s != syntax.NTriples {
		return console.Usagef("--canonical 1.2 is for --format nq or nt: %v has no canonical form", s)
	}
	return c.WithOutput(e, c.convert)
}

func (c *ConvertCmd) convert(e *console.Env) error {
	if err := c.Check(); err != nil {
		return err
	}
	sources, err := c.List(e, input.RDF)
	if err != nil {
		return err
	}
	// If a document has annotations, the first line of the output must say so.
	annotated := c.Annotations && c.anyAnnotated(e, sources)
	out, err := c.OutputFlags.Open(e.Stdout, annotated, nil)
	if err != nil {
		return err
	}
	items := func(yield func(target.Statement, error) bool) {
		for i, source := range sources {
			prefix := ""
			if len(sources) > 1 { // if there is one document, its labels stay as written
				prefix = documentPrefix("c", i)
			}
			n := 0
			for s, err := range c.parse(e, source, prefix) {
				if n++; err == nil && !s.Graph.IsZero() && !out.format.HasGraphs() {
					err = fmt.Errorf("%s: statement %d: %w", source.Name, n, out.errNamedGraph(s.Triple))
				}
				if !yield(s, err) || err != nil {
					return
				}
			}
		}
	}
	return out.WriteAll(e, &target.Listing{Items: items})
}

// anyAnnotated reports whether a document may have annotations: it begins with their header, or it is
// NDJSON. Standard input is not consumed: later readers get all of it.
func (d *InputFlags) anyAnnotated(e *console.Env, sources []input.Source) bool {
	given, _ := d.Syntax() // checked before
	for _, source := range sources {
		// 1. Of standard input only what has arrived is looked at, because it may come slowly.
		var in *input.Reader
		var err error
		if source.IsStdin() {
			buffered := bufio.NewReaderSize(e.Input(), 1<<16)
			e.Stdin = buffered
			if _, err := buffered.Peek(1); err != nil {
				continue // the parser reports it
			}
			head, _ := buffered.Peek(buffered.Buffered())
			in, err = input.NewReader(bytes.NewReader(head), source.Name, input.Limits{})
		} else {
			in, err = source.Open()
		}
		if err != nil {
			continue // the parser reports it, after the documents before
		}
		// 2. NDJSON has no header. Otherwise it is the first line.
		s := given
		if s == 0 {
			s, _ = in.Syntax(source.Name, d.RDFStar) // the parser reports it
		}
		head := make([]byte, len(triple.AnnotationsHeader))
		n, _ := io.ReadFull(in, head)
		in.Close()
		if s == syntax.NDJSON || string(head[:n]) == triple.AnnotationsHeader {
			return true
		}
	}
	return false
}
