// Routing: which machine answers for which pages.

package linkgraph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/trie"
)

// directory is what a machine knows of the others: which partitions each holds, and which of them
// did not answer a moment ago. It is a hint: a machine refuses if it lacks a partition.
type directory struct {
	mu        sync.Mutex
	placement *placement // of the last view
	held      map[trie.MachineID]partitionSet
	down      map[trie.MachineID]time.Time // until when
	fresh     time.Time                    // when held was asked for
	full      map[trie.MachineID]string    // why machines lack partitions that do not fit into their memory
}

const (
	// routeTimeout bounds the retries of a request.
	routeTimeout = 10 * time.Second
	// downTime is the time for which a machine is not asked after it did not answer.
	downTime = time.Second
	// directoryTimeout bounds the answer of a machine to what it holds, directoryPause is the time
	// between two requests for it.
	directoryTimeout = 500 * time.Millisecond
	directoryPause   = 20 * time.Millisecond
	// probeInterval is the time after which a machine that has not answered is probed.
	probeInterval = 500 * time.Millisecond
	// copyTimeout bounds the answer with a piece of a partition. A machine with a stuck keeper answers
	// probes, but never has the position of the query.
	copyTimeout = 30 * time.Second
	firstRetry  = 5 * time.Millisecond
	lastRetry   = 100 * time.Millisecond
)

// placementOf returns the placement under a view.
func (g *Graph) placementOf(v *view.View) *placement {
	d := &g.directory
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.placement == nil || d.placement.view != v {
		d.placement = newPlacement(v, g.o.Copies)
	}
	return d.placement
}

// wanted returns the partitions that this machine must hold.
func (g *Graph) wanted() partitionSet {
	if g.node.Lone() != nil {
		return allPartitions
	}
	v := g.node.View()
	if v == nil {
		return 0
	}
	return g.placementOf(v).of(g.node.MachineID())
}

// errUnreachable is wrapped by the error of a message to which there was no answer.
var errUnreachable = errors.New("another machine does not answer")

// unreachable reports whether a call failed because there was no answer.
func unreachable(err error) bool {
	var refusal *peer.Refusal
	var failed *peer.RemoteError
	return err != nil && !errors.As(err, &refusal) && !errors.As(err, &failed)
}

// send asks another machine. If the answer takes long, and the machine does not answer small queries
// either, send gives up, because another machine may answer.
func (g *Graph) send(ctx context.Context, to trie.MachineID, q *query) (*answer, error) {
	// 1. Watch the machine while it works on the query.
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if q.kind == askExport {
		defer time.AfterFunc(copyTimeout, func() { cancel(errUnreachable) }).Stop()
	}
	if q.kind != askHeld {
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			g.watch(asking, to, cancel)
		}()
		defer func() {
			cancel(nil)
			<-watched
		}()
	}
	// 2. Ask. A machine that does not answer is not asked for some time.
	body, err := g.node.Call(asking, to, methodAsk, peer.Encode(64+10*(len(q.pages)+len(q.set)), q.fields))
	if err != nil {
		if unreachable(err) {
			if ctx.Err() != nil {
				return nil, err
			}
			g.directory.mark(to)
			err = fmt.Errorf("%w: %w", errUnreachable, err)
		}
		return nil, err
	}
	a := &answer{}
	return a, peer.Decode(body, a.fields)
}

// watch cancels a call of a machine if the machine is silent. It ends with the call.
func (g *Graph) watch(call context.Context, to trie.MachineID, cancel context.CancelCauseFunc) {
	timer := time.NewTimer(probeInterval)
	defer timer.Stop()
	for {
		select {
		case <-call.Done():
			return
		case <-timer.C:
		}
		probe, done := context.WithTimeout(call, directoryTimeout)
		_, err := g.node.Call(probe, to, methodAsk, peer.Encode(64, (&query{kind: askHeld}).fields))
		done()
		if call.Err() == nil && unreachable(err) {
			cancel(errUnreachable)
			return
		}
		timer.Reset(probeInterval)
	}
}

