// Tests of the ticks of commits.

package writes

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/ticks"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// rowsAt returns the number of live rows of SPO at a tick; -1 if m has not kept them.
func (m *machine) rowsAt(tick triple.Stamp) (n int) {
	m.world.t.Helper()
	sn, err := m.store.Snapshot()
	require.NoError(m.world.t, err)
	defer sn.Close()
	r := triple.OrderRange(triple.SPO)
	undo, ok := m.store.Undo(m.store.InFlight(r, nil), tick, store.TableStorage, []triple.Range{r})
	if !ok {
		return -1
	}
	rows, err := sn.Rows(ctx, r)
	require.NoError(m.world.t, err)
	defer rows.Close()
	rows.Replace(undo.Before)
	for rows.Next() {
		n++
	}
	require.NoError(m.world.t, rows.Err())
	return n
}

// Each acknowledged commit is at a tick that a later reader has, and each holder has the rows of each tick. In the next
// view the ticks before are refused.
func TestHoldersHaveTicks(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(3, Options{})
	l := w.layout(ms, [4]*machine{ms[1], ms[1], ms[1], ms[1]})
	adoptAll(w.viewOf(2, recovery.Idle, ms, l, l), ms...)
	var at []triple.Stamp
	for n := range 6 {
		for _, m := range ms {
			now, err := m.writes.Now(ctx)
			if err != nil || n > 0 && !at[n-1].Less(now) {
				t.Fatalf("tick %d: %v, %v after %v", n, now, err, at)
			}
			if at = append(at[:n], now); now.Sequence != uint64(n) {
				t.Errorf("tick %v after %d commits", now, n)
			}
		}
		add(t, ms[n%3], fact(n))
	}
	quiet(t, ms...)
	for _, m := range []*machine{ms[1], ms[2]} { // ms[0] may have no place
		for n, tick := range at {
			if rows := m.rowsAt(tick); rows != n && m.rowsAt(triple.Stamp{}) > 0 {
				t.Errorf("machine %s has %d rows at tick %v, want %d", m.id, rows, tick, n)
			}
		}
	}
	adoptAll(w.viewOf(3, recovery.Idle, ms, l, l), ms...)
	if n := ms[1].rowsAt(at[3]); n != -1 {
		t.Errorf("%d rows at a tick of an earlier epoch", n)
	}
	if n := ms[1].rowsAt(triple.Stamp{Epoch: 3}); n != 6 {
		t.Errorf("%d rows at the first tick of an epoch", n)
	}
}

// If the oracle does not answer, no operation is acknowledged. A reader of a tick waits for the tick of a batch that
// all holders have, because it may be an earlier one. Others need not wait.
func TestOracleDoesNotAnswer(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(3, Options{Attempt: 10 * time.Millisecond})
	l := w.layout(ms, [4]*machine{ms[1], ms[1], ms[1], ms[1]})
	adoptAll(w.viewOf(2, recovery.Idle, ms, l, l), ms...)
	var silent atomic.Bool
	silent.Store(true)
	w.setFate(func(_, _ trie.MachineID, method string) fate {
		if method == ticks.Method && silent.Load() {
			return hangs
		}
		return arrives
	})
	done := ms[2].inBackground(ctx, store.OperationAdd, fact(1))
	batch := []replica.Origin{{Sequencer: ms[1].id, Incarnation: ms[1].incarnation, Batch: 1}}
	await.Condition(t, "all holders have the batch", func() bool { return len(ms[1].writes.relevant([]uint64{1}, needTicks)) == 1 })
	for _, m := range ms {
		open, err := m.writes.Uncommitted(ctx, batch, false)
		if err != nil || !slices.Equal(open, batch) {
			t.Errorf("%v, %v", open, err)
		}
		limited, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		if open, err := m.writes.Uncommitted(limited, batch, true); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with ticks: %v, %v", open, err)
		}
		cancel()
	}
	if slow := ms[1].writes.Slow(0); !slices.Equal(slow, ids(ms[:1])) {
		t.Errorf("slow: %v, want the oracle", slow)
	}
	silent.Store(false)
	require.NoError(t, <-done)
	for _, m := range ms {
		if open, err := m.writes.Uncommitted(ctx, batch, true); err != nil || len(open) != 0 {
			t.Errorf("%v, %v", open, err)
		}
	}
	if slow := ms[1].writes.Slow(0); len(slow) != 0 {
		t.Errorf("slow: %v", slow)
	}
	for n := range uint64(2) {
		if rows := ms[1].rowsAt(triple.Stamp{Epoch: 2, Sequence: n}); rows != int(n) {
			t.Errorf("%d rows at tick %d", rows, n)
		}
	}
}

// The ticks of the last commits are remembered, and it is said if some are not.
func TestCommitsAreBounded(t *testing.T) {
	var c commits
	c.begin(3)
	c.add(1, 1)
	c.begin(4)
	if got := c.ticksSince(0); got.Partial || len(got.Batches) != 0 {
		t.Errorf("of an earlier epoch: %+v", got)
	}
	for n := range uint64(3 * maxCommits) {
		c.add(n+2, n+1)
	}
	last := triple.Stamp{Epoch: 4, Sequence: 3 * maxCommits}
	if n := len(c.recent); n < maxCommits || n > 2*maxCommits || c.count() != 3*maxCommits+1 {
		t.Errorf("%d of %d", n, c.count())
	}
	if got := c.ticksSince(0); !got.Partial || got.Last != last {
		t.Errorf("partial: %t, last %v", got.Partial, got.Last)
	}
	if got := c.ticksSince(c.count() - 2); got.Partial || !slices.Equal(got.Batches, c.recent[len(c.recent)-2:]) {
		t.Errorf("%+v", got)
	}
	of := c.ticksOf([]uint64{1, 2, 3 * maxCommits})
	if want := []replica.BatchTick{{Batch: 3 * maxCommits, Tick: 3*maxCommits - 1}}; !of.Partial || !slices.Equal(of.Batches, want) {
		t.Errorf("%+v", of)
	}
}
