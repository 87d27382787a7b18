// Answers from copies, while the machine that has a range is away.

package ranges

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/links/copies"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// methodCopied asks a machine that keeps copies for what they have of some ranges:
//
//	request: epoch uvarint, kind byte, n uvarint, n ranges of keys that begin with the same order and two terms
//	answer:  n uvarint; of each 0 where it has no copies, 2 where it cannot be told now, or 1 and
//
//	kind 0, a list     packed list
//	kind 1, UIDs       n uvarint, n claims
//	kind 2, a URL      n uvarint, n URLs
//	kind 3, grants     n uvarint, n claims
//
// A claim is its UID or 0, epoch and sequence, length and bytes of a name, and 1 where the
// copy has it from a journal.
const methodCopied = "links/copied"

// What is known of a range.
const (
	copiedNowhere byte = iota
	copiedKnown
	copiedUnclear
)

// The kinds of what is copied.
const (
	copiedList byte = iota
	copiedUIDs
	copiedURLs
	copiedGrants
)

const (
	// copiedAsked is how many ranges one message asks for.
	copiedAsked = 1 << 11
	// copiedTime bounds how long a machine with copies is waited for.
	copiedTime = 4 * time.Second
)

// copiedRange is a range that is asked for, and who read it.
type copiedRange struct {
	triple.Range
	owner trie.MachineID
	item  int // of those asked for
}

// copiedPatience is for how long a call tries to get answers while a machine is away: a
// lease is renewed, or views change.
const copiedPatience = 12 * time.Second

