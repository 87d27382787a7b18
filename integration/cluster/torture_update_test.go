// SPARQL updates and deletes of patterns of a torture's clients.

package cluster

import (
	"context"
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// update adds and deletes some triples by one request of SPARQL. A cluster does not
// make it atomic: to a history each of its triples is a write of its own.
func (c *client) update(ctx context.Context, p *process) {
	n, _ := p.running()
	if n == nil {
		return
	}
	e, err := engine.New(n, engine.Options{})
	if err != nil {
		c.torture.saw(err)
		return
	}
	// 1. The request: each triple once.
	live := map[int]bool{}
	var which []int
	var request strings.Builder
	for range 1 + c.random.IntN(4) {
		i, add := c.random.IntN(c.torture.universe.moving), c.random.IntN(2) == 0
		if _, again := live[i]; again || c.torture.history.doubtful(i) {
			continue
		}
		live[i] = add
		which = append(which, i)
		tr := fact(i)
		data := fmt.Sprintf("%s %s %s", tr.Subject, tr.Predicate, tr.Object)
		if !tr.Graph.IsZero() {
			data = fmt.Sprintf("GRAPH %s { %s }", tr.Graph, data)
		}
		verb := "DELETE"
		if add {
			verb = "INSERT"
		}
		fmt.Fprintf(&request, "%s DATA { %s };\n", verb, data)
	}
	if len(which) == 0 {
		return
	}

	// 2. An error leaves open what was done.
	p.await()
	call := c.torture.history.tick()
	_, err = e.Update(ctx, request.String(), engine.Params{})
	p.await()
	known := err == nil && !p.dead.Load()
	for _, i := range which {
		c.torture.history.wrote(i, live[i], call, known, fmt.Sprintf("%s by SPARQL through %s: %v", c.name, p.host.name, err))
	}
	c.torture.answered(aWrite, known)
	if err != nil {
		c.torture.saw(err)
	}
}

// deleteMatch deletes the triples of a pattern. To a history it deletes each triple
// that matches, because a delete of one that is not there changes nothing.
func (c *client) deleteMatch(ctx context.Context, p *process) {
	n, _ := p.running()
	if n == nil {
		return
	}
	// 1. Choose a pattern that matches only triples which clients may write. If this one
	// matches others, too, delete the triple alone.
	i := c.random.IntN(c.torture.universe.moving)
	pattern := triple.Pattern{Subject: fact(i).Subject}
	switch c.random.IntN(3) {
	case 0:
		pattern.Predicate = fact(i).Predicate
	case 1:
		pattern.Object = fact(i).Object
	}
	which, ok := c.deletable(pattern)
	if !ok {
		pattern = triple.Exact(fact(i))
		which, ok = c.deletable(pattern)
	}
	if !ok {
		return
	}

	// 2. An error leaves open what was done.
	p.await()
	call := c.torture.history.tick()
	r, err := store.DeleteMatch(ctx, n, pattern)
	p.await()
	known := err == nil && !p.dead.Load()
	for _, i := range which {
		c.torture.history.wrote(i, false, call, known, fmt.Sprintf("%s by the pattern %v through %s: %v", c.name, pattern, p.host.name, err))
	}
	if known && r.Deleted > int64(len(which)) {
		c.torture.fail("%d triples of %v are deleted, and %d match", r.Deleted, pattern, len(which))
	}
	c.torture.answered(aWrite, known)
	if known {
		c.torture.patterns.Add(1)
	}
	if err != nil {
		c.torture.saw(err)
	}
}

// deletable returns the triples of the universe that match a pattern; ok is false if there
// is none, or if one of them must not be written.
func (c *client) deletable(pattern triple.Pattern) (which []int, ok bool) {
	u := c.torture.universe
	for i := range u.extent() {
		if !pattern.Match(fact(i)) {
			continue
		}
		if i >= u.moving || c.torture.history.doubtful(i) {
			return nil, false
		}
		which = append(which, i)
	}
	return which, len(which) > 0
}
