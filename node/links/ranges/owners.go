// Lists that come from the machines that read their ranges.

package ranges

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// methodLists asks the machine that reads the ranges of pages' lists for them:
//
//	request: epoch uvarint, direction byte, n uvarint, n URLs (length uvarint and bytes)
//	answer:  n uvarint; of each 0, or 1 and the packed list (length uvarint and bytes)
//
// A list that is very long is not answered here; its rows are to be read.
const methodLists = "links/lists"

const (
	// askedLists is how many lists one message asks for.
	askedLists = 1 << 12
	// maxPacked is how many links a list has at most that is kept packed.
	maxPacked = 1 << 14
	// readEnds bounds the links that are read for one message, and packedBytes its answer.
	readEnds    = 1 << 20
	packedBytes = 16 << 20
)

// share is what one machine is asked for.
type share struct {
	owner trie.MachineID
	items []int // of those asked for
}

// listRange returns the rows of a page's list: all keys that begin with two terms, as
// [triple.Pattern.Scan] has them, in one allocation.
func (g *Graph) listRange(d links.Direction, url string) triple.Range {
	page := triple.NewIRI(url)
	key := make([]byte, 0, 2*(len(url)+len(g.predicateTerm)+16))
	if d == links.Backward {
		key = append(append(key, byte(triple.POS)), g.predicateTerm...)
		key, _ = triple.AppendTerm(append(key, 0, 1), page)
	} else {
		key, _ = triple.AppendTerm(append(key, byte(triple.SPO)), page)
		key = append(append(key, 0, 1), g.predicateTerm...)
	}
	key = append(key, 0, 1)
	n := len(key)
	key = append(key, key...)
	key[2*n-1] = 2
	return triple.Range{Lo: key[:n:n], Hi: key[n:]}
}

// shares divides some pages by who reads their lists; away are those whose readers are,
// cut those that several read, of whom some are away, and rest the others.
func (g *Graph) shares(v *view.View, d links.Direction, urls []string, items []int) (shares []share, away []copiedRange, cut, rest []int) {
	place := map[trie.MachineID]int{}
	now := g.standing(v)
	for _, i := range items {
		keys := g.listRange(d, urls[i])
		owner, live, ok := now.readerOf(keys)
		switch {
		case !ok:
			if now.there(keys) {
				rest = append(rest, i)
			} else {
				cut = append(cut, i)
			}
			continue
		case !live:
			away = append(away, copiedRange{keys, owner, i})
			continue
		}
		at, ok := place[owner]
		if !ok || len(shares[at].items) == askedLists {
			at = len(shares)
			place[owner] = at
			shares = append(shares, share{owner: owner})
		}
		shares[at].items = append(shares[at].items, i)
	}
	return shares, away, cut, rest
}

// fromOwners has the machines that read the ranges of pages' lists answer, and those that
// have copies where these are away: all is set where they do. rest are the pages whose
// rows have to be read.
func (r *reader) fromOwners(ctx context.Context, d links.Direction, urls []string, all [][]uid.UID) (rest []int, err error) {
	items := make([]int, len(urls))
	for i := range items {
		items[i] = i
	}
	for {
		v := r.graph.store.View()
		if v == nil {
			return append(rest, items...), nil
		}
		some, unsure, err := r.fromOwnersIn(ctx, v, d, urls, items, all)
		if err != nil {
			return nil, err
		}
		rest = append(rest, some...)
		if len(unsure) == 0 {
			return rest, nil
		}
		if !r.again(ctx) { // reading rows says what is wrong
			return append(rest, unsure...), ctx.Err()
		}
		items = unsure
	}
}

