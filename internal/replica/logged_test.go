// Tests of reading the kept batches, and of trimming them.

package replica

import (
	"bytes"
	"cmp"
	"errors"
	"github.com/trefoildb/trefoil/internal/replica/batchlog"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/trie"
)

// logModel is what the log of one machine must have.
type logModel struct {
	now     time.Time
	epoch   uint64
	next    map[trie.MachineID]uint64 // the next batch, by sequencer
	stamped map[trie.MachineID]uint64 // the last sequence in the epoch
	ops     []modelOperation
}

type modelOperation struct {
	Operation
	sequencer trie.MachineID // that stamped it
	sent      time.Time
	late      bool
}

// draw returns a batch of a sequencer: operations stamped now, or earlier ones that are sent again.
func (m *logModel) draw(rng *rand.Rand, sequencer trie.MachineID) (ops []Operation) {
	again := rng.IntN(4) == 0
	for range 1 + rng.IntN(4) {
		if !again {
			m.stamped[sequencer]++
			ops = append(ops, operation(store.OperationAdd+store.OperationKind(rng.IntN(2)), small(rng), m.epoch, m.stamped[sequencer]))
			m.ops = append(m.ops, modelOperation{ops[len(ops)-1], sequencer, m.now, false})
			continue
		}
		var old []modelOperation
		for _, o := range m.ops {
			if o.Stamp.Epoch < m.epoch && m.now.Sub(o.sent) < time.Minute {
				old = append(old, o)
			}
		}
		if len(old) == 0 {
			continue
		}
		o := old[rng.IntN(len(old))]
		o.sent, o.late = m.now, true
		m.ops = append(m.ops, o)
		if o.Stamper = 0; o.sequencer != sequencer {
			o.Stamper = o.sequencer
		}
		ops = append(ops, o.Operation)
	}
	return ops
}

// want returns the operations that a query must return if nothing is trimmed, and the time at which
// the oldest of them was sent.
func (m *logModel) want(q LogQuery) (ops []Operation, oldest time.Time) {
	oldest = m.now
	for _, o := range m.ops {
		if o.sequencer == q.Sequencer && o.Stamp.Epoch == q.Epoch && o.Stamp.Sequence > q.After && (o.late && q.Late || !o.late && q.Batches) {
			ops = append(ops, o.Operation)
		}
		// A trim hides epochs as a whole if late operations are gone.
		if o.Stamp.Epoch >= q.Epoch && o.sent.Before(oldest) {
			oldest = o.sent
		}
	}
	slices.SortFunc(ops, func(a, b Operation) int {
		return cmp.Or(cmp.Compare(a.Stamp.Sequence, b.Stamp.Sequence), bytes.Compare(a.Key, b.Key))
	})
	return slices.CompactFunc(ops, func(a, b Operation) bool { return a.Stamp == b.Stamp }), oldest
}

// TestLogged compares answers with a model: batches of three sequencers in many epochs, some sent
// again by others, with restarts and trims. An answer must be complete, or be ErrTrimmed. It must
// not be ErrTrimmed if all asked-for operations are younger than the retention.
func TestLogged(t *testing.T) {
	const age = 30 * time.Minute
	rng := random(t)
	for range race.Fewer(20) {
		m := &logModel{now: time.UnixMilli(1e12), epoch: 2, next: map[trie.MachineID]uint64{}, stamped: map[trie.MachineID]uint64{}}
		fs := vfs.NewMem()
		options := Options{Now: func() time.Time { return m.now }}
		so := store.Options{FS: fs, FeedRetention: changefeed.Retention{Age: age}}
		s := openJournal(t, so, options)
		j := idle(sample.Layout(t, s, 0))
		trimmed, complete := 0, 0
		for range 150 {
			sequencer := trie.MachineID(1 + rng.IntN(3))
			switch n := rng.IntN(20); {
			case n < 10:
				if ops := m.draw(rng, sequencer); len(ops) > 0 {
					m.next[sequencer]++
					deliver(t, s, j, Delivery{Origin: Origin{sequencer, 1, m.next[sequencer]}, Committed: m.next[sequencer] - 1, Operations: ops, Epoch: m.epoch})
				}
			case n < 12:
				m.epoch += 1 + rng.Uint64N(2)
				clear(m.stamped)
			case n < 13:
				m.now = m.now.Add(time.Duration(rng.IntN(10)) * time.Minute)
			case n < 14:
				require.NoError(t, s.Close())
				s = openJournal(t, so, options)
			default:
				q := LogQuery{Sequencer: sequencer, Epoch: max(2, m.epoch-rng.Uint64N(4)), After: rng.Uint64N(4), Batches: rng.IntN(3) > 0, Late: rng.IntN(3) > 0, MaxBytes: rng.IntN(1000)}
				if m.query(t, s, q, age) {
					complete++
				} else {
					trimmed++
				}
			}
		}
		t.Logf("%d answers, %d trimmed", complete, trimmed)
	}
}

