// The reference store: lists and counters in memory, with snapshot isolation and bugs to plant.

package workload

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/testing/history"
)

// Bugs are rules that a [Memory] leaves out. Each must be found by a workload.
type Bugs struct {
	// HalfVisible: the second half of a commit becomes visible later than the first.
	HalfVisible bool
	// NoConflicts: a transaction overwrites what was committed since its snapshot.
	NoConflicts bool
	// StaleSnapshots: every third snapshot is some commits old.
	StaleSnapshots bool
	// LostCommits: every tenth commit is acknowledged and forgotten.
	LostCommits bool
	// DirtyAborts: what an aborted transaction wrote stays.
	DirtyAborts bool
	// Forks: a snapshot has all of some keys, and of the others an older state.
	Forks bool
}

// Memory is a store with strong snapshot isolation: a snapshot has all commits that ended before it, and
// of two transactions that write the same key at once, the second one to commit is aborted. It is
// safe for concurrent use.
type Memory struct {
	bugs Bugs
	// serial rejects a commit if what it read has changed since its snapshot: then transactions are serializable.
	serial bool

	mu     sync.Mutex
	random *rand.Rand
	tick   int // of the last commit
	cells  map[cellKey][]cell
}

// cellKey is the key of a list or counter.
type cellKey struct {
	list bool
	key  int
}

// cell is a value that a commit added: an element of a list, or an amount. A counter is the
// sum of its cells, except that NoConflicts replaces those that the transaction did not see.
type cell struct{ value, tick int }

// NewMemory returns an empty store. If serial is set, its level is strict serializable.
func NewMemory(seed uint64, serial bool, bugs Bugs) *Memory {
	return &Memory{bugs: bugs, serial: serial, random: rand.New(rand.NewPCG(seed, 7)), cells: map[cellKey][]cell{}}
}

// MemoryTxn is a transaction that runs.
type MemoryTxn struct {
	store    *Memory
	snapshot int
	parity   int // of the keys whose state is older, if the store forks; else -1
	ops      []history.Op
}

// Begin takes a snapshot for a transaction.
func (m *Memory) Begin(ops []history.Op) *MemoryTxn {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &MemoryTxn{store: m, snapshot: m.tick, parity: -1, ops: ops}
	if m.bugs.StaleSnapshots && m.random.IntN(3) == 0 {
		t.snapshot = max(0, t.snapshot-1-m.random.IntN(8))
	}
	if m.bugs.Forks {
		t.parity = m.random.IntN(2)
	}
	return t
}

// Txn runs a transaction. Others run between its begin, its reads and its commit.
func (m *Memory) Txn(_ context.Context, ops []history.Op) ([]history.Op, error) {
	t := m.Begin(ops)
	runtime.Gosched()
	results := t.Read()
	runtime.Gosched()
	if !t.Commit() {
		return nil, ErrAborted
	}
	return results, nil
}

func keyOf(o history.Op) cellKey {
	return cellKey{o.Kind == history.Read || o.Kind == history.Append, o.Key}
}

func writes(o history.Op) bool { return o.Kind == history.Append || o.Kind == history.Add }

// Read returns the operations with their results.
func (t *MemoryTxn) Read() []history.Op {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	written := map[cellKey][]int{} // what the transaction wrote before
	results := slices.Clone(t.ops)
	for i, o := range t.ops {
		k := keyOf(o)
		values := slices.Concat(t.visible(k), written[k])
		switch o.Kind {
		case history.Read:
			results[i].List = values
		case history.Get:
			results[i].Value = sum(values)
		default:
			written[k] = append(written[k], o.Value)
		}
	}
	return results
}

// visible returns the values of a key at the snapshot.
func (t *MemoryTxn) visible(k cellKey) (values []int) {
	limit := t.snapshot
	if t.parity == k.key%2 {
		limit -= 4
	}
	for _, c := range t.store.cells[k] {
		if c.tick <= limit {
			values = append(values, c.value)
		}
	}
	return values
}

func sum(values []int) (total int) {
	for _, v := range values {
		total += v
	}
	return total
}

// Commit writes what the transaction wrote, and reports whether it is committed. If not, it is aborted.
func (t *MemoryTxn) Commit() bool {
	m := t.store
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.conflicts() {
		if m.bugs.DirtyAborts {
			t.write()
		}
		return false
	}
	if m.bugs.LostCommits && m.random.IntN(10) == 0 {
		return true
	}
	t.write()
	return true
}

// conflicts reports whether a key has changed since the snapshot that must not.
func (t *MemoryTxn) conflicts() bool {
	writing := slices.ContainsFunc(t.ops, writes)
	for _, o := range t.ops {
		if writes(o) && !t.store.bugs.NoConflicts || t.store.serial && writing {
			for _, c := range t.store.cells[keyOf(o)] {
				if c.tick > t.snapshot {
					return true
				}
			}
		}
	}
	return false
}

// write adds the cells of the transaction under the next tick, in order.
func (t *MemoryTxn) write() {
	var all []history.Op
	for _, o := range t.ops {
		if writes(o) {
			all = append(all, o)
		}
	}
	if half := len(all) / 2; t.store.bugs.HalfVisible && half > 0 {
		t.writeCells(all[:half])
		t.store.mu.Unlock()
		runtime.Gosched()
		t.store.mu.Lock()
		all = all[half:]
	}
	t.writeCells(all)
}

// writeCells adds the cells of some operations under one tick.
func (t *MemoryTxn) writeCells(all []history.Op) {
	m := t.store
	if len(all) > 0 {
		m.tick++
	}
	for _, o := range all {
		k := keyOf(o)
		if m.bugs.NoConflicts && !k.list {
			m.cells[k] = slices.DeleteFunc(m.cells[k], func(c cell) bool { return c.tick > t.snapshot && c.tick < m.tick })
		}
		m.cells[k] = append(m.cells[k], cell{o.Value, m.tick})
	}
}
