package cli

import (
	"errors"

	"github.com/trefoildb/trefoil/triple"
)

// dumpCmd writes all triples of a store in SPO order.
type dumpCmd struct {
	door
	Output string `enum:"nq,nt" default:"nq" help:"nq or nt; nt fails at the first triple of a named graph. ${default} by default."`
}

func (c *dumpCmd) Run(e *env) (err error) {
	r, err := c.door.open(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	write := writeNQuad
	if c.Output == "nt" {
		write = writeNTriple
	}
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