// mark records that a machine did not answer.
func (d *directory) mark(m trie.MachineID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down == nil {
		d.down = map[trie.MachineID]time.Time{}
	}
	d.down[m] = time.Now().Add(downTime)
}

// answererOf returns another machine that answers for a partition: a holder, or a machine that held
// it before; 0 if none is known. Machines that failed are the last choice.
func (d *directory) answererOf(p *placement, partition int, self trie.MachineID, failed map[trie.MachineID]bool) trie.MachineID {
	d.mu.Lock()
	defer d.mu.Unlock()
	var second trie.MachineID
	for _, m := range p.ranking[partition] {
		held, asked := d.held[m]
		if m == self || asked && !held.has(partition) {
			continue
		}
		if until, down := d.down[m]; !failed[m] && (!down || time.Now().After(until)) {
			return m
		}
		if second == 0 && asked {
			second = m // it may be well again
		}
	}
	return second
}

// refresh asks all members what they hold.
func (g *Graph) refresh(ctx context.Context, v *view.View) {
	d := &g.directory
	d.mu.Lock()
	fresh := time.Since(d.fresh) < directoryPause
	d.mu.Unlock()
	if fresh {
		return
	}
	// 1. Ask all at the same time.
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	held, full := map[trie.MachineID]partitionSet{}, map[trie.MachineID]string{}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, m := range v.Members {
		if m.ID == g.node.MachineID() {
			continue
		}
		asking.Go(func() {
			a, err := g.send(ctx, m.ID, &query{kind: askHeld})
			mu.Lock()
			defer mu.Unlock()
			if held[m.ID] = 0; err == nil {
				held[m.ID] = partitionSet(a.number)
				if len(a.texts) > 0 {
					full[m.ID] = a.texts[0]
				}
			}
		})
	}
	asking.Wait()
	// 2. Keep the answers.
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held, d.full, d.fresh = held, full, time.Now()
}