// fromOwnersIn is one try, under a view. Of the pages that are unsure others may know more
// a moment later.
func (r *reader) fromOwnersIn(ctx context.Context, v *view.View, d links.Direction, urls []string, items []int, all [][]uid.UID) (rest, unsure []int, err error) {
	g := r.graph
	shares, away, cut, rest := g.shares(v, d, urls, items)
	missed := make([][]int, len(shares))
	failed := make([]bool, len(shares))
	err = atOnce(ctx, len(shares), max(1, len(shares)), func(ctx context.Context, i int) error {
		s := &shares[i]
		asked := make([]string, len(s.items))
		for j, item := range s.items {
			asked[j] = urls[item]
		}
		packed, err := g.askOwner(ctx, v.Epoch, s.owner, d, asked)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			failed[i] = passing(err)
			missed[i] = s.items
			return nil
		}
		for j, item := range s.items {
			if packed[j] == nil {
				missed[i] = append(missed[i], item)
				continue
			}
			if all[item], err = unpack(make([]uid.UID, 0, len(packed[j])/2), packed[j]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range missed {
		for _, item := range missed[i] {
			switch {
			case !failed[i]: // it is too long, or there is another reason that stays
				rest = append(rest, item)
			case g.isAway(shares[i].owner):
				away = append(away, copiedRange{g.listRange(d, urls[item]), shares[i].owner, item})
			case g.o.Copies > 0: // another view, maybe
				unsure = append(unsure, item)
			default:
				rest = append(rest, item)
			}
		}
	}
	answered, uncertain, err := r.fromCopies(ctx, v, copiedList, away, func(item int, d *peer.Decoder) (err error) {
		packed := d.Bytes()
		all[item], err = unpack(make([]uid.UID, 0, len(packed)/2), packed)
		return err
	})
	for _, a := range away {
		switch {
		case answered[a.item]:
		case uncertain[a.item]:
			unsure = append(unsure, a.item)
		default:
			rest = append(rest, a.item)
		}
	}
	if err != nil || len(cut) == 0 || r.graph.o.Copies == 0 {
		return append(rest, cut...), unsure, err
	}
	more, moreUnsure, err := r.cutLists(ctx, v, d, urls, cut, all)
	return append(rest, more...), append(unsure, moreUnsure...), err
}

// passing tells whether what an owner refused it may grant a moment later, under another
// view maybe.
func passing(err error) bool {
	if unreachable(err) {
		return true
	}
	var refusal *peer.Refusal
	if !errors.As(err, &refusal) {
		return false
	}
	switch refusal.Code {
	case peer.CodeEpoch, peer.CodeLease, peer.CodeUnavailable, peer.CodeNotOwner, peer.CodeClosing, peer.CodeBusy:
		return true
	}
	return false
}

// askOwner returns packed lists; nil for one that is not answered.
func (g *Graph) askOwner(ctx context.Context, epoch uint64, owner trie.MachineID, d links.Direction, urls []string) ([][]byte, error) {
	if owner == g.store.MachineID() {
		return g.ownLists(ctx, epoch, d, urls)
	}
	e := peer.NewEncoder(80 * len(urls))
	e.Uvarint(epoch)
	e.Byte(byte(d))
	e.Uvarint(uint64(len(urls)))
	for _, url := range urls {
		e.String(url)
	}
	answer, err := g.callOwner(ctx, owner, methodLists, e.Data())
	if err != nil {
		return nil, err
	}
	dec := peer.NewDecoder(answer)
	packed := make([][]byte, dec.Count(1))
	for i := range packed {
		if dec.Bool() {
			packed[i] = dec.Bytes()
			if packed[i] == nil {
				packed[i] = []byte{}
			}
		}
	}
	if err := dec.End(); err != nil {
		return nil, err
	}
	if len(packed) != len(urls) {
		return nil, fmt.Errorf("%w: %d lists for %d pages", peer.ErrMessage, len(packed), len(urls))
	}
	return packed, nil
}

func (g *Graph) handleLists(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	dec := peer.NewDecoder(body)
	epoch, d := dec.Uvarint(), links.Direction(dec.Byte())
	urls := make([]string, dec.Count(1))
	for i := range urls {
		urls[i] = dec.String()
	}
	if err := dec.End(); err != nil {
		return nil, err
	}
	if d != links.Forward && d != links.Backward {
		return nil, fmt.Errorf("%w: direction %d", peer.ErrMessage, d)
	}
	packed, err := g.ownLists(ctx, epoch, d, urls)
	if err != nil {
		return nil, err
	}
	size := 16
	for _, p := range packed {
		size += len(p) + 4
	}
	e := peer.NewEncoder(size)
	e.Uvarint(uint64(len(packed)))
	for _, p := range packed {
		e.Bool(p != nil)
		if p != nil {
			e.Bytes(p)
		}
	}
	return e.Data(), nil
}

var errUncounted = errors.New("this machine does not count changes")

// ownLists returns packed lists of pages that this machine reads under the view of an
// epoch; nil for those that are too long.
//
// Counts are taken first: a kept list is then at least as new as the call. Whether this
// machine may answer, and all is settled, is found out by reading, also where there is
// nothing to be read.
func (g *Graph) ownLists(ctx context.Context, epoch uint64, d links.Direction, urls []string) ([][]byte, error) {
	packed := make([][]byte, len(urls))
	keys := make([]listKey, len(urls))
	counts := make([]uint64, len(urls))
	ranges := make([]triple.Range, len(urls))
	var missing []int
	for i, url := range urls {
		ranges[i] = g.listRange(d, url)
		var ok bool
		if counts[i], ok = g.store.ChangeCount(ranges[i].Lo); !ok {
			return nil, errUncounted
		}
		keys[i] = g.packed.key(d, url)
		if packed[i], ok = g.packed.get(keys[i], counts[i]); !ok {
			missing = append(missing, i)
		}
	}
	var read owned
	err := g.store.ReadOwn(ctx, epoch, ranges, func(ctx context.Context, sn *node.Snapshot) error {
		asked := make([]string, len(missing))
		for j, i := range missing {
			asked[j] = urls[i]
		}
		return read.read(ctx, &reader{graph: g, source: sn.Source()}, d, asked)
	})
	if err != nil || len(missing) == 0 {
		return bounded(packed), err
	}
	uids, degraded, err := g.namedOf(ctx, read.urls)
	if err != nil {
		return nil, err
	}
	for j, i := range missing {
		if read.left[j] {
			continue
		}
		list := make([]uid.UID, 0, len(read.ends[j]))
		for _, at := range read.ends[j] {
			if uids[at] != 0 {
				list = append(list, uids[at])
			}
		}
		slices.Sort(list)
		packed[i] = appendPacked([]byte{}, slices.Compact(list))
		if !degraded {
			g.packed.put(keys[i], packedList{counts[i], packed[i]})
		}
	}
	return bounded(packed), nil
}

// bounded leaves those lists out with which an answer would be too long.
func bounded(packed [][]byte) [][]byte {
	size := 0
	for i := range packed {
		if size += len(packed[i]); size > packedBytes {
			packed[i] = nil
		}
	}
	return packed
}

// namedOf returns the UIDs of pages, which get some if they have none, and whether some
// came from other orders.
func (g *Graph) namedOf(ctx context.Context, urls []string) (uids []uid.UID, degraded bool, err error) {
	err = g.read(ctx, func(r *reader) error {
		uids, err = r.named(ctx, urls)
		degraded = r.degraded()
		return err
	})
	return uids, degraded, err
}

// owned are lists as they are read from this machine's rows.
type owned struct {
	urls  []string       // of all ends, each once
	place map[string]int // of a URL among them
	ends  [][]int        // by list: places
	left  []bool         // the list is too long
	total int
}

// read reads lists.
func (o *owned) read(ctx context.Context, r *reader, d links.Direction, urls []string) error {
	o.place = map[string]int{}
	o.ends, o.left = make([][]int, len(urls)), make([]bool, len(urls))
	done := make([]bool, len(urls)) // all of the list was read
	last := -1
	err := r.targets(ctx, d, urls, func(i int, end []byte) error {
		if i != last && last >= 0 {
			done[last] = true
		}
		last = i
		if o.total++; o.total > readEnds {
			return errEnough
		}
		if o.left[i] || len(o.ends[i]) == maxPacked {
			o.left[i], o.ends[i] = true, nil
			return nil
		}
		at, ok := o.place[string(end)]
		if !ok {
			at = len(o.urls)
			o.urls = append(o.urls, string(end))
			o.place[o.urls[at]] = at
		}
		o.ends[i] = append(o.ends[i], at)
		return nil
	})
	if !errors.Is(err, errEnough) {
		return err
	}
	for i := range o.left {
		o.left[i] = o.left[i] || !done[i]
	}
	return nil
}

var errEnough = errors.New("enough for one message")