// query fails the test unless the answer is right. It reports whether the answer was complete.
func (m *logModel) query(t *testing.T, s *Store, q LogQuery, age time.Duration) bool {
	t.Helper()
	want, oldest := m.want(q)
	var got []Operation
	for page := q; ; {
		part, err := s.Logged(ctx, page)
		if errors.Is(err, ErrTrimmed) {
			// Blocks go whole, and a block is up to a minute long; a restart makes its end younger.
			if m.now.Sub(oldest) < age-time.Minute {
				t.Fatalf("%+v is trimmed at %s; its oldest is of %s", q, m.now, oldest)
			}
			return false
		}
		require.NoError(t, err)
		for _, o := range part.Operations {
			got = append(got, o.Operation)
		}
		if part.Until == math.MaxUint64 {
			break
		}
		if part.Until <= page.After {
			t.Fatalf("%+v: no progress beyond %d", page, part.Until)
		}
		page.After = part.Until
	}
	same := func(a, b Operation) bool { return a.Stamp == b.Stamp && a.Kind == b.Kind && bytes.Equal(a.Key, b.Key) }
	if !slices.EqualFunc(got, want, same) {
		t.Fatalf("%+v: %d operations, want %d\n%v\n%v", q, len(got), len(want), got, want)
	}
	// The sequencers and the next epoch must not hide anything.
	sequencers, next, err := s.LoggedSequencers(q.Epoch, nil)
	require.NoError(t, err)
	if len(want) > 0 && !slices.Contains(sequencers, q.Sequencer) {
		t.Fatalf("%+v: sequencers %v", q, sequencers)
	}
	for _, o := range m.ops {
		if o.Stamp.Epoch > q.Epoch && o.Stamp.Epoch < next && m.now.Sub(o.sent) < age-time.Minute {
			t.Fatalf("behind epoch %d comes %d, and there is %v", q.Epoch, next, o.Stamp)
		}
	}
	return true
}

// TestTrim checks that the log is bounded in bytes, that batches in flight stay, and that what is
// trimmed is reported after a restart, too.
func TestTrim(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	fs := vfs.NewMem()
	options := store.Options{FS: fs, FeedRetention: changefeed.Retention{Bytes: 3 << 20}}
	s := openMem(t, options)
	j := idle(sample.Layout(t, s, 0))
	deliver(t, s, j, Delivery{Origin: origin(8, 1, 1), Epoch: 2, Operations: operations(store.OperationAdd, 2, 1, student(0))})
	const batches = 300
	for n := range uint64(batches) {
		d := Delivery{Origin: origin(7, 1, n+1), Committed: n, Epoch: 2, Operations: operations(store.OperationAdd, 2, 500*n+1, students(int(500*n), int(500*n+500))...)}
		deliver(t, s, j, d)
		if b := s.Log().Bytes(); b > 5<<20 {
			t.Fatalf("%d bytes are kept", b)
		}
	}
	check := func() {
		t.Helper()
		if kept := keptBatches(t, s); !slices.Contains(kept, origin(8, 1, 1)) || len(kept) > batches/2 {
			t.Errorf("%d batches are kept: %v", len(kept), kept[0])
		}
		if _, err := s.Logged(ctx, LogQuery{Sequencer: 7, Epoch: 2, Batches: true, MaxBytes: 1 << 20}); !errors.Is(err, ErrTrimmed) {
			t.Errorf("from the begin: %v", err)
		}
		part, err := s.Logged(ctx, LogQuery{Sequencer: 7, Epoch: 2, After: 500*batches - 700, Batches: true, MaxBytes: 1 << 20})
		if err != nil || len(part.Operations) != 700 || part.Until != math.MaxUint64 {
			t.Errorf("the end: %d operations, %v", len(part.Operations), err)
		}
		if part, err := s.Logged(ctx, LogQuery{Sequencer: 8, Epoch: 2, Batches: true}); err != nil || len(part.Operations) != 1 {
			t.Errorf("in flight: %v, %v", part, err)
		}
	}
	check()
	require.NoError(t, s.Close())
	s = openMem(t, options)
	check()
	if before := s.Log().Bytes(); before > 4<<20 {
		t.Errorf("%d bytes after a restart", before)
	}
	// A sequencer without trimmed batches is not affected, nor is a later epoch.
	if _, err := s.Logged(ctx, LogQuery{Sequencer: 7, Epoch: 3, Batches: true, Late: true}); err != nil {
		t.Error(err)
	}
}

// TestLoggedAfterFill checks that a batch is in the log if a backfill has brought its operations
// before the delivery, also after a restart.
func TestLoggedAfterFill(t *testing.T) {
	fs := vfs.NewMem()
	options := store.Options{FS: fs}
	s := openMem(t, options)
	j := idle(sample.Layout(t, s, 0))
	d := Delivery{Origin: origin(7, 1, 1), Epoch: 2, Operations: operations(store.OperationAdd, 2, 1, student(0))}
	row := fillRow(store.TableStorage, d.Operations[0])
	row.InFlight, row.Operation = d.Origin, &d.Operations[0]
	fill(t, s, row)
	if late := s.log.LateStarts(2, batchlog.Start{}, 10); len(late) > 0 {
		t.Errorf("an operation of a backfill counts as late: %v", late)
	}
	deliver(t, s, j, d)
	for range 2 {
		part, err := s.Logged(ctx, LogQuery{Sequencer: 7, Epoch: 2, Batches: true, MaxBytes: 1 << 20})
		if err != nil || len(part.Operations) != 1 {
			t.Errorf("%d operations, %v", len(part.Operations), err)
		}
		require.NoError(t, s.Close())
		s = openMem(t, options)
	}
}
