// Partitions and an exchange in memory.

package rank_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

var ctx = context.Background()

var random = seed.Rand

// partition is lists in memory. If piece is not 0, each page's links come in pieces of at most
// piece.
type partition struct {
	localEnds, ghostEnds []int
	locals, ghosts       []uint32
	first, all           uint32   // page of the graph, and number of pages of it
	where                []uint32 // of ghosts: pages of the graph
	weights              [][]float64
	piece                int
	err                  error // of Scan, at its end
	scans                int
}

// uidOf returns the UID of a page of the graph: an even one. The odd ones between are no pages.
func uidOf(page uint32) uid.UID { return 2*uid.UID(page) + 2 }

func (p *partition) Range() uid.Range {
	return uid.Range{First: uidOf(p.first) - 1, Last: uidOf(p.first) + 2*uid.UID(len(p.localEnds)) - 2}
}
func (p *partition) Pages() int  { return len(p.localEnds) }
func (p *partition) Ghosts() int { return len(p.where) }

func (p *partition) Ghost(ghost uint32) uid.UID {
	if to := p.where[ghost]; to < p.all {
		return uidOf(to)
	}
	return uidOf(p.where[ghost]-p.all) - 1
}

func (p *partition) Find(u uid.UID) (uint32, bool) {
	return uint32(u-2)/2 - p.first, p.Range().Contains(u) && u%2 == 0
}

func (p *partition) AppendWeights(dst []float64, page uint32) ([]float64, error) {
	if p.weights == nil {
		return dst, p.err
	}
	return append(dst, p.weights[page]...), p.err
}

func (p *partition) Scan(yield func(uint32, []uint32, []uint32) bool) error {
	p.scans++
	local, ghost := 0, 0
	for page := range p.localEnds {
		locals, ghosts := p.locals[local:p.localEnds[page]], p.ghosts[ghost:p.ghostEnds[page]]
		local, ghost = p.localEnds[page], p.ghostEnds[page]
		for p.piece > 0 && len(locals) > p.piece {
			if !yield(uint32(page), locals[:p.piece], nil) {
				return p.err
			}
			locals = locals[p.piece:]
		}
		if !yield(uint32(page), locals, ghosts) {
			return p.err
		}
	}
	return p.err
}

// split cuts a graph, lists of targets by page, into partitions of the given sizes. If a target
// is no page, it becomes a ghost that no partition has, with a UID between those of pages.
func split(lists [][]uint32, pages []int) []rank.Partition {
	return splitBy(func(page int) []uint32 { return lists[page] }, pages)
}

func splitBy(list func(page int) []uint32, pages []int) (parts []rank.Partition) {
	first, all := 0, uint32(0)
	for _, count := range pages {
		all += uint32(count)
	}
	for _, count := range pages {
		p := &partition{first: uint32(first), all: all}
		ghosts := map[uint32]uint32{}
		for page := first; page < first+count; page++ {
			for _, to := range list(page) {
				if int(to) >= first && int(to) < first+count {
					p.locals = append(p.locals, to-uint32(first))
					continue
				}
				g, ok := ghosts[to]
				if !ok {
					g = uint32(len(p.where))
					ghosts[to] = g
					p.where = append(p.where, to)
				}
				p.ghosts = append(p.ghosts, g)
			}
			p.localEnds = append(p.localEnds, len(p.locals))
			p.ghostEnds = append(p.ghostEnds, len(p.ghosts))
		}
		parts = append(parts, p)
		first += count
	}
	return parts
}

// aGraph returns lists of n pages. Some pages have no links. Some links lead to missing pages or
// to the page itself.
func aGraph(r *rand.Rand, n int) [][]uint32 {
	lists := make([][]uint32, n)
	for page := range lists {
		if r.IntN(4) == 0 {
			continue
		}
		for range r.IntN(8) {
			lists[page] = append(lists[page], uint32(r.IntN(n+1+n/10)))
		}
		if r.IntN(5) == 0 {
			lists[page] = append(lists[page], uint32(page))
		}
		slices.Sort(lists[page])
		lists[page] = slices.Compact(lists[page])
	}
	return lists
}

// cuts returns the sizes of n partitions of some pages. Some are empty.
func cuts(r *rand.Rand, pages, n int) []int {
	sizes := make([]int, n)
	for range pages {
		sizes[r.IntN(n)]++
	}
	if n > 2 {
		sizes[0] += sizes[1]
		sizes[1] = 0
	}
	return sizes
}

var errLost = errors.New("the machine is gone")

// wire is the messages between machines in memory. loseAfter is the step after which a machine is
// lost; 0 is never.
type wire struct {
	owners    []int // by page of the graph
	machines  int
	mu        sync.Mutex
	changed   *sync.Cond
	messages  map[string][]byte
	bytes     int
	lost      bool
	loseAfter int
}

func newWire(machines int, owners []int) *wire {
	w := &wire{owners: owners, machines: machines, messages: map[string][]byte{}}
	w.changed = sync.NewCond(&w.mu)
	return w
}

// lose makes all further calls fail.
func (w *wire) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = true
	w.changed.Broadcast()
}

// end is the wire as one machine has it.
type end struct {
	*wire
	self int
}

func (e end) Machines() (n, self int) { return e.machines, e.self }

func (e end) Owner(u uid.UID) int {
	return e.owners[(u-1)/2]
}

func (e end) Send(_ context.Context, step, to int, message []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.loseAfter > 0 && step > e.loseAfter {
		e.lost = true
		e.changed.Broadcast()
	}
	if e.lost {
		return errLost
	}
	e.messages[fmt.Sprint(step, e.self, to)] = slices.Clone(message)
	e.bytes += len(message)
	e.changed.Broadcast()
	return nil
}

func (e end) Receive(_ context.Context, step, from int) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := fmt.Sprint(step, from, e.self); ; e.changed.Wait() {
		message, ok := e.messages[key]
		if e.lost {
			return nil, errLost
		}
		if ok {
			delete(e.messages, key)
			return message, nil
		}
	}
}
