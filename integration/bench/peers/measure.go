// The times of queries on one system, and of the mix of BSBM.

package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
)

// minRuns is how many times a query runs at least, after a first run.
const minRuns = 3

// outcome is what one system did with one query.
type outcome struct {
	answer answer
	median time.Duration
	err    error // the system has no answer
}

// outcomes are by system and by the key of a query.
type outcomes map[string]map[string]outcome

// key names a query in outcomes and in the file of ratios.
func (b *bench) key(d data, s suite, q query) string {
	return fmt.Sprintf("%s-%s/%s", s.name, d.size, q.name)
}

// measureAll measures the queries of a data set that want accepts on one system, which runs alone.
func (b *bench) measureAll(ctx context.Context, d data, s system, results outcomes, want func(key string) bool) (err error) {
	dir, err := b.stored(ctx, s, d.file)
	if err != nil {
		return err
	}
	running, err := b.start(ctx, s, dir, maxClients)
	if err != nil {
		return err
	}
	defer func() {
		if running != nil {
			running.Kill()
		}
	}()
	for _, suite := range d.suites {
		for _, q := range suite.queries {
			key := b.key(d, suite, q)
			if !want(key) {
				continue
			}
			o := b.measure(ctx, running.endpoint, q)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if old, ok := results[s.name][key]; ok && old.err == nil && (o.err != nil || old.median < o.median) {
				o = old // the better of two
			}
			results[s.name][key] = o
			if o.err == nil {
				continue
			}
			// A server may go on with a query after its client has left. Start it anew.
			fmt.Fprintf(os.Stderr, "%s: %s: %.300v\n", s.name, key, o.err)
			running.Kill()
			if running, err = b.start(ctx, s, dir, maxClients); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure runs a query until its times are enough.
func (b *bench) measure(ctx context.Context, e *endpoint, q query) (o outcome) {
	// 1. The first run warms the caches and brings the answer.
	ctx, cancel := context.WithTimeoutCause(ctx, b.deadline, fmt.Errorf("it did not end in %s", b.deadline))
	defer cancel()
	var body bytes.Buffer
	first, err := e.send(ctx, q, &body)
	if err == nil {
		o.answer, err = parseAnswer(q.form, body.Bytes())
	}
	if err != nil {
		o.err = errors.Join(context.Cause(ctx), err)
		return o
	}
	// 2. The others are timed. When the deadline comes, the runs until then must do.
	times := rig.Times{}
	for begun := time.Now(); len(times) < minRuns || time.Since(begun) < b.minTime; {
		took, err := e.send(ctx, q, io.Discard)
		if err != nil && ctx.Err() == nil {
			o.err = err
			return o
		}
		if err != nil {
			break
		}
		times = append(times, took)
	}
	if len(times) == 0 {
		times = rig.Times{first}
	}
	o.median = times.Quantile(0.5)
	return o
}

// The mix runs for mixTime after mixWarmup, with each number of clients.
const (
	mixWarmup  = 3 * time.Second
	mixTime    = 5 * time.Second
	maxClients = 4
)

// mixClients are the numbers of clients of the mix.
var mixClients = []int{1, maxClients}

// measureMix returns the queries a second of BSBM's explore mix, for each number of clients.
func (b *bench) measureMix(ctx context.Context, d data, s system) (rates []float64, err error) {
	dir, err := b.stored(ctx, s, d.file)
	if err != nil {
		return nil, err
	}
	running, err := b.start(ctx, s, dir, maxClients)
	if err != nil {
		return nil, err
	}
	defer running.Kill()
	if _, err := runMix(ctx, running.endpoint, d.mix, 1, mixWarmup); err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	for _, clients := range mixClients {
		rate, err := runMix(ctx, running.endpoint, d.mix, clients, mixTime)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		rates = append(rates, rate)
	}
	return rates, nil
}

// runMix asks the queries of a mix in a loop with some clients, each from another place on.
func runMix(ctx context.Context, e *endpoint, mix []query, clients int, duration time.Duration) (rate float64, err error) {
	var group sync.WaitGroup
	sent, failed := make([]int64, clients), make([]error, clients)
	begun := time.Now()
	for c := range clients {
		group.Go(func() {
			for i := c * len(mix) / clients; time.Since(begun) < duration; i++ {
				if _, failed[c] = e.send(ctx, mix[i%len(mix)], io.Discard); failed[c] != nil {
					return
				}
				sent[c]++
			}
		})
	}
	group.Wait()
	var total int64
	for _, n := range sent {
		total += n
	}
	return rig.PerSecond(total, time.Since(begun)), errors.Join(failed...)
}

// geometricMean returns the geometric mean of positive numbers, 0 if there are none.
func geometricMean(numbers []float64) float64 {
	if len(numbers) == 0 {
		return 0
	}
	sum := 0.0
	for _, n := range numbers {
		sum += math.Log(n)
	}
	return math.Exp(sum / float64(len(numbers)))
}
