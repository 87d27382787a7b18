// Tests of the in-flight list.

package replica

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/trefoildb/trefoil/internal/replica/batchlog"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// If a reader sees a row in flight, it must find its batch, at any step of a commit.
func TestUnsettledBeforeRows(t *testing.T) {
	s := openMem(t, store.Options{})
	j := idle(sample.Layout(t, s, 0))
	tr := student(1)
	r := exact(t, triple.POS, tr)
	key := operation(store.OperationAdd, tr, 0, 0).Key
	const batches = 300
	settled := make(chan uint64, batches)
	var wait sync.WaitGroup
	wait.Go(func() {
		defer close(settled)
		for n := uint64(1); n <= batches; n++ {
			d := Delivery{Origin: origin(7, 1, n), Committed: n - 1, Operations: operations(store.OperationAdd, 2, n, tr)}
			if err := s.Deliver(ctx, &d, j); err != nil {
				t.Error(err)
				return
			}
			settled <- n
		}
	})
	for range settled {
		before := s.SequencerStates()[0].Committed // later commits need not be in the list, because the snapshot may have their rows
		sn, err := s.Snapshot()
		require.NoError(t, err)
		found := s.InFlight(r, nil)
		value, err := sn.Value(append([]byte{keyspace.Storage}, key...))
		require.NoError(t, err)
		stamp, err := rowStamp(value)
		require.NoError(t, err)
		after := s.SequencerStates()[0].Committed
		if len(found) == 0 && stamp.Sequence > after {
			t.Fatalf("row %d is seen, %d to %d are settled, and nothing is unsettled", stamp.Sequence, before, after)
		}
		require.NoError(t, sn.Close())
	}
	wait.Wait()
	if s.inFlight.count.Load() != 1 {
		t.Errorf("%d batches are left", s.inFlight.count.Load())
	}
}

func TestUnsettled(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, store.Options{FS: fs})
	j := idle(sample.Layout(t, s, 0))
	named := student(8)
	named.Graph = iri("g")
	unsettledIn(t, s, triple.Range{})
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationAdd, 2, 1, student(1), student(2))})
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 2), Operations: operations(store.OperationAdd, 2, 3, student(2), named)})
	deliver(t, s, j, Delivery{Origin: origin(9, 4, 1), Operations: operations(store.OperationDelete, 2, 1, student(2), student(3))})
	see := func() {
		t.Helper()
		for _, o := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
			unsettledIn(t, s, exact(t, o, student(1)), origin(7, 1, 1))
			unsettledIn(t, s, exact(t, o, student(2)), origin(7, 1, 1), origin(7, 1, 2), origin(9, 4, 1))
			unsettledIn(t, s, exact(t, o, student(3)), origin(9, 4, 1))
			unsettledIn(t, s, exact(t, o, student(4)))
			unsettledIn(t, s, triple.OrderRange(o), origin(7, 1, 1), origin(7, 1, 2), origin(9, 4, 1))
		}
		unsettledIn(t, s, triple.OrderRange(triple.GSPO), origin(7, 1, 2))
		unsettledIn(t, s, triple.Range{}, origin(7, 1, 1), origin(7, 1, 2), origin(9, 4, 1))
	}
	see()
	reopen := func() {
		t.Helper()
		require.NoError(t, s.Close())
		s = openMem(t, store.Options{FS: fs})
	}
	reopen()
	see()
	s.RecordCommitted(origin(7, 1, 1), nil, map[trie.MachineID]uint64{7: 1, 9: 1}, CommitTicks{})
	unsettledIn(t, s, exact(t, triple.SPO, student(1)))
	unsettledIn(t, s, exact(t, triple.SPO, student(2)), origin(7, 1, 2), origin(9, 4, 1))
	require.NoError(t, s.Forget(ctx, []InFlightBatch{{Origin: origin(9, 4, 77)}, {Origin: origin(1, 1, 1)}, entryOf(s, origin(9, 4, 1))}))
	unsettledIn(t, s, exact(t, triple.POS, student(3)))
	reopen() // the commit of forgotten batches also wrote the watermark
	unsettledIn(t, s, triple.Range{}, origin(7, 1, 2))
	if b := s.InFlightBatches(); len(b) != 1 || len(b[0].Operations) != 2 {
		t.Errorf("%v", b)
	}
	// The row of the committed batch stays for the change feed; the one of the forgotten batch is gone.
	if left := keptBatches(t, s); !slices.Equal(left, []Origin{origin(7, 1, 1), origin(7, 1, 2)}) {
		t.Errorf("kept: %v", left)
	}
	h := s.SequencerStates()
	if len(h) != 2 || h[0].Last != 2 || h[0].Committed != 1 || !maps.Equal(h[0].Acks, map[trie.MachineID]uint64{7: 1, 9: 1}) || h[1].Last != 1 {
		t.Errorf("%+v", h)
	}
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 3), Committed: 3, Operations: operations(store.OperationAdd, 2, 9, student(5))})
	unsettledIn(t, s, triple.Range{})
}

