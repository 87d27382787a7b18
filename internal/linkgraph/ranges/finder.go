// Finder: assigns UIDs to pages that came by other ways than Update.

package ranges

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/triple"
)

// finder finds pages without UIDs in the background.
type finder struct {
	*rowreader.Readers
	uids      *assign.Assigner
	inventory *inventory
}

const (
	// findInterval is the time between two rounds over the links of a member. checkInterval is
	// the time between two checks: if the member reads other ranges, a round starts early.
	findInterval  = 10 * time.Minute
	checkInterval = time.Second
	// maxFindPages is the number of pages between two pauses of findPause. The pauses are there
	// because the work is not urgent.
	maxFindPages = 1 << 12
	findPause    = 50 * time.Millisecond
	// maxSeenPages bounds the hashes of pages that were looked up, 8 bytes each.
	maxSeenPages = 1 << 22
)

// findRound is the subject of one round: a new round starts if it differs.
type findRound struct {
	linking []triple.Range
	shown   int // number of bulk loads that showed
}

func (l findRound) equal(other findRound) bool {
	return l.shown == other.shown && slices.EqualFunc(l.linking, other.linking, func(a, b triple.Range) bool {
		return bytes.Equal(a.Lo, b.Lo) && bytes.Equal(a.Hi, b.Hi)
	})
}

// run looks through the links that this machine reads until the graph is closed. A round starts
// every findInterval, when the machine reads other ranges, and when a bulk load shows. All
// members together look at all links.
func (g *finder) run() {
	var before findRound
	var at time.Time
	for g.Pause(checkInterval) {
		v := g.Store.View()
		if v == nil {
			continue
		}
		// 1. Wait until operations of earlier epochs are committed, because otherwise a read
		// must wait for them while a machine is down.
		if g.uids.Committed.Load() < v.Epoch { // so that no read has to wait for it while a machine is away
			if err := g.uids.AwaitCommitted(g.Ctx, v.Epoch); err != nil && g.Ctx.Err() == nil {
				g.Log.Debug("operations of earlier epochs may not be settled", "error", err)
			}
		}
		// 2. Skip the round if the last complete one was recent and nothing has changed.
		now := findRound{g.linkRanges(), v.Shown()}
		if now.equal(before) && time.Since(at) < findInterval {
			continue
		}
		// 3. If the round fails, before stays as it was: the next check retries it.
		err := g.findInAll(g.Ctx, now.linking)
		switch {
		case err == nil:
			before, at = now, time.Now()
		case g.Ctx.Err() == nil:
			g.Log.Debug("links were not looked through to the end", "error", err)
		}
	}
}

// linkRanges returns the parts of the range of links that this machine reads.
func (g *finder) linkRanges() []triple.Range {
	for _, m := range g.inventory.memberRanges() {
		if m.id == g.Store.MachineID() {
			return m.linking
		}
	}
	return nil
}

var errPaused = errors.New("pause")

// findInAll looks through parts of the range of links.
func (g *finder) findInAll(ctx context.Context, parts []triple.Range) error {
	for _, part := range parts {
		if err := g.findIn(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// findIn assigns UIDs to the pages of the links in a range of POS.
func (g *finder) findIn(ctx context.Context, part triple.Range) error {
	seed := maphash.MakeSeed()
	seen := map[uint64]struct{}{}
	var pages []string
	// look collects a page, unless its hash was seen since the last clear.
	look := func(url []byte) {
		h := maphash.Bytes(seed, url)
		if _, ok := seen[h]; !ok { // if two URLs share a hash, the next round has another seed
			seen[h] = struct{}{}
			pages = append(pages, string(url))
		}
	}
	// flush assigns UIDs to the collected pages. If seen is full, it is cleared: a page that is
	// looked up twice costs time only.
	flush := func() error {
		if len(seen) > maxSeenPages {
			clear(seen)
		}
		if len(pages) == 0 {
			return nil
		}
		err := g.Read(ctx, func(r *rowreader.Reader) error {
			_, err := g.uids.AssignUIDs(ctx, r, pages)
			return err
		})
		pages = pages[:0]
		if err != nil {
			return err
		}
		if !g.Pause(findPause) {
			return context.Cause(g.Ctx)
		}
		return nil
	}
	// Scan until maxFindPages pages are pending, flush, and resume behind the last key: no
	// snapshot is open during the pauses.
	for {
		var behind []byte // the last key that was read
		err := g.Read(ctx, func(r *rowreader.Reader) error {
			return r.ScanKeys(ctx, part, func(key []byte, row *linkkeys.Row) error {
				src, isSrc := row.Iri(triple.Subject)
				dst, isDst := row.Iri(triple.Object)
				if !isSrc || !isDst {
					return nil
				}
				look(src)
				look(dst)
				if len(pages) >= maxFindPages {
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
