package cli

import (
	"errors"

	"github.com/trefoildb/trefoil/triple"
)

// dumpCmd writes all triples of a store in SPO order.
type dumpCmd struct {
	door
	Part   bool   `help:"With --data of a cluster's member, or of what one has set aside: write what is there. It may be a part, and what was deleted since is in it."`
	Output string `enum:"nq,nt" default:"nq" help:"nq or nt; nt fails at the first triple of a named graph. ${default} by default."`
}

func (c *dumpCmd) Run(e *env) (err error) {
	write := writeNQuad
	if c.Output == "nt" {
		write = writeNTriple
	}
	switch local, err := c.local(); {
	case err != nil:
		return err
	case c.Part && !local:
		return usagef("--part is for --data: a server answers for the whole cluster")
	case c.Part:
		return c.dumpPart(e, write)
	}
	r, err := c.door.open(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return writeItems(e, r.match(e.ctx, triple.Pattern{}, page{}), write)
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
