package main

// This file has clients that read and write one request after the other while
// something happens to a cluster.

import (
	"context"
	"math/rand/v2"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/triple"
)

// loop is clients that do something again and again, whether it works or not.
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

// loopPause is how long a client waits after a failure.
const loopPause = 20 * time.Millisecond

// loopClients is how many clients read, or write, at a time.
const loopClients = 4

// startLoop starts clients, each of which calls do again and again.
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
					_ = pause(ctx, loopPause) // the loop's condition sees that ctx ended
				}
			}
		})
	}
	return l
}

// stop ends the clients. What they did may be looked at after that.
func (l *loop) stop() {
	l.cancel()
	l.group.Wait()
}

// between returns the rate of what succeeded in a time, and how long each took.
func (l *loop) between(from, until time.Time) (rate float64, took times, failed int) {
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
	return perSecond(int64(len(took)), until.Sub(from)), took, failed
}

// readLoop reads what subjects of asked have, through machines in turn.
func (b *bench) readLoop(ctx context.Context, asked []triple.Triple, from []*machine) *loop {
	client := newHTTP(loopClients)
	return startLoop(ctx, loopClients, func(ctx context.Context, number, n int) error {
		r := rand.New(rand.NewPCG(b.seed, uint64(number)<<32|uint64(n)))
		_, err := get(ctx, client, subjectOf(from[n%len(from)], asked[r.IntN(len(asked))]))
		return err
	})
}

// subjectOf returns the address of what a machine knows of a triple's subject.
func subjectOf(m *machine, t triple.Triple) string {
	return m.url() + "/triples?" + url.Values{"s": {t.Subject.String()}, "limit": {strconv.Itoa(questionRows)}}.Encode()
}

// loopBatch is how many triples a writer adds at a time.
const loopBatch = 100

// writeLoop adds new triples near others, through machines in turn.
func (b *bench) writeLoop(ctx context.Context, near []triple.Triple, to []*machine) *loop {
	return startLoop(ctx, 1, func(ctx context.Context, number, n int) error {
		r := rand.New(rand.NewPCG(b.seed, uint64(n)))
		batch := make([]triple.Triple, loopBatch)
		for i := range batch {
			batch[i] = fresh(near[r.IntN(len(near))], n*loopBatch+i)
		}
		_, err := to[n%len(to)].client.Add(ctx, batch)
		return err
	})
}
