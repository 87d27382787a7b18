// Ranges of down machines, fetched from the copies of others.

package rowreader

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/copies"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/trie"
)

// MethodCopied requests what a machine's copies have of some ranges:
//
//	request: epoch uvarint, kind byte, n uvarint, n ranges of keys that begin with the
//	         same order and two terms
//	answer:  n uvarint; for each 0 if it has no copies, 2 if it cannot answer now, or 1 and
//
//	kind 0, a list     packed list
//	kind 1, UIDs       n uvarint, n claims
//	kind 2, a URL      n uvarint, n URLs
//	kind 3, grants     n uvarint, n claims
//
// A claim is its UID or 0, epoch and sequence, length and bytes of a name, and 1 if the copy
// has it from a journal.
const MethodCopied = "links/copied"

// States of a range in an answer.
const (
	CopiedNowhere byte = iota
	CopiedKnown
	CopiedUnclear
)

// The kinds of requested data.
const (
	CopiedList byte = iota
	CopiedUIDs
	CopiedURLs
	CopiedGrants
)

const (
	// maxCopiedRanges is the number of ranges in one message.
	maxCopiedRanges = 1 << 11
	// CopyTimeout bounds the wait for a machine with copies.
	CopyTimeout = 4 * time.Second
)

// FetchCopied requests ranges whose owners are down from copies. It calls each with every
// answer, one at a time. answered has the items with an answer. unsure has the items that may
// get one if the call is repeated a moment later.
func (r *Reader) FetchCopied(ctx context.Context, v *view.View, kind byte, asked []ownership.OwnedRange, each func(item int, d *peer.Decoder) error) (answered, unsure map[int]bool, err error) {
	g := r.Readers
	answered, unsure = map[int]bool{}, map[int]bool{}
	if len(asked) == 0 {
		return answered, unsure, nil
	}
	// 1. Group the ranges by owner, because an owner's copies are on the same machines.
	slices.SortFunc(asked, func(a, b ownership.OwnedRange) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), bytes.Compare(a.Lo, b.Lo))
	})
	var parts [][]ownership.OwnedRange
	for rest := asked; len(rest) > 0; {
		n := 1
		for n < len(rest) && n < maxCopiedRanges && rest[n].Owner == rest[0].Owner {
			n++
		}
		parts = append(parts, rest[:n])
		rest = rest[n:]
	}
	// 2. Ask the machines with copies one after the other until every range has an answer.
	var mu sync.Mutex
	err = ownership.Parallel(ctx, len(parts), 8, func(ctx context.Context, i int) error {
		left, failed := parts[i], false
		// The machines that must have copies come first. Others may have older ones, from
		// before ranges moved.
		for _, holder := range copies.Holders(v, left[0].Owner, len(v.Members)) {
			if len(left) == 0 || ctx.Err() != nil {
				break
			}
			if g.IsDown(holder) {
				continue
			}
			found, unclear, err := g.requestCopies(ctx, v.Epoch, holder, kind, left)
			if err != nil {
				g.Log.Debug("copies of links are not answered", "machine", holder, "error", err)
				failed = true
				continue
			}
			failed = failed || unclear
			// each must not run concurrently, so it is called under the lock.
			mu.Lock()
			var unknown []ownership.OwnedRange
			for j, one := range left {
				if found[j] == nil {
					unknown = append(unknown, one)
					continue
				}
				d := peer.NewDecoder(found[j])
				if each(one.Item, d) != nil || d.End() != nil {
					unknown = append(unknown, one)
					continue
				}
				answered[one.Item] = true
			}
			mu.Unlock()
			left = unknown
		}
		// 3. If a machine failed, a retry may get an answer.
		mu.Lock()
		defer mu.Unlock()
		for _, one := range left {
			unsure[one.Item] = failed
		}
		return ctx.Err()
	})
	if len(answered) > 0 {
		r.usedCopies.Store(true)
	}
	return answered, unsure, err
}

// requestCopies requests ranges from one machine. An element is nil if the machine has no
// answer. unclear reports that a retry may get one.
func (g *Readers) requestCopies(ctx context.Context, epoch uint64, of trie.MachineID, kind byte, asked []ownership.OwnedRange) (found [][]byte, unclear bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, CopyTimeout)
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
	if of == g.Store.MachineID() {
		answer, err = g.LocalCopied(ctx, peer.Header{}, e.Data())
	} else {
		answer, err = g.Store.Call(ctx, of, MethodCopied, e.Data())
	}
	if err != nil {
		return nil, false, err
	}
	return ParseCopiedAnswer(answer, len(asked))
}

// ParseCopiedAnswer decodes the answer about a given number of ranges. An element is nil if
// there is no answer.
func ParseCopiedAnswer(answer []byte, asked int) (found [][]byte, unclear bool, err error) {
	d := peer.NewDecoder(answer)
	found = make([][]byte, d.Count(1))
	for i := range found {
		switch d.Byte() {
		case CopiedKnown:
			if found[i] = d.Bytes(); found[i] == nil {
				found[i] = []byte{}
			}
		case CopiedUnclear:
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
