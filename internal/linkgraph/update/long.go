// Replacing long lists: in parts, under a lock of the page's primary.

package update

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/links"
)

// A long replacement is some steps of the machine that received it at the primary of the page:
//
//	begin   the primary takes the lock of the partition's replacements, and keeps it under a token
//	part    the primary makes some of the changes, fenced as in every replacement
//	end     it gives the lock back
//
// If the primary receives no step for holdTimeout, it gives the lock back, because the other machine
// may be lost. A later part is refused then, and the replacement begins again.

// Hold is a step of the long replacement with a token. The zero hold is a replacement in one step.
type Hold struct {
	Token uint64
	Step  holdStep
}

type holdStep uint64

const (
	HoldBegin holdStep = iota
	HoldPart
	HoldEnd
)

const (
	// HoldTimeout bounds the time between two steps.
	HoldTimeout = time.Minute
	// holdEndTimeout bounds the last step. If it fails, the lock ends by itself.
	holdEndTimeout = 5 * time.Second
)

// holds are the locks that a primary keeps for long replacements, by token.
type holds struct {
	mu sync.Mutex
	of map[uint64]held
}

type held struct {
	set    derived.Partitions
	unlock func()
	timer  *time.Timer // gives the lock back
}

// keep keeps a lock until take or holdTimeout.
func (x *holds) keep(token uint64, set derived.Partitions, unlock func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.of == nil {
		x.of = map[uint64]held{}
	}
	x.of[token] = held{set, unlock, time.AfterFunc(HoldTimeout, func() {
		if h, ok := x.take(token); ok {
			h.unlock()
		}
	})}
}

// take returns a lock, which is no longer kept. ok is false if it has ended.
func (x *holds) take(token uint64) (h held, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if h, ok = x.of[token]; ok {
		h.timer.Stop()
		delete(x.of, token)
	}
	return h, ok
}

// HoldHere makes a step as the primary.
func (r *Replacer) HoldHere(ctx context.Context, h Hold, changes []links.Change, done *links.UpdateResult) error {
	if h.Step == HoldBegin {
		set := SourcesOf(changes)
		unlock, err := r.LockReplacing(ctx, set)
		if err == nil {
			r.holds.keep(h.Token, set, unlock)
		}
		return err
	}
	kept, ok := r.holds.take(h.Token)
	switch {
	case h.Step == HoldEnd:
		if ok {
			kept.unlock()
		}
		return nil
	case !ok || SourcesOf(changes)&^kept.set != 0:
		return peer.Refuse(peer.CodeUnavailable, 0, "the replacement of a long list has lost its lock: begin again")
	}
	defer r.holds.keep(h.Token, kept.set, kept.unlock)
	return r.updateFenced(ctx, kept.set, changes, done)
}

// replaceLong replaces a list of very many links. Readers may see some of its links before others,
// and other replacements of the partition wait. A failure may leave some of its links.
func (r *Replacer) replaceLong(ctx context.Context, c *links.Change, result *links.UpdateResult) error {
	return r.router.Retry(ctx, machine.MayPass, func() error { return r.tryReplaceLong(ctx, c, result) })
}

// tryReplaceLong is one try of replaceLong, at the present primary.
func (r *Replacer) tryReplaceLong(ctx context.Context, c *links.Change, result *links.UpdateResult) error {
	m, token := r.primaryOf(c.Source), rand.Uint64()|1
	do := func(step holdStep, change links.Change) error {
		return r.replaceAt(ctx, m, Hold{token, step}, []links.Change{change}, result)
	}
	// 1. Lock the page.
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), holdEndTimeout)
		defer cancel()
		_ = r.replaceAt(ending, m, Hold{token, HoldEnd}, []links.Change{{Source: c.Source}}, result)
	}()
	if err := do(HoldBegin, links.Change{Source: c.Source}); err != nil {
		return err
	}
	// 2. Delete the links that go, then add the others.
	err := r.writer.deleteOthers(ctx, c, func(gone []string) error {
		return do(HoldPart, links.Change{Kind: links.DeleteLinks, Source: c.Source, Targets: gone})
	})
	if err != nil {
		return err
	}
	added := *c
	added.Kind = links.AddLinks
	for part := range r.writer.partsOf(&added) {
		if err := do(HoldPart, part); err != nil {
			return err
		}
	}
	return nil
}
