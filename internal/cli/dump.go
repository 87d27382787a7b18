package cli

import (
	"errors"
	"io"

	"github.com/trefoildb/trefoil/triple"
)

// dumpCmd writes all triples of a store in SPO order, with their annotations.
type dumpCmd struct {
	door
	Part        bool   `help:"With --data of a cluster's member, or of what one has set aside: write what is there. It may be a part, and what was deleted since is in it."`
	Annotations bool   `default:"true" negatable:"" help:"Write what applications note on triples, as the weights of links, in comments that load and add read: see docs/OPERATIONS.md. By default; --no-annotations leaves it out."`
	Output      string `enum:"nq,nt" default:"nq" help:"nq or nt; nt fails at the first triple of a named graph. ${default} by default."`
}

func (c *dumpCmd) Run(e *env) (err error) {
	write := writeNQuad
	if c.Output == "nt" {
		write = writeNTriple
	}
	header := ""
	if c.Annotations {
		write, header = withAnnotations(write), triple.AnnotationsHeader+"\n"
	}
	switch local, err := c.local(); {
	case err != nil:
		return err
	case c.Part && !local:
		return usagef("--part is for --data: a server answers for the whole cluster")
	case c.Part:
		return c.dumpPart(e, header, write)
	}
	r, err := c.door.open(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if _, err := io.WriteString(e.stdout, header); err != nil {
		return err
	}
	return writeItems(e, r.match(e.ctx, triple.Pattern{}, page{annotations: c.Annotations}), write)
}

func writeNTriple(dst []byte, it item) ([]byte, error) {
	t, err := it.triple()
	if err != nil {
		return dst, err
	}
	if !t.Graph.IsZero() {
		return dst, errNamedGraph(t)
	}
	return triple.AppendNTriple(dst, t), nil
}
