// Finding pages of links that came by other doors than those of links.

package ranges

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// lookEvery is how long a member waits until it looks through its links again, and
	// changeEvery how often it looks whether it reads others than before.
	lookEvery   = 10 * time.Minute
	changeEvery = time.Second
	// lookPages is how many pages it looks up between two pauses, of lookPause: it may
	// take its time.
	lookPages = 1 << 12
	lookPause = 50 * time.Millisecond
	// seenPages bounds what is kept of pages that were looked up, 8 bytes each.
	seenPages = 1 << 22
)

// looked is of what a look was.
type looked struct {
	linking []triple.Range
	shown   int // how many bulk loads showed
}

func (l looked) equal(other looked) bool {
	return l.shown == other.shown && slices.EqualFunc(l.linking, other.linking, func(a, b triple.Range) bool {
		return bytes.Equal(a.Lo, b.Lo) && bytes.Equal(a.Hi, b.Hi)
	})
}

// lookThrough looks through the links that this machine reads, every now and then, when
// others have become its own, and when a bulk load shows, until the graph is closed. All
// members together look at all links.
func (g *Graph) lookThrough() {
	var before looked
	var at time.Time
	for g.pause(changeEvery) {
		v := g.store.View()
		if v == nil {
			continue
		}
		if g.settled.Load() < v.Epoch { // so that no read has to wait for it while a machine is away
			if err := g.settle(g.ctx, v.Epoch); err != nil && g.ctx.Err() == nil {
				g.o.Logger.Debug("operations of earlier epochs may not be settled", "error", err)
			}
		}
		now := looked{g.linking(), v.Shown()}
		if now.equal(before) && time.Since(at) < lookEvery {
			continue
		}
		err := g.lookOnce(g.ctx, now.linking)
		switch {
		case err == nil:
			before, at = now, time.Now()
		case g.ctx.Err() == nil:
			g.o.Logger.Debug("links were not looked through to the end", "error", err)
		}
	}
}

// linking returns the parts of the range of links that this machine reads.
func (g *Graph) linking() []triple.Range {
	for _, m := range g.machines() {
		if m.id == g.store.MachineID() {
			return m.linking
		}
	}
	return nil
}

// pause waits; false says that the graph is closed.
func (g *Graph) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-g.ctx.Done():
		return false
	}
}

var errPaused = errors.New("pause")

// lookOnce looks through parts of the range of links.
func (g *Graph) lookOnce(ctx context.Context, parts []triple.Range) error {
	for _, part := range parts {
		if err := g.lookAt(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// lookAt names the pages of the links in a range of POS.
func (g *Graph) lookAt(ctx context.Context, part triple.Range) error {
	seed := maphash.MakeSeed()
	seen := map[uint64]struct{}{}
	var pages []string
	look := func(url []byte) {
		h := maphash.Bytes(seed, url)
		if _, ok := seen[h]; !ok { // two of one hash: the next round has another seed
			seen[h] = struct{}{}
			pages = append(pages, string(url))
		}
	}
	flush := func() error {
		if len(seen) > seenPages {
			clear(seen)
		}
		if len(pages) == 0 {
			return nil
		}
		err := g.read(ctx, func(r *reader) error {
			_, err := r.named(ctx, pages)
			return err
		})
		pages = pages[:0]
		if err != nil {
			return err
		}
		if !g.pause(lookPause) {
			return context.Cause(g.ctx)
		}
		return nil
	}
	for {
		var behind []byte // the last key that was read
		err := g.read(ctx, func(r *reader) error {
			return r.scanKeys(ctx, part, func(key []byte, row *row) error {
				src, isSrc := row.iri(triple.Subject)
				dst, isDst := row.iri(triple.Object)
				if !isSrc || !isDst {
					return nil
				}
				look(src)
				look(dst)
				if len(pages) >= lookPages {
					behind = append([]byte(nil), key...)
					return errPaused
				}
				return nil
			})
		})
		if err != nil && !errors.Is(err, errPaused) {
			return fmt.Errorf("look through links: %w", err)
		}
		if flushed := flush(); flushed != nil {
			return flushed
		}
		if err == nil {
			return nil
		}
		part.Lo = append(behind, 0)
	}
}

// scanKeys calls do with the rows of a range and their keys.
func (r *reader) scanKeys(ctx context.Context, keys triple.Range, do func(key []byte, row *row) error) error {
	rows, err := r.source.Scan(ctx, keys, false)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		row, err := rowOf(rows.Key(), rows.Value())
		if err != nil {
			return err
		}
		if err := do(rows.Key(), &row); err != nil {
			return err
		}
	}
	return rows.Err()
}

var _ links.Graph = (*Graph)(nil)
