// Measurements: operations without the oracle. The oracle checks the store at the end.

package drive

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/testing/oracle"
)

// Measured is the work of an application's clients in a time.
type Measured struct {
	Elapsed time.Duration
	Took    map[dataset.Kind][]time.Duration
	// operations is the number of operations of each client.
	operations []int
}

// Operations returns the sum over all clients.
func (m Measured) Operations() (n int64) {
	for _, o := range m.operations {
		n += int64(o)
	}
	return n
}

// Measure runs operations of an application's clients for a time: client i uses
// stores[i%len(stores)]. The initial data must be loaded. Answers are read to their ends but not
// judged, because that would take processor time; see [Driver.Verify]. The first error ends it.
func Measure(ctx context.Context, stores []Store, app dataset.Application, clients int, duration time.Duration) (Measured, error) {
	// 1. Run the clients. Each collects its own times, because a lock in the loop would disturb
	// them.
	m := Measured{Took: map[dataset.Kind][]time.Duration{}, operations: make([]int, clients)}
	var mu sync.Mutex
	var group sync.WaitGroup
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun := time.Now()
	for client := range clients {
		group.Go(func() {
			took := map[dataset.Kind][]time.Duration{}
			for op := range app.Ops(client, clients) {
				if time.Since(begun) >= duration || ctx.Err() != nil {
					break
				}
				at := time.Now()
				if err := run(ctx, stores[client%len(stores)], op); err != nil {
					cancel(fmt.Errorf("client %d: %s: %w", client, op.Name, err))
					return
				}
				took[op.Kind] = append(took[op.Kind], time.Since(at))
				m.operations[client]++
			}
			// 2. Merge the times when a client has ended.
			mu.Lock()
			defer mu.Unlock()
			for kind, all := range took {
				m.Took[kind] = append(m.Took[kind], all...)
			}
		})
	}
	group.Wait()
	m.Elapsed = time.Since(begun)
	return m, context.Cause(ctx)
}

// run runs an operation without an oracle.
func run(ctx context.Context, store Store, op dataset.Op) error {
	if op.Kind != dataset.Find {
		triples, err := triplesOf(op)
		if err != nil {
			return err
		}
		_, err = store.Change(ctx, op.Kind == dataset.Add, triples)
		return err
	}
	return steps(op.Search, func(s dataset.Search) ([]dataset.Statement, error) {
		rows, err := searchCall(ctx, s)
		if err != nil {
			return nil, err
		}
		return collect(rows(store))
	})
}

// Verify checks the contents of a store after a measurement, and its answers to some searches.
// d.Load must have loaded the initial data.
func (d *Driver) Verify(ctx context.Context, store Store, app dataset.Application, m Measured, searches int) error {
	// 1. Replay the clients' operations in the oracle.
	for client, left := range m.operations {
		for op := range app.Ops(client, len(m.operations)) {
			if left--; left < 0 {
				break
			}
			if op.Kind == dataset.Find {
				continue
			}
			c, err := d.Oracle.Begin(op)
			if err != nil {
				return err
			}
			if err := d.Oracle.End(c, oracle.Done); err != nil {
				return err
			}
		}
	}

	// 2. Check all contents, and some searches.
	if err := d.End(ctx, store); err != nil {
		return err
	}
	for op := range app.Ops(0, 1) {
		if op.Kind != dataset.Find {
			continue
		}
		if searches--; searches < 0 {
			break
		}
		if err := d.Do(ctx, store, op); err != nil {
			return err
		}
	}
	return nil
}
