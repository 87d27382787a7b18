// trefoil convert: RDF documents to canonical N-Quads.

package cli

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

// convertCmd writes RDF documents as canonical N-Triples or N-Quads.
type convertCmd struct {
	documents
	Output string `enum:"nq,nt" default:"nq" help:"nq or nt; the same bytes where no graph is named. nt fails at the first triple of a named graph. ${default} by default."`
}

func (c *convertCmd) Run(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	sources, err := c.list()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(e.stdout, 1<<16)
	for i, source := range sources {
		prefix := ""
		if len(sources) > 1 { // if there is one document, its labels stay as written
			prefix = documentPrefix("c", i)
		}
		if err := c.convert(e, out, source, prefix); err != nil {
			return errors.Join(err, out.Flush())
		}
	}
	return out.Flush()
}

func (c *convertCmd) convert(e *env, out *bufio.Writer, source input.Source, prefix string) error {
	var line []byte
	n, annotations := 0, int64(0)
	for t, err := range c.parse(e, source, prefix) {
		if err != nil {
			return err
		}
		n++
		if c.Output == "nt" && !t.Graph.IsZero() {
			return fmt.Errorf("%s: statement %d: %w", source.Name, n, errNamedGraph(t.Triple))
		}
		annotations += int64(len(t.annotations))
		line = triple.AppendNQuad(line[:0], t.Triple)
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	if annotations > 0 {
		e.sayf("%s: %s left out: convert writes triples alone", source.Name, plural(annotations, "annotation"))
	}
	return nil
}

// errNamedGraph returns the error for a triple that N-Triples cannot express.
func errNamedGraph(t triple.Triple) error {
	return hinted{
		fmt.Errorf("the graph %s is named, which N-Triples cannot say: %s", t.Graph, t),
		"--output nq writes graph names.",
	}
}