// keptBatches returns the batches with a row.
func keptBatches(t *testing.T, s *Store) (kept []Origin) {
	t.Helper()
	if err := s.db.EachLocal(batchlog.Prefix, func(key, _ []byte) error {
		id, number, err := batchlog.ParseKey(key)
		kept = append(kept, Origin{id.Machine, id.Incarnation, number})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return kept
}

// entryOf returns the entry of a batch in the list.
func entryOf(s *Store, o Origin) InFlightBatch {
	all := s.InFlightBatches()
	return all[slices.IndexFunc(all, func(b InFlightBatch) bool { return b.Origin == o })]
}

// A backfill brings another operation of a batch during the handover of the known ones. It must
// not be forgotten with them.
func TestForgetWhatGrew(t *testing.T) {
	fs := memdisk.New()
	s := openMem(t, store.Options{FS: fs})
	j := idle(sample.Layout(t, s, 0))
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationAdd, 2, 1, student(1))})
	handed := s.InFlightBatches()
	more := operation(store.OperationAdd, student(2), 2, 2)
	row := fillRow(keyspace.Storage, more)
	row.InFlight, row.Operation = origin(7, 1, 1), &more
	fill(t, s, row)
	require.NoError(t, s.Forget(ctx, handed))
	unsettledIn(t, s, exact(t, triple.SPO, student(2)), origin(7, 1, 1))
	require.NoError(t, s.Close())
	s = openMem(t, store.Options{FS: fs})
	unsettledIn(t, s, exact(t, triple.SPO, student(2)), origin(7, 1, 1))
	require.NoError(t, s.Forget(ctx, s.InFlightBatches()))
	unsettledIn(t, s, triple.Range{})
}

// Acks of a holder never shrink. If acks are older than the known watermark, they are ignored.
func TestAcks(t *testing.T) {
	s := openMem(t, store.Options{})
	type acks = map[trie.MachineID]uint64
	for _, step := range []struct {
		settled uint64
		acks    acks
		want    acks
	}{
		{1, acks{1: 5, 2: 6}, acks{1: 5, 2: 6}},
		{1, acks{1: 4, 2: 7}, acks{1: 5, 2: 7}},
		{2, nil, acks{1: 5, 2: 7}},
		{1, acks{1: 9}, acks{1: 5, 2: 7}},
		{3, acks{2: 8}, acks{2: 8}},
	} {
		s.RecordCommitted(origin(7, 1, step.settled), nil, step.acks, CommitTicks{})
		if h := s.SequencerStates(); !maps.Equal(h[0].Acks, step.want) {
			t.Fatalf("%+v: %v", step, h)
		}
	}
}

