// Load on a cluster: clients that write and read all the time.

package processes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/triple"
)

// load is clients that write and read through all machines, whether or not they
// answer, and check each answer.
type load struct {
	t        testing.TB
	history  *history
	machines []*machine
	cancel   context.CancelFunc
	clients  sync.WaitGroup

	writes, reads gaps
	mu            sync.Mutex
	wrong         map[string]bool // answers that cannot be; reported once each
	refused       map[string]int  // by what was done: requests that failed
}

// gaps measures the longest time without success.
type gaps struct {
	mu      sync.Mutex
	last    time.Time
	longest time.Duration
	count   int
}

func (g *gaps) success() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.longest = max(g.longest, now.Sub(g.last))
	g.last = now
	g.count++
}

// reset begins anew, and figures returns how many there were since, and the
// longest time without one.
func (g *gaps) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last, g.longest, g.count = time.Now(), 0, 0
}

func (g *gaps) figures() (count int, longest time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count, max(g.longest, time.Since(g.last))
}

// startLoad starts clients. They end with the test at the latest.
func (c *cluster) startLoad(h *history, random *rand.Rand) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{t: c.t, history: h, machines: append([]*machine(nil), c.machines...), cancel: cancel, wrong: map[string]bool{}, refused: map[string]int{}}
	l.mark()
	for range 3 {
		r := rand.New(rand.NewPCG(random.Uint64(), 1))
		l.clients.Go(func() { l.write(ctx, r) })
	}
	for range 3 {
		r := rand.New(rand.NewPCG(random.Uint64(), 2))
		l.clients.Go(func() { l.read(ctx, r) })
	}
	c.t.Cleanup(l.stop)
	return l
}

// mark begins the figures anew.
func (l *load) mark() {
	l.writes.reset()
	l.reads.reset()
}

// stop ends the clients.
func (l *load) stop() {
	l.cancel()
	l.clients.Wait()
}

// log says how available the cluster was since the mark.
func (l *load) log(what string) {
	writes, noWrites := l.writes.figures()
	reads, noReads := l.reads.figures()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t.Logf("%s: at most %.1f s without a write and %.1f s without a read; %d writes, %d reads, refused %v",
		what, noWrites.Seconds(), noReads.Seconds(), writes, reads, l.refused)
}

// goOn waits until writes and reads go on after now.
func (l *load) goOn(n int) {
	l.t.Helper()
	writes, _ := l.writes.figures()
	reads, _ := l.reads.figures()
	until(l.t, "writes and reads go on", func() error {
		w, _ := l.writes.figures()
		r, _ := l.reads.figures()
		if w < writes+n || r < reads+n {
			return fmt.Errorf("%d writes and %d reads since", w-writes, r-reads)
		}
		return nil
	})
}

func (l *load) fault(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := err.Error(); !l.wrong[text] && len(l.wrong) < 10 {
		l.wrong[text] = true
		l.t.Errorf("a wrong answer: %v", err)
	}
}

func (l *load) refusal(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[what]++
}

// any returns the client of some machine.
func (l *load) any(r *rand.Rand) *machine { return l.machines[r.IntN(len(l.machines))] }

// rest is how long a client waits after a failure.
const rest = 50 * time.Millisecond

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// write adds triples and deletes some of them, each request until it is
// acknowledged.
func (l *load) write(ctx context.Context, r *rand.Rand) {
	var mine [][]int // batches that may be deleted
	for ctx.Err() == nil {
		if len(mine) > 5 && r.IntN(4) == 0 {
			i := r.IntN(len(mine))
			batch := mine[i]
			mine[i] = mine[len(mine)-1]
			mine = mine[:len(mine)-1]
			l.history.note(batch, deleting)
			if _, ok := l.try(ctx, r, "delete", func(m *machine) error {
				_, err := m.client.Delete(ctx, triplesOf(batch))
				return err
			}); ok {
				l.history.note(batch, deleted)
			}
			continue
		}
		batch := l.history.add(1 + r.IntN(20))
		sure, ok := l.try(ctx, r, "add", func(m *machine) error {
			_, err := m.client.Add(ctx, triplesOf(batch))
			return err
		})
		if !ok {
			continue
		}
		l.history.note(batch, added)
		// An add whose outcome was unknown may still come late, after a delete.
		if sure {
			mine = append(mine, batch)
		}
		sleep(ctx, 5*time.Millisecond)
	}
}

