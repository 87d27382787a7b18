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
)

var ctx = context.Background()

var random = seed.Rand

// partition is lists in memory. If piece is not 0, each page's links come in pieces of at most
// piece.
type partition struct {
	localEnds, ghostEnds []int
	locals, ghosts       []uint32
	where                []rank.Address // of ghosts
	piece                int
	err                  error // of Scan, at its end
	scans                int
}

// none is the address of a ghost that is no page.
var none = rank.Address{Partition: 1 << 31}

func (p *partition) Pages() int  { return len(p.localEnds) }
func (p *partition) Ghosts() int { return len(p.where) }

func (p *partition) Locate(ghost uint32) (rank.Address, bool) {
	return p.where[ghost], p.where[ghost] != none
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
// is no page, it becomes a ghost of no partition.
func split(lists [][]uint32, pages []int) map[int]rank.Partition {
	return splitBy(func(page int) []uint32 { return lists[page] }, pages)
}

func splitBy(list func(page int) []uint32, pages []int) map[int]rank.Partition {
	parts := map[int]rank.Partition{}
	first := 0
	for i, count := range pages {
		p := &partition{}
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
					p.where = append(p.where, locate(to, pages))
				}
				p.ghosts = append(p.ghosts, g)
			}
			p.localEnds = append(p.localEnds, len(p.locals))
			p.ghostEnds = append(p.ghostEnds, len(p.ghosts))
		}
		parts[i] = p
		first += count
	}
	return parts
}

func locate(page uint32, pages []int) rank.Address {
	first := uint32(0)
	for i, count := range pages {
		if page < first+uint32(count) {
			return rank.Address{Partition: uint32(i), Page: page - first}
		}
		first += uint32(count)
	}
	return none
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

// wire is an exchange in memory: all machines share it.
type wire struct {
	partitions int
	mu         sync.Mutex
	changed    *sync.Cond
	routes     map[string][]uint32
	values     map[string][]float64
	steps      map[int]map[int]float64
	lost       bool
	loseAfter  int // rounds; 0 is never
}

func newWire(partitions int) *wire {
	w := &wire{partitions: partitions, routes: map[string][]uint32{}, values: map[string][]float64{}, steps: map[int]map[int]float64{}}
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

// do calls done with the lock held until it reports true.
func (w *wire) do(done func() bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.changed.Broadcast()
	for {
		if w.lost {
			return errLost
		}
		if done() {
			return nil
		}
		w.changed.Wait()
	}
}

func (w *wire) SendRoute(_ context.Context, from, to int, pages []uint32) error {
	return w.do(func() bool {
		w.routes[fmt.Sprint(from, to)] = slices.Clone(pages)
		return true
	})
}

func (w *wire) ReceiveRoute(_ context.Context, from, to int) (pages []uint32, err error) {
	err = w.do(func() bool {
		got, ok := w.routes[fmt.Sprint(from, to)]
		pages = got
		return ok
	})
	return pages, err
}

func (w *wire) SendValues(_ context.Context, round, from, to int, values []float64) error {
	if w.loseAfter > 0 && round > w.loseAfter {
		w.lose()
	}
	return w.do(func() bool {
		w.values[fmt.Sprint(round, from, to)] = slices.Clone(values)
		return true
	})
}

func (w *wire) ReceiveValues(_ context.Context, round, from, to int) (values []float64, err error) {
	key := fmt.Sprint(round, from, to)
	err = w.do(func() bool {
		got, ok := w.values[key]
		values = got
		delete(w.values, key)
		return ok
	})
	return values, err
}

func (w *wire) Gather(_ context.Context, step int, own map[int]float64) ([]float64, error) {
	all := make([]float64, w.partitions)
	given := false
	err := w.do(func() bool {
		if w.steps[step] == nil {
			w.steps[step] = map[int]float64{}
		}
		for i, value := range own {
			w.steps[step][i] = value
		}
		if !given {
			given = true
			w.changed.Broadcast()
		}
		for i, value := range w.steps[step] {
			all[i] = value
		}
		return len(w.steps[step]) == w.partitions
	})
	return all, err
}
