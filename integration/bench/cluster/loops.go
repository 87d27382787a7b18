// Clients that read and write without a pause.

package cluster

import (
	"context"
	"math/rand/v2"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/triple"
)

// loop is clients that repeat a request, even if it fails.
type loop struct {
	cancel context.CancelFunc
	group  sync.WaitGroup
	mu     sync.Mutex
	done   []attempt
}

// attempt is one try.
type attempt struct {
	begun, ended time.Time
	err          error
}

// loopPause is the pause of a client after a failure.
const loopPause = 20 * time.Millisecond

// loopClients is the number of clients that read.
const loopClients = 4

// startLoop starts clients. Each calls do until the loop is stopped.
func startLoop(ctx context.Context, clients int, do func(ctx context.Context, client, n int) error) *loop {
	ctx, cancel := context.WithCancel(ctx)
	l := &loop{cancel: cancel}
	for client := range clients {
		l.group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				a := attempt{begun: time.Now()}
				a.err = do(ctx, client, n)
				a.ended = time.Now()
				if ctx.Err() != nil {
					return
				}
				l.mu.Lock()
				l.done = append(l.done, a)
				l.mu.Unlock()
				if a.err != nil {
					_ = retry.Sleep(ctx, loopPause) // the loop's condition sees that ctx ended
				}
			}
		})
	}
	return l
}

// stop ends the clients.
func (l *loop) stop() {
	l.cancel()
	l.group.Wait()
}

// rateBetween returns the rate and the durations of the successful attempts that ended in a time.
func (l *loop) rateBetween(from, until time.Time) (rate float64, took rig.Times, failed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.done {
		switch {
		case a.ended.Before(from) || !a.ended.Before(until):
		case a.err != nil:
			failed++
		default:
			took = append(took, a.ended.Sub(a.begun))
		}
	}
	return rig.PerSecond(int64(len(took)), until.Sub(from)), took, failed
}

// readLoop reads the triples of subjects of asked, through machines in turn.
func (b *bench) readLoop(ctx context.Context, questions []triple.Triple, from []*rig.Machine) *loop {
	client := rig.NewHTTP(loopClients)
	return startLoop(ctx, loopClients, func(ctx context.Context, number, n int) error {
		r := rand.New(rand.NewPCG(b.Seed, uint64(number)<<32|uint64(n)))
		_, err := rig.GetLines(ctx, client, subjectOf(from[n%len(from)], questions[r.IntN(len(questions))]))
		return err
	})
}

// subjectOf returns the URL of the triples of a triple's subject.
func subjectOf(m *rig.Machine, t triple.Triple) string {
	return m.URL() + "/triples?" + url.Values{"s": {t.Subject.String()}, "limit": {strconv.Itoa(questionRows)}}.Encode()
}

// loopBatch is the number of triples in a batch.
const loopBatch = 100

// writeLoop adds new triples near others, through machines in turn.
func (b *bench) writeLoop(ctx context.Context, near []triple.Triple, to []*rig.Machine) *loop {
	return startLoop(ctx, 1, func(ctx context.Context, number, n int) error {
		r := rand.New(rand.NewPCG(b.Seed, uint64(n)))
		batch := make([]triple.Triple, loopBatch)
		for i := range batch {
			batch[i] = rig.Fresh(near[r.IntN(len(near))], n*loopBatch+i)
		}
		_, err := to[n%len(to)].Client.Add(ctx, batch)
		return err
	})
}