// try sends a change through one machine after the other until it is done, or ctx
// ends. sure is false if a failed try may still be done.
func (l *load) try(ctx context.Context, r *rand.Rand, what string, do func(*machine) error) (sure, ok bool) {
	for sure = true; ctx.Err() == nil; sure = false {
		err := do(l.any(r))
		if err == nil {
			l.writes.success()
			return sure, true
		}
		if ctx.Err() == nil {
			l.refusal(what)
			if errors.Is(err, client.ErrBadRequest) || errors.Is(err, client.ErrUnauthorized) {
				l.fault(err)
			}
		}
		sleep(ctx, rest)
	}
	return false, false
}

// read asks in some way and checks the answer.
func (l *load) read(ctx context.Context, r *rand.Rand) {
	ways := []string{"match", "range", "count", "query"}
	for ctx.Err() == nil {
		way, predicate, m := ways[r.IntN(len(ways))], r.IntN(predicates+1)-1, l.any(r)
		begun := l.history.now()
		wrong, err := ask(ctx, l.history, m, way, predicate, r.IntN(3), begun)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			l.refusal(way)
			sleep(ctx, rest)
		case wrong != nil:
			l.fault(fmt.Errorf("%s of predicate %d through machine %d: %w", way, predicate, m.number, wrong))
		default:
			l.reads.success()
			sleep(ctx, 5*time.Millisecond)
		}
	}
}

// ask reads the triples of a predicate. wrong is an impossible part of the answer; err is the error
// if there was no answer.
func ask(ctx context.Context, h *history, m *machine, way string, predicate, order int, begun int64) (wrong, err error) {
	var p triple.Pattern
	pattern := "?s ?p ?o"
	if predicate != all {
		p.Predicate = predicateOf(predicate)
		pattern = "?s " + p.Predicate.String() + " ?o"
	}
	shown := map[int]int{}
	switch way {
	case "count":
		n, err := m.client.Count(ctx, p)
		if err != nil {
			return nil, err
		}
		return h.checkCount(predicate, begun, h.now(), n), nil
	case "query":
		var n int
		for s, err := range m.client.Query(ctx, "SELECT (COUNT(*) AS ?n) { "+pattern+" }", client.QueryOptions{}) {
			if err != nil {
				return nil, err
			}
			if n, err = strconv.Atoi(s.Term("n").Value()); err != nil {
				return err, nil
			}
		}
		return h.checkCount(predicate, begun, h.now(), int64(n)), nil
	case "match":
		for t, err := range m.client.Match(ctx, p) {
			if err != nil {
				return nil, err
			}
			shown[numberOf(t)]++
		}
	case "range":
		predicate = all
		for t, err := range m.client.Range(ctx, triple.Bounds{Order: triple.Orders[order]}, client.RangeOptions{}) {
			if err != nil {
				return nil, err
			}
			shown[numberOf(t)]++
		}
	}
	return h.check(predicate, begun, h.now(), shown), nil
}

// mustHold checks, when no client writes, that the cluster holds what was
// acknowledged and nothing else, through every machine, in every order and way.
func (c *cluster) mustHold(h *history) {
	c.t.Helper()
	c.mustHoldBy(h, "range", "match", "count", "query")
}

func (c *cluster) mustHoldBy(h *history, ways ...string) {
	c.t.Helper()
	for _, m := range c.up() {
		for _, way := range ways {
			if way == "range" {
				for order := range 3 {
					m.mustHold(h, way, all, order)
				}
				continue
			}
			for predicate := range predicates {
				m.mustHold(h, way, predicate, 0)
			}
		}
	}
}

func (m *machine) mustHold(h *history, way string, predicate, order int) {
	t := m.c.t
	t.Helper()
	var wrong error
	until(t, fmt.Sprintf("machine %d answers a %s", m.number, way), func() (err error) {
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		wrong, err = ask(ctx, h, m, way, predicate, order, h.now())
		return err
	})
	if wrong != nil {
		t.Errorf("%s of order %d, predicate %d through machine %d: %v", way, order, predicate, m.number, wrong)
	}
}

// fill adds so many triples, a thousand at a time, through all machines in turn.
func (c *cluster) fill(h *history, n int) {
	c.t.Helper()
	for i := 0; n > 0; i++ {
		batch := h.add(min(n, 1000))
		n -= len(batch)
		m := c.machines[i%len(c.machines)]
		until(c.t, fmt.Sprintf("an add through machine %d", m.number), func() error { // what is added twice is there once
			_, err := m.client.Add(c.t.Context(), triplesOf(batch))
			return err
		})
		h.note(batch, added)
	}
}
