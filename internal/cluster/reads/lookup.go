// Look-ups: the rows of many ranges, one message to each owner.

package reads

import (
	"context"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// errStop ends a look-up if its caller needs no more rows.
var errStop = errors.New("stop")

// lookup calls each for the rows of ranges. The ranges must ascend and not overlap, and may be empty.
// If a request fails, it continues after the last row.
func (sn *Snapshot) lookup(ctx context.Context, ranges []triple.Range, f *filter, each func(row) error) error {
	if err := sn.begin(ctx); err != nil {
		return err
	}
	var stop error
	var key []byte // of the last row
	t, ctx := sn.retries(ctx)
	first, moved, shown := 0, false, 0
	rest := ranges
	for {
		if sn.closed.Load() {
			return fmt.Errorf("look up: %w", store.ErrClosed)
		}
		// 1. One try, under the present view. If a load was published after the first rows, the
		// look-up must end.
		v, index := sn.reads.member.View(), first
		if key != nil && v.Shown() != shown {
			return errPublished
		}
		shown = v.Shown()
		at, err := sn.attemptRows(ctx, v)
		if err == nil {
			returned := false
			err = at.tryLookup(ctx, rest, f, true, func(r row) error {
				if !returned {
					if err := sn.returns(at.tick); err != nil {
						return err
					}
					returned = true
				}
				r.index += index
				key, first, moved = append(key[:0], r.key...), r.index, true
				if stop = each(r); stop != nil {
					return errStop
				}
				return nil
			})
			if err == nil && !returned {
				err = sn.returns(at.tick)
			}
		}
		if stop != nil {
			return stop
		}
		if err == nil {
			return ctx.Err()
		}
		err = sn.failed(at.tick, err)
		// 2. After a failure: drop the ranges and rows each has got, and retry.
		if moved {
			t.progress()
			rest = append([]triple.Range{rangeAfter(ranges[first], key, false)}, ranges[first+1:]...)
			moved = false
		}
		if err := t.wait(ctx, v, err); err != nil {
			return err
		}
	}
}

// group is the ranges of one owner, or of all down owners.
type group struct {
	piece
	ranges []triple.Range
	feed   feed
	head   row
	valid  bool
}

// part is one range of a group, and the index of its range in the look-up.
type part struct {
	group *group
	at    int // in the group
	index int
}

// tryLookup is one try of a look-up under one view. With other, rows of down owners come from
// other orders; without it, such a range is an error.
func (at attempt) tryLookup(ctx context.Context, ranges []triple.Range, f *filter, other bool, each func(row) error) error {
	parts, groups, err := at.split(ranges)
	if err != nil {
		return err
	}
	if len(groups) == 0 {
		return ctx.Err()
	}
	// 1. Open a feed for each group; the owners answer at the same time.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() {
		for _, g := range groups {
			if g.feed != nil {
				g.feed.close()
			}
		}
	}()
	if err := at.openGroups(ctx, groups, f, other); err != nil {
		return err
	}
	// 2. Read the parts in sequence.
	for _, p := range parts {
		if err := p.yield(each); err != nil {
			return err
		}
	}
	// 3. If a row is left, it is out of sequence.
	for _, g := range groups {
		if g.valid {
			return &remoteError{g.owner, fmt.Errorf("%w: rows that do not ascend", peer.ErrMessage)}
		}
	}
	return nil
}

// openGroups opens the feeds. Remote ones must come first, because all machines then answer at
// the same time.
func (at attempt) openGroups(ctx context.Context, groups []*group, f *filter, other bool) error {
	// 1. All groups share the bytes requested ahead. Remote feeds come first, in the first round.
	most := max(at.reads.options.Ahead/int64(2*len(groups)), firstBudget)
	self := at.reads.self
	for _, here := range []bool{false, true} {
		// 2. Wait for the first row of each.
		for _, g := range groups {
			if (!g.live || g.owner == self) != here {
				continue
			}
			q := &request{epoch: at.view.Epoch, view: at.view, filter: f, wait: at.wait, tick: at.tick, ranges: g.ranges}
			var err error
			switch {
			case g.live:
				g.feed, err = at.reads.open(ctx, q, g.owner, most, most, false)
			case other:
				g.feed, err = fallback{at}.open(ctx, q)
			default:
				err = errNoOrder
			}
			if err != nil {
				return err
			}
			// A called feed sends its request only when it is read, so it must begin here if
			// there are other groups.
			if called, ok := g.feed.(*calledFeed); ok && len(groups) > 1 {
				called.begin()
			}
		}
	}
	for _, g := range groups {
		if err := g.advance(); err != nil {
			return err
		}
	}
	return nil
}

// advance makes the next row of the group its head.
func (g *group) advance() (err error) {
	g.head, g.valid, err = g.feed.next()
	return err
}

// yield calls each for the rows of the part.
func (p part) yield(each func(row) error) error {
	g := p.group
	for g.valid && g.head.index == p.at {
		if err := each(row{p.index, g.head.key, g.head.value}); err != nil {
			return err
		}
		if err := g.advance(); err != nil {
			return err
		}
	}
	return nil
}
