// Crashes and failed writes during deliveries and fills.

package replica

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// The disk may lose power before every write and sync of deliveries and fills. Answered deliveries
// must be there then, with their entries, the last batch and the mark. Of the delivery in
// progress, all or nothing is there.
func TestDeliverCrashes(t *testing.T) {
	rng := random(t)
	fs := memdisk.New()
	type crash struct {
		fs       *memdisk.FS
		answered uint64 // the last delivery before the copy
		during   uint64 // the last one during the copy, because a reused log is written meanwhile
		mark     uint64
	}
	var crashes []crash
	var mu sync.Mutex // Pebble writes from several goroutines
	var watch atomic.Bool
	var answered, marked atomic.Uint64
	faulty := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !watch.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if len(crashes) < race.Fewer(100) && rng.IntN(2) == 0 {
			before := crash{answered: answered.Load(), mark: marked.Load()}
			before.fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
			before.during = answered.Load()
			crashes = append(crashes, before)
		}
		return nil
	}))
	s := openMem(t, store.Options{FS: faulty, MemTableBytes: minMemTableBytes})
	j := idle(sample.Layout(t, s, 0))
	watch.Store(true)
	const size = 20
	for n := range uint64(60) {
		d := Delivery{Origin: origin(7, 1, n+1), Operations: operations(store.OperationAdd, 2, n*size+1, students(int(n*size), int(n*size+size))...)}
		if n > 10 {
			d.Committed = n - 10
		}
		deliver(t, s, j, d)
		answered.Store(n + 1)
		if n%5 == 0 {
			fill(t, s, fillOf(t, operation(store.OperationAdd, student(int(100_000+n)), 2, 1))...)
			mark, err := s.SyncFills(ctx)
			require.NoError(t, err)
			marked.Store(mark)
		}
	}
	watch.Store(false)
	crashes = append(crashes, crash{fs.CrashClone(vfs.CrashCloneCfg{}), 60, 60, 12})
	if len(crashes) < race.Fewer(40) {
		t.Fatalf("not a test: %d crashes", len(crashes))
	}
	for _, c := range crashes {
		afterCrash(t, c.fs, c.answered, c.during, c.mark, size)
	}
}

func afterCrash(t *testing.T, fs vfs.FS, answered, during, mark uint64, size int) {
	t.Helper()
	s, err := Open("data", store.Options{FS: fs}, Options{})
	require.NoError(t, err)
	defer s.Close()
	if s.Mark() < mark {
		t.Fatalf("mark %d, was %d", s.Mark(), mark)
	}
	last, settled := uint64(0), uint64(0)
	if h := s.SequencerStates(); len(h) > 0 {
		last, settled = h[0].Last, h[0].Committed
	}
	if last < answered || last > during+1 {
		t.Fatalf("last is %d, answered were %d to %d", last, answered, during)
	}
	var want []uint64
	for n := settled + 1; n <= last; n++ {
		want = append(want, n)
	}
	var got []uint64
	for _, b := range s.InFlightBatches() {
		got = append(got, b.Origin.Batch)
		if len(b.Operations) != size {
			t.Fatalf("batch %d has %d operations", b.Origin.Batch, len(b.Operations))
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("unsettled are %v, want %v", got, want)
	}
	report := checked(t, s)
	sn := snapshot(t, s)
	defer sn.Close()
	for i := range int(last) * size {
		if ok, err := sn.Has(ctx, student(i)); !ok || err != nil {
			t.Fatalf("triple %d of delivery %d is not there, %v", i%size, i/size+1, err)
		}
	}
	for i := range int(mark) {
		if ok, err := sn.Has(ctx, student(100_000+5*i)); !ok || err != nil {
			t.Fatalf("fill %d is not there, %v", i, err)
		}
	}
	fills := report.Triples - int64(last)*int64(size)
	if fills < int64(mark) || fills > int64(mark)+1 || s.Status().Triples != report.Triples {
		t.Fatalf("%d triples, counted %d, after %d deliveries and mark %d", report.Triples, s.Status().Triples, last, mark)
	}
}

// Writes fail one after the other. Answered deliveries must be there after a restart, and nothing
// may hang.
func TestDeliverWriteErrors(t *testing.T) {
	seed.Slow(t)
	race.Skip(t)
	rng := random(t)
	for stop := 0; stop < 100; stop += 100 / race.Fewer(25) {
		t.Run(fmt.Sprint(stop), func(t *testing.T) {
			fs := memdisk.New()
			openFor(t, fs).Close()
			faulty, _ := memdisk.FailAt(fs, stop, stop%2 == 0)
			s, err := Open("data", store.Options{FS: faulty, MemTableBytes: minMemTableBytes, WriteTimeout: time.Second / 4}, Options{})
			answered := uint64(0)
			if err == nil {
				j := idle(sample.Layout(t, s, 0))
				for n := range uint64(20) {
					d := Delivery{Origin: origin(7, 1, n+1), Operations: operations(store.OperationAdd, 2, n*100+1, students(int(n*100), int(n*100+100))...)}
					if err := s.Deliver(ctx, &d, j); err != nil {
						if !errors.Is(err, store.ErrFailed) && !errors.Is(err, store.ErrUnknown) {
							t.Error(err)
						}
						// The batch must be in the list, because its rows may show.
						if sn, err := s.Snapshot(); err == nil {
							if ok, _ := sn.Has(ctx, student(int(n*100))); ok && len(s.InFlight(exact(t, triple.SPO, student(int(n*100))), nil)) == 0 {
								t.Error("rows that failed show as settled")
							}
							sn.Close()
						}
						break
					}
					answered = n + 1
				}
				s.Close()
			}
			again := openFor(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rand.New(rand.NewPCG(rng.Uint64(), 0))}))
			defer again.Close()
			last := uint64(0)
			if h := again.SequencerStates(); len(h) > 0 {
				last = h[0].Last
			}
			if last < answered || len(again.InFlightBatches()) != int(last) {
				t.Fatalf("last is %d with %d batches, answered were %d", last, len(again.InFlightBatches()), answered)
			}
			if r := checked(t, again); r.Triples != int64(last)*100 {
				t.Fatalf("%d triples after %d deliveries", r.Triples, last)
			}
		})
	}
}
