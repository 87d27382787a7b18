// The photo site and the library on clusters under faults.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/drive"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// processStore is a process of a cluster as one of its clients sees it: answers of a
// process that was killed do not arrive.
type processStore struct{ process *process }

var errNoAnswer = fmt.Errorf("the process was killed: %w", store.ErrClosed)

func (s processStore) Change(ctx context.Context, add bool, triples []triple.Triple) (changed int64, err error) {
	n, _ := s.process.running()
	if n == nil {
		return 0, store.ErrUnavailable
	}
	s.process.await()
	var unchanged int64
	if add {
		var r store.Result
		r, err = store.Add(ctx, n, triples)
		changed, unchanged = r.Added, r.Existing
	} else {
		var r store.Result
		r, err = store.Delete(ctx, n, triples)
		changed, unchanged = r.Deleted, r.Missing
	}
	s.process.await()
	switch {
	case s.process.dead.Load():
		return 0, errors.Join(errNoAnswer, drive.ErrUnknown)
	case errors.Is(err, store.ErrUnknown), err != nil && changed+unchanged > 0:
		return changed, errors.Join(err, drive.ErrUnknown)
	case err == nil && changed+unchanged != int64(len(triples)):
		return changed, fmt.Errorf("%w: %d of %d triples are written, and no error", drive.ErrWrong, changed+unchanged, len(triples))
	}
	return changed, err
}

func (s processStore) Match(ctx context.Context, p triple.Pattern) iter.Seq2[triple.Triple, error] {
	return s.read(func(sn snapshot) iter.Seq2[store.Row, error] { return sn.Match(ctx, p, store.ReadOptions{}) })
}

func (s processStore) Range(ctx context.Context, b triple.Bounds, reverse bool, limit int) iter.Seq2[triple.Triple, error] {
	return s.read(func(sn snapshot) iter.Seq2[store.Row, error] {
		return sn.Range(ctx, b, store.ReadOptions{Reverse: reverse, Limit: int64(limit)})
	})
}

// snapshot is what is read of a cluster's node.
type snapshot interface {
	Match(ctx context.Context, p triple.Pattern, o store.ReadOptions) iter.Seq2[store.Row, error]
	Range(ctx context.Context, b triple.Bounds, o store.ReadOptions) iter.Seq2[store.Row, error]
}

func (s processStore) read(rows func(snapshot) iter.Seq2[store.Row, error]) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		n, _ := s.process.running()
		if n == nil {
			yield(triple.Triple{}, store.ErrUnavailable)
			return
		}
		sn, err := n.Reader()
		if err != nil {
			yield(triple.Triple{}, err)
			return
		}
		defer sn.Close()
		for row, err := range rows(sn) {
			s.process.await()
			var t triple.Triple
			if err == nil {
				t, err = row.Triple()
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
		if s.process.await(); s.process.dead.Load() {
			yield(triple.Triple{}, errNoAnswer)
		}
	}
}

// TestTortureWorkload runs the clients of the photo site and of the library on
// clusters under the faults of [TestTorture]. A complete answer is the oracle's, at
// any time; when all is mended, all answers are.
func TestTortureWorkload(t *testing.T) {
	number := seedOf(t)
	apps := map[string]dataset.Application{
		"photos":  dataset.Photos{Seed: number, Triples: 600},
		"library": dataset.Library{Seed: number, Triples: 600},
	}
	for _, name := range seed.Choose(t, []string{"photos", "library"}) {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				tortureWorkload(t, number, apps[name], 2, func(to *torture) {
					for range seed.Rounds(3, 20) {
						to.round()
						to.whole()
					}
				})
			})
		})
	}
}

// workloadClients is how many clients an application has in a torture.
const workloadClients = 4

// workloadTorture is an application whose clients use a cluster under faults.
type workloadTorture struct {
	*torture
	app    dataset.Application
	driver drive.Driver

	mu    sync.Mutex
	tally map[string]int64
}

