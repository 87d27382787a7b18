// The torture's annotations.

package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/store"
)

// app is the application that notes numbers on triples.
const app = "torture"

// note notes a number on a triple that is greater than all before, or removes it.
func (c *client) note(ctx context.Context, p *process) {
	n, _ := p.running()
	i := c.random.IntN(c.torture.universe.moving)
	h := c.torture.history
	if n == nil || h.doubtful(i) {
		return
	}
	call := h.tick()
	number, data := uint64(call), binary.AppendUvarint(nil, uint64(call))
	if c.random.IntN(4) == 0 {
		number, data = 0, nil
	}
	err := store.Annotate(ctx, n, fact(i), app, data)
	p.await()
	of := fmt.Sprintf("%s through %s: %v", c.name, p.host.name, err)
	switch dead := p.dead.Load(); {
	case dead || errors.Is(err, store.ErrUnknown):
		h.noted(i, number, call, unknown, of)
	case err == nil:
		h.noted(i, number, call, noted, of)
	case errors.Is(err, store.ErrNotFound):
		h.noted(i, number, call, noFact, of)
		return
	}
	if err != nil {
		c.torture.saw(err)
	}
}

// look reads what is noted on a triple.
func (c *client) look(ctx context.Context, p *process) {
	n, _ := p.running()
	if n == nil {
		return
	}
	i := c.random.IntN(c.torture.universe.moving)
	h := c.torture.history
	call := h.tick()
	sn, err := n.Reader()
	if err != nil {
		c.torture.saw(err)
		return
	}
	defer sn.Close()
	found, err := sn.Annotation(ctx, fact(i), app)
	data := found.Bytes()
	p.await()
	back := h.tick()
	if err != nil {
		c.torture.saw(err)
		return
	}
	if p.dead.Load() {
		return
	}
	number, _ := binary.Uvarint(data)
	h.sawNote(i, number, call, back, fmt.Sprintf("%s through %s", c.name, p.host.name))
}