// again waits before the next try of a reader's call; false says that there is to be none.
func (r *reader) again(ctx context.Context) bool {
	r.trying.Lock()
	defer r.trying.Unlock()
	now := time.Now()
	if r.until.IsZero() {
		r.until = now.Add(copiedPatience)
	}
	r.pause = min(max(2*r.pause, 10*time.Millisecond), 200*time.Millisecond)
	if r.graph.o.Copies == 0 || now.Add(r.pause).After(r.until) {
		return false
	}
	timer := time.NewTimer(r.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// further tells that a reader's call has got further, so that it may try as long again.
func (r *reader) further() {
	r.trying.Lock()
	defer r.trying.Unlock()
	r.until, r.pause = time.Time{}, 0
}

// readAgain calls do with a reader, and if that was in vain since a machine is away, again:
// another view may tell more. What do makes it makes anew.
func (g *Graph) readAgain(ctx context.Context, do func(r *reader) error) error {
	var last reader
	for {
		err := g.read(ctx, func(r *reader) error {
			r.repeated, r.until, r.pause = true, last.until, last.pause
			err := do(r)
			last.until, last.pause = r.until, r.pause // nobody else uses r any more
			return err
		})
		last.graph = g
		if !errors.Is(err, node.ErrUnavailable) || !last.again(ctx) {
			return err
		}
	}
}

// fromCopies asks for ranges whose owners are away, and calls each with the answers that
// there are, one at a time; answered tells of which, and unsure of which there may be one
// a moment later.
func (r *reader) fromCopies(ctx context.Context, v *view.View, kind byte, asked []copiedRange, each func(item int, d *peer.Decoder) error) (answered, unsure map[int]bool, err error) {
	g := r.graph
	answered, unsure = map[int]bool{}, map[int]bool{}
	if len(asked) == 0 {
		return answered, unsure, nil
	}
	slices.SortFunc(asked, func(a, b copiedRange) int {
		return cmp.Or(cmp.Compare(a.owner, b.owner), bytes.Compare(a.Lo, b.Lo))
	})
	var parts [][]copiedRange
	for rest := asked; len(rest) > 0; {
		n := 1
		for n < len(rest) && n < copiedAsked && rest[n].owner == rest[0].owner {
			n++
		}
		parts = append(parts, rest[:n])
		rest = rest[n:]
	}
	var mu sync.Mutex
	err = atOnce(ctx, len(parts), 8, func(ctx context.Context, i int) error {
		left, failed := parts[i], false
		// Who ought to have copies comes first; others may have some that were made before
		// ranges moved.
		for _, holder := range copies.Holders(v, left[0].owner, len(v.Members)) {
			if len(left) == 0 || ctx.Err() != nil {
				break
			}
			if g.isAway(holder) {
				continue
			}
			found, unclear, err := g.askCopies(ctx, v.Epoch, holder, kind, left)
			if err != nil {
				g.o.Logger.Debug("copies of links are not answered", "machine", holder, "error", err)
				failed = true
				continue
			}
			failed = failed || unclear
			mu.Lock()
			var unknown []copiedRange
			for j, one := range left {
				if found[j] == nil {
					unknown = append(unknown, one)
					continue
				}
				d := peer.NewDecoder(found[j])
				if each(one.item, d) != nil || d.End() != nil {
					unknown = append(unknown, one)
					continue
				}
				answered[one.item] = true
			}
			mu.Unlock()
			left = unknown
		}
		mu.Lock()
		defer mu.Unlock()
		for _, one := range left {
			unsure[one.item] = failed
		}
		return ctx.Err()
	})
	if len(answered) > 0 {
		r.copied.Store(true)
	}
	return answered, unsure, err
}

// askCopies asks one machine; nil stands for what it cannot tell, unclear says that it may
// be able to tell some of it a moment later.
func (g *Graph) askCopies(ctx context.Context, epoch uint64, of trie.MachineID, kind byte, asked []copiedRange) (found [][]byte, unclear bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, copiedTime)
	defer cancel()
	e := peer.NewEncoder(64 * len(asked))
	e.Uvarint(epoch)
	e.Byte(kind)
	e.Uvarint(uint64(len(asked)))
	for _, a := range asked {
		e.Bytes(a.Lo)
		e.Bytes(a.Hi)
	}
	var answer []byte
	if of == g.store.MachineID() {
		answer, err = g.handleCopied(ctx, peer.Header{}, e.Data())
	} else {
		answer, err = g.store.Call(ctx, of, methodCopied, e.Data())
	}
	if err != nil {
		return nil, false, err
	}
	return parseCopiedAnswer(answer, len(asked))
}

// parseCopiedAnswer reads the answer to so many ranges.
func parseCopiedAnswer(answer []byte, asked int) (found [][]byte, unclear bool, err error) {
	d := peer.NewDecoder(answer)
	found = make([][]byte, d.Count(1))
	for i := range found {
		switch d.Byte() {
		case copiedKnown:
			if found[i] = d.Bytes(); found[i] == nil {
				found[i] = []byte{}
			}
		case copiedUnclear:
			unclear = true
		}
	}
	if err := d.End(); err != nil {
		return nil, false, err
	}
	if len(found) != asked {
		return nil, false, fmt.Errorf("%w: %d answers for %d ranges", peer.ErrMessage, len(found), asked)
	}
	return found, unclear, nil
}

// parseCopied reads a request: ranges that ascend, each of one list.
func parseCopied(body []byte) (epoch uint64, kind byte, ranges []triple.Range, err error) {
	d := peer.NewDecoder(body)
	epoch, kind = d.Uvarint(), d.Byte()
	ranges = make([]triple.Range, d.Count(2))
	for i := range ranges {
		r := triple.Range{Lo: d.Bytes(), Hi: d.Bytes()}
		pair, ok := triple.KeyPair(r.Lo)
		if d.Err() == nil && (!ok || r.Hi == nil || r.Empty() || bytes.Compare(r.Hi, copies.PairRange(pair).Hi) > 0) {
			return 0, 0, nil, fmt.Errorf("%w: a range of more than one list", peer.ErrMessage)
		}
		ranges[i] = r
	}
	if err := d.End(); err != nil {
		return 0, 0, nil, err
	}
	if kind > copiedGrants {
		return 0, 0, nil, fmt.Errorf("%w: kind %d", peer.ErrMessage, kind)
	}
	if !slices.IsSortedFunc(ranges, func(a, b triple.Range) int { return bytes.Compare(a.Lo, b.Lo) }) {
		return 0, 0, nil, fmt.Errorf("%w: ranges that do not ascend", peer.ErrMessage)
	}
	return epoch, kind, ranges, nil
}

// handleCopied answers from the copies of this machine.
func (g *Graph) handleCopied(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	epoch, kind, ranges, err := parseCopied(body)
	if err != nil {
		return nil, err
	}
	if g.copies == nil {
		return nil, &peer.Refusal{Code: peer.CodeUnavailable, Epoch: epoch, Message: "this machine keeps no copies"}
	}
	found, err := g.copies.Look(ctx, epoch, ranges)
	if err != nil {
		return nil, &peer.Refusal{Code: peer.CodeUnavailable, Epoch: epoch, Message: err.Error()}
	}
	r, err := g.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer r.close()
	all := make([]copied, len(found))
	for i := range found {
		if err := all[i].read(kind, found[i], triple.Order(ranges[i].Lo[0]) == triple.POS); err != nil {
			return nil, err
		}
	}
	v := g.store.View()
	now, err := r.now(ctx, v, kind, all)
	if err != nil {
		return nil, &peer.Refusal{Code: peer.CodeUnavailable, Epoch: epoch, Message: err.Error()}
	}
	e := peer.NewEncoder(32 * len(found))
	e.Uvarint(uint64(len(found)))
	one := peer.NewEncoder(64)
	for i := range all {
		one.Reset()
		if !found[i].Known {
			e.Byte(copiedNowhere)
			continue
		}
		known := !found[i].Later && (i == 0 || e.Len() < packedBytes)
		switch {
		case !known:
		case kind == copiedList:
			known = all[i].appendList(one, now)
		case kind == copiedUIDs || kind == copiedGrants:
			known = all[i].appendClaims(one, kind, now)
		case kind == copiedURLs:
			known = all[i].appendURLs(one, now)
		}
		if !known {
			e.Byte(copiedUnclear)
			continue
		}
		e.Byte(copiedKnown)
		e.Bytes(one.Data())
	}
	return e.Data(), nil
}

// lookEither looks ranges up, each all keys that begin with two terms. Those whose owners
// are away come from copies, if these can tell: then each is called for an item instead of
// row, or after it.
func (r *reader) lookEither(ctx context.Context, kind byte, all []wanted, row func(item int, row *row) error, each func(item int, d *peer.Decoder) error) error {
	g := r.graph
	if g.o.Copies == 0 {
		return r.look(ctx, all, row)
	}
	for {
		v := g.ownersView()
		if v == nil {
			return r.look(ctx, all, row)
		}
		away := g.awayOf(v, all)
		known := map[trie.MachineID]bool{}
		for _, a := range away {
			known[a.owner] = true
		}
		answered, unsure, err := r.fromCopies(ctx, v, kind, away, each)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(slices.Clone(all), func(w wanted) bool { return answered[w.item] })
		if len(all) == 0 {
			return nil
		}
		if slices.ContainsFunc(all, func(w wanted) bool { return unsure[w.item] }) && r.again(ctx) {
			continue
		}
		looked, err := g.lookWatched(ctx, r, v, all, known, row)
		if looked {
			return err
		}
		if !r.again(ctx) {
			return fmt.Errorf("%w: %w", node.ErrUnavailable, errAway)
		}
	}
}

// lookOnce looks ranges up. A call that is repeated does not wait for who is away.
func (r *reader) lookOnce(ctx context.Context, all []wanted, row func(item int, row *row) error) error {
	v := r.graph.ownersView()
	if !r.repeated || r.graph.o.Copies == 0 || v == nil {
		return r.look(ctx, all, row)
	}
	looked, err := r.graph.lookWatched(ctx, r, v, all, nil, row)
	if !looked {
		return fmt.Errorf("%w: %w", node.ErrUnavailable, errAway)
	}
	return err
}

// awayOf returns those of some ranges whose owners are away.
func (g *Graph) awayOf(v *view.View, all []wanted) (asked []copiedRange) {
	now := g.standing(v)
	if now.whole {
		return nil
	}
	for _, w := range all {
		if owner, live, ok := now.readerOf(w.Range); ok && !live {
			asked = append(asked, copiedRange{w.Range, owner, w.item})
		}
	}
	return asked
}