// If a machine starts again and again, only its last incarnations are kept, and all with batches
// in flight. Incarnations with batches for the change feed stay, too; here none are kept.
func TestHeardIsBounded(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, store.Options{FS: fs, FeedRetention: changefeed.Retention{Bytes: 1}})
	j := idle(sample.Layout(t, s, 0))
	for n := range uint64(20) {
		deliver(t, s, j, Delivery{Origin: origin(7, n+1, 1), Operations: operations(store.OperationAdd, n+2, 1, student(int(n)))})
		if n != 2 {
			s.RecordCommitted(origin(7, n+1, 1), nil, nil, CommitTicks{})
		}
	}
	deliver(t, s, j, Delivery{Origin: origin(7, 20, 2)})
	seen := func() (incarnations []uint64) {
		for _, h := range s.SequencerStates() {
			incarnations = append(incarnations, h.Incarnation)
		}
		return incarnations
	}
	want := []uint64{3, 17, 18, 19, 20}
	if got := seen(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	// If an old incarnation reports again, it is kept until the next commit.
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 5)})
	want = append([]uint64{1}, want...)
	if got := seen(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	require.NoError(t, s.Close())
	s = openMem(t, store.Options{FS: fs})
	if got := seen(); !slices.Equal(got, want) {
		t.Errorf("after a restart: %v", got)
	}
}

// A batch must be in the list when the log is written.
func TestUnsettledBeforeLog(t *testing.T) {
	var s *Store
	var watch, found, missed atomic.Bool
	r := exact(t, triple.SPO, student(1))
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if watch.Load() && strings.HasSuffix(op.Path, ".log") {
			if len(s.InFlight(r, nil)) == 1 {
				found.Store(true)
			} else {
				missed.Store(true)
			}
		}
		return nil
	}))
	s = openMem(t, store.Options{FS: fs})
	j := idle(sample.Layout(t, s, 0))
	watch.Store(true)
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationAdd, 2, 1, student(1))})
	watch.Store(false)
	if missed.Load() || !found.Load() {
		t.Errorf("missed %v, found %v", missed.Load(), found.Load())
	}
}

// If a delivery cannot be committed, it leaves nothing. Its batch is not in the list, or as
// before. The committed batches are written with the next delivery.
func TestDeliverUndone(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, store.Options{FS: fs})
	j := idle(sample.Layout(t, s, 0))
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationAdd, 2, 1, student(1))})
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 2), Operations: operations(store.OperationAdd, 2, 2, student(2))})
	damaged := append([]byte{keyspace.Storage}, operation(store.OperationAdd, student(3), 0, 0).Key...)
	require.NoError(t, s.db.Set(damaged, []byte{0}, nil))
	s.RecordCommitted(origin(7, 1, 1), nil, nil, CommitTicks{})
	for _, batch := range []uint64{2, 3} {
		d := Delivery{Origin: origin(7, 1, batch), Operations: operations(store.OperationAdd, 9, 1, student(3), student(4))}
		if err := s.Deliver(ctx, &d, j); !errors.Is(err, store.ErrCorrupt) {
			t.Fatal(err)
		}
	}
	unsettledIn(t, s, triple.Range{}, origin(7, 1, 2))
	unsettledIn(t, s, exact(t, triple.OSP, student(2)), origin(7, 1, 2))
	unsettledIn(t, s, exact(t, triple.OSP, student(4)))
	if s.Epoch() != 3 || s.SequencerStates()[0].Last != 2 || s.Status().Triples != 2 {
		t.Errorf("epoch %d, %+v, %d triples", s.Epoch(), s.SequencerStates(), s.Status().Triples)
	}
	require.NoError(t, s.db.Delete(damaged, nil))
	require.NoError(t, s.Forget(ctx, nil))
	if left := keptBatches(t, s); !slices.Equal(left, []Origin{origin(7, 1, 1), origin(7, 1, 2)}) {
		t.Errorf("kept: %v", left)
	}
	require.NoError(t, s.Close())
	s = openMem(t, store.Options{FS: fs})
	if h := s.SequencerStates(); h[0].Committed != 1 {
		t.Errorf("%+v", h)
	}
	checked(t, s)
}