// tortureWorkload runs one application on one cluster of at least so many machines while strike
// brings faults, and makes them good.
func tortureWorkload(t *testing.T, seed uint64, app dataset.Application, machines int, strike func(*torture)) {
	// 1. A cluster with the initial data.
	r := rand.New(rand.NewPCG(seed, 5))
	to := &torture{t: t, world: newWorld(t, seed), random: r, universe: newUniverse(0, 0, 0), errors: map[string]int{},
		history: &history{events: map[int][]porcupine.Operation{}, unknown: map[int]int{}}}
	to.moveRate = 1 << (14 + r.IntN(12))
	to.copies = recovery.MinCopies + r.IntN(recovery.MaxCopies-recovery.MinCopies+1)
	w := &workloadTorture{torture: to, app: app, tally: map[string]int64{}}
	defer to.close()
	defer func() { t.Logf("errors: %v; faults: %q", to.errors, to.faults) }()
	to.form(machines)
	if err := w.driver.Load(t.Context(), processStore{to.hosts[0].up()}, app); err != nil {
		t.Fatal(err)
	}

	// 2. Clients while machines and the network fail.
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	for i := range workloadClients {
		clients.Go(func() { w.client(ctx, i) })
	}
	strike(to)
	time.Sleep(2 * time.Second) // of virtual time
	cancel()
	clients.Wait()

	// 3. All is mended.
	to.rest()
	to.machines()
	to.settled()
	for _, h := range to.wanted() {
		if err := w.driver.End(t.Context(), processStore{h.up()}); err != nil {
			t.Fatalf("through %s, when all is quiet: %v; faults: %q", h.name, err, to.faults)
		}
	}
	w.searchAll(200)
	to.world.checkDisks()
	tally := w.driver.Oracle.Tally()
	t.Logf("totals: clusters=1 acknowledged-writes=%d answers=%d faults=%d", w.tally["changes"], tally.Checked, to.struck)
	t.Logf("%d statements, %d changes of unknown outcome", tally.Certain, tally.Unknown)
}

// client carries out the operations of one client, each through some machine.
func (w *workloadTorture) client(ctx context.Context, number int) {
	r := rand.New(rand.NewPCG(w.world.seed, uint64(200+number)))
	operations := 0
	for op := range w.app.Ops(number, workloadClients) {
		p := w.anyProcess(r)
		for ; p == nil && ctx.Err() == nil; p = w.anyProcess(r) {
			time.Sleep(20 * time.Millisecond) // of virtual time
		}
		if ctx.Err() != nil {
			return
		}
		timed, cancel := context.WithTimeout(ctx, time.Duration(200+r.IntN(8000))*time.Millisecond)
		err := w.driver.Do(timed, processStore{p}, op)
		cancel()
		switch {
		case errors.Is(err, drive.ErrWrong):
			w.fail("client %d through %s: %v; faults: %q", number, p.host.name, err, w.soFar())
			return
		case err != nil:
			w.saw(err)
		case op.Kind != dataset.Find:
			w.mu.Lock()
			w.tally["changes"]++
			w.mu.Unlock()
		}
		// Faults may last for minutes. So the pauses grow, because the same clients at full speed
		// would only repeat themselves.
		operations++
		time.Sleep(time.Duration(r.IntN(60+operations)) * time.Millisecond)
	}
}

// searchAll makes the next searches of a client, all of which must succeed.
func (w *workloadTorture) searchAll(searches int) {
	w.t.Helper()
	for op := range w.app.Ops(0, 1) {
		if op.Kind != dataset.Find {
			continue
		}
		p := w.anyProcess(w.random)
		if p == nil {
			continue
		}
		if err := w.driver.Do(w.t.Context(), processStore{p}, op); err != nil {
			w.t.Fatalf("through %s, when all is quiet: %v; faults: %q", p.host.name, err, w.faults)
		}
		if searches--; searches == 0 {
			return
		}
	}
}