// waitRetry waits before another try of a request, and returns an error if there were too many.
func (g *Graph) waitRetry(ctx context.Context, tries int, err error) error {
	// 1. Give up, with the reason.
	pause := min(firstRetry<<min(tries-1, 10), lastRetry)
	if time.Duration(tries)*pause > routeTimeout || g.ctx.Err() != nil {
		if err == nil {
			err = errors.New("no machine has all of the pages")
		}
		if full := g.whyFull(); full != "" {
			err = fmt.Errorf("%w (%s)", err, full)
		}
		return fmt.Errorf("%w: the link graph: %w", store.ErrUnavailable, err)
	}
	// 2. Another view may help at once.
	v := g.node.View()
	wait, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	stop := context.AfterFunc(g.ctx, cancel)
	defer stop()
	if v == nil {
		<-wait.Done()
	} else if g.node.Newer(wait, v) != nil && wait.Err() == nil {
		<-wait.Done() // this machine is isolated
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if v := g.node.View(); v != nil {
		g.refresh(ctx, v)
	}
	return nil
}

// piece is the answers of one machine: the lists of some items.
type piece[T any] struct {
	items []int
	lists rank.Lists[T]
}

// request is a request about items that lie in partitions, answered with a list for each.
type request[T any] struct {
	n     int
	of    func(i int) int // the partition of an item
	local func(s *state, items []int) (rank.Lists[T], error)
	query func(items []int) *query
	parse func(a *answer) ([]T, error) // the items of an answer
	size  func(i int) int              // the bytes of an item in a query
	cut   bool                         // an answer may have a part of a list
	// bounded is set if the lists of a prefix of the items will do, with at most most links together.
	// Then each machine answers for a prefix of its items, with its share of the links.
	bounded bool
	most    int
	// primaries is set if the first holder of a partition is to answer, not the nearest one.
	primaries bool
}

// smallShare is the least share of a machine, because so few links cost no more than their message.
const smallShare = 1 << 10

// share returns how many links a machine may answer with for some of the items. It is an eighth more
// than their part of all, because lists differ. The machine of the first item may answer with all, so
// that a prefix is empty only if the first list is too long.
func (r *request[T]) share(items []int) int {
	if !r.bounded {
		return math.MaxInt
	}
	part := r.most
	if items[0] != 0 {
		part = min(part, max(smallShare, int(float64(r.most)*float64(len(items))/float64(r.n)*9/8)))
	}
	return max(part, 1)
}

// gather answers a request from the machines that hold the partitions. If a prefix will do,
// it ends before the first item that a machine has left out.
func gather[T any](ctx context.Context, g *Graph, r request[T]) (rank.Lists[T], error) {
	at, err := g.ends.position(ctx, g)
	if err != nil {
		return rank.Lists[T]{}, err
	}
	// 1. Group the items by machine. What fails is tried again, perhaps elsewhere.
	left := make([]int, r.n)
	for i := range left {
		left[i] = i
	}
	var pieces []piece[T]
	end := r.n                          // of the prefix
	broken := map[trie.MachineID]bool{} // machines that have failed
	for tries := 0; len(left) > 0; tries++ {
		if tries > 0 {
			if err := g.waitRetry(ctx, tries, err); err != nil {
				return rank.Lists[T]{}, err
			}
		}
		slices.Sort(left) // a prefix of the items of a machine must have the first ones
		groups, rest := g.group(left, r.of, r.primaries && tries == 0, broken)
		left = rest
		// 2. Ask all machines at the same time.
		var mu sync.Mutex
		var asking sync.WaitGroup
		err = nil
		var fatal error
		fatalAt := r.n // the first item without a list because of it
		for m, items := range groups {
			asking.Go(func() {
				lists, done, failed := answerOf(ctx, g, at, m, items, &r)
				mu.Lock()
				defer mu.Unlock()
				if done > 0 {
					pieces = append(pieces, piece[T]{items[:done], lists})
				}
				switch {
				case failed == nil:
					if done < len(items) {
						end = min(end, items[done])
					}
				case mayPass(failed), isFailure(failed) && !broken[m]:
					left, err = append(left, items[done:]...), failed
					broken[m] = true
				case items[done] < fatalAt:
					fatal, fatalAt = failed, items[done]
				}
			})
		}
		asking.Wait()
		switch {
		case ctx.Err() != nil:
			return rank.Lists[T]{}, cmp.Or(fatal, context.Cause(ctx))
		case fatalAt < end:
			return rank.Lists[T]{}, fatal
		}
		left = slices.DeleteFunc(left, func(i int) bool { return i >= end })
	}
	if end < r.n && !r.bounded {
		return rank.Lists[T]{}, fmt.Errorf("%w: no list of item %d of %d", peer.ErrMessage, end, r.n)
	}
	most := math.MaxInt
	if r.bounded {
		most = r.most
	}
	return merge(end, most, pieces), nil
}

// isFailure reports whether an error is that of another machine that has failed to answer a correct
// query. A further holder may answer it.
func isFailure(err error) bool {
	var failed *peer.RemoteError
	return errors.As(err, &failed)
}

// group divides items by the machine that answers for their partitions: this one if it can, or
// the first holder that is up. Machines that failed are the last choice. rest are items without one.
func (g *Graph) group(items []int, of func(i int) int, primaries bool, failed map[trie.MachineID]bool) (groups map[trie.MachineID][]int, rest []int) {
	// 1. Find the machine of each partition, once.
	var answerers [numPartitions]trie.MachineID
	var p *placement
	self := g.node.MachineID()
	held := partitionSet(0)
	if s := g.state.Load(); s != nil {
		held = s.held
	}
	if v := g.node.View(); v != nil {
		p = g.placementOf(v)
	}
	for i := range answerers {
		switch {
		case p == nil, g.node.NoMajority(), held.has(i) && !failed[self] && (!primaries || p.primary(i) == self):
			answerers[i] = self
		default:
			answerers[i] = g.directory.answererOf(p, i, self, failed)
		}
		if answerers[i] == 0 && held.has(i) {
			answerers[i] = self
		}
	}
	// 2. Group.
	groups = map[trie.MachineID][]int{}
	for _, i := range items {
		if m := answerers[of(i)]; m == 0 {
			rest = append(rest, i)
		} else {
			groups[m] = append(groups[m], i)
		}
	}
	return groups, rest
}

// answerOf returns the answer of one machine, the lists of the first n items. If there is an error,
// another machine may have the rest.
func answerOf[T any](ctx context.Context, g *Graph, at feed.Position, m trie.MachineID, items []int, r *request[T]) (lists rank.Lists[T], n int, err error) {
	// 1. Another machine refuses if it lacks a partition.
	if m != g.node.MachineID() {
		return askPieces(ctx, g, at, m, items, r)
	}
	// 2. This machine may have dropped a partition meanwhile.
	s, err := g.await(ctx, at)
	if err != nil {
		return lists, 0, err
	}
	for _, i := range items {
		if !s.held.has(r.of(i)) {
			return lists, 0, g.errNotHeld()
		}
	}
	if lists, err = r.local(s, items); err != nil {
		return rank.Lists[T]{}, 0, err
	}
	return lists, lists.Len(), nil
}

// errNotHeld is the refusal of a machine that does not hold a partition.
func (g *Graph) errNotHeld() error {
	return peer.Refuse(peer.CodeNotOwner, 0, "machine %s does not hold the cells of all of these pages", g.node.MachineID())
}

// merge returns the lists of the first n items in their order, or of a prefix of them with at most most
// links. Items of a piece may be in any order.
func merge[T any](n, most int, pieces []piece[T]) (all rank.Lists[T]) {
	if len(pieces) == 1 && len(pieces[0].items) == n && len(pieces[0].lists.Items) <= most && slices.IsSorted(pieces[0].items) {
		return pieces[0].lists // the lists of all items, without a copy
	}
	// 1. Find the list of each item.
	type place struct{ piece, list int32 }
	places := make([]place, n)
	for p := range pieces {
		for l, i := range pieces[p].items {
			if i < n {
				places[i] = place{int32(p), int32(l)}
			}
		}
	}
	// 2. Count their links, up to the bound, and copy them.
	list := func(at place) []T { return pieces[at.piece].lists.At(int(at.list)) }
	total := 0
	for i, at := range places {
		if total += len(list(at)); total > most {
			total, places = total-len(list(at)), places[:i]
			break
		}
	}
	all.Items, all.Ends = make([]T, 0, total), make([]int, 0, len(places))
	for _, at := range places {
		all.Items = append(all.Items, list(at)...)
		all.End()
	}
	return all
}

// pick returns some of a list.
func pick[T any](list []T, items []int) []T {
	some := make([]T, len(items))
	for k, i := range items {
		some[k] = list[i]
	}
	return some
}

// ofPages returns the partitions of pages.
func ofPages(pages []uid.UID) func(i int) int {
	return func(i int) int { return partitionOf(pages[i]) }
}

// local returns the state if this machine holds the partitions of all pages, with all changes that
// were acknowledged before the call and with some stores; nil if others must be asked.
func (g *Graph) local(ctx context.Context, need cell.Stores, n int, of func(i int) int) (*state, error) {
	// 1. Check what is held before messages are sent. If this machine has failed, others answer.
	if g.node.View() != nil && g.failed() != nil {
		return nil, nil
	}
	s := g.state.Load()
	covers := func() bool {
		if s == nil {
			return g.node.View() == nil // the error is that of a lone node
		}
		if s.held == allPartitions {
			return true
		}
		for i := range n {
			if !s.held.has(of(i)) {
				return g.node.View() == nil
			}
		}
		return true
	}
	if !covers() {
		return nil, nil
	}
	// 2. Wait for all changes. Partitions may have been dropped meanwhile.
	s, err := g.current(ctx)
	if err != nil {
		return nil, err
	}
	if !covers() {
		return nil, nil
	}
	for i := range n {
		if s.held == allPartitions {
			break
		}
		if !s.held.has(of(i)) {
			return nil, g.loading()
		}
	}
	// 3. Load what is not in memory. If that fails, others may have it.
	s, err = s.with(ctx, need, n, of)
	if err != nil && g.node.View() != nil && mayPass(err) {
		return nil, nil
	}
	return s, err
}
