// Workloads of lists: list-append, write skew and long fork.

package workload

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/testing/history"
)

// lists hands out keys and elements. After some elements another group of keys is used, so that lists stay
// short.
type lists struct {
	keys     int // of a group
	elements int // appended to a group, about
	groups   int
	last     atomic.Int64 // element
}

// setup returns transactions that append a first element to each list. Every workload appends less than two
// elements in a transaction on average; if it is more, the first group gets them.
func (l *lists) setup(txns int) [][]history.Op {
	l.groups = 2*txns/l.elements + 1
	return l.batches(history.Append)
}

// final returns transactions that read all lists.
func (l *lists) final() [][]history.Op { return l.batches(history.Read) }

// keysOfBatch bounds the keys of a transaction for all lists.
const keysOfBatch = 20

// batches returns transactions of one operation for each list.
func (l *lists) batches(kind history.Kind) (all [][]history.Op) {
	var ops []history.Op
	for key := range l.keys * l.groups {
		ops = append(ops, history.Op{Kind: kind, Key: key})
	}
	for batch := range slices.Chunk(ops, keysOfBatch) {
		all = append(all, batch)
	}
	return all
}

// group returns the keys in use.
func (l *lists) group() []int {
	first := int(l.last.Load()) / l.elements % l.groups * l.keys
	keys := make([]int, l.keys)
	for i := range keys {
		keys[i] = first + i
	}
	return keys
}

// appendTo returns the append of a new element.
func (l *lists) appendTo(key int) history.Op {
	return history.Op{Kind: history.Append, Key: key, Value: int(l.last.Add(1))}
}

// read returns reads of keys, in random order.
func (l *lists) read(r *rand.Rand, keys []int) (ops []history.Op) {
	for _, i := range r.Perm(len(keys)) {
		ops = append(ops, history.Op{Kind: history.Read, Key: keys[i]})
	}
	return ops
}

// ListAppend returns transactions of one to four operations, each a read of a list or an append to it.
func ListAppend() Workload {
	l := &lists{keys: 5, elements: 80}
	return Workload{Name: "list-append", setup: l.setup, final: l.final, next: func(r *rand.Rand) (ops []history.Op) {
		group := l.group()
		for range 1 + r.IntN(4) {
			if key := group[r.IntN(len(group))]; r.IntN(2) == 0 {
				ops = append(ops, history.Op{Kind: history.Read, Key: key})
			} else {
				ops = append(ops, l.appendTo(key))
			}
		}
		return ops
	}}
}

// WriteSkew returns transactions that read two lists and append to one of them.
func WriteSkew() Workload {
	l := &lists{keys: 2, elements: 10}
	return Workload{Name: "write-skew", setup: l.setup, final: l.final, next: func(r *rand.Rand) []history.Op {
		group := l.group()
		return append(l.read(r, group), l.appendTo(group[r.IntN(len(group))]))
	}}
}

// LongFork returns appends to single lists, and reads of several.
func LongFork() Workload {
	l := &lists{keys: 4, elements: 20}
	return Workload{Name: "long-fork", setup: l.setup, final: l.final, next: func(r *rand.Rand) []history.Op {
		group := l.group()
		if r.IntN(2) == 0 {
			return l.read(r, group)
		}
		return []history.Op{l.appendTo(group[r.IntN(len(group))])}
	}}
}
