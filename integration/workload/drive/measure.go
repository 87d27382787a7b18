// Measurements: operations without the oracle, which checks the store at the end.

package drive

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/integration/workload"
)

// Measured is what the clients of an application did in a time.
type Measured struct {
	Elapsed time.Duration
	Took    map[workload.Kind][]time.Duration
	// operations is how many of its operations each client has carried out.
	operations []int
}

// Operations returns how many operations all clients carried out.
func (m Measured) Operations() (n int64) {
	for _, o := range m.operations {
		n += int64(o)
	}
	return n
}

// Measure has clients of an application, whose initial data are loaded, carry out
// operations for a time: client i through stores[i%len(stores)]. Answers are read to
// their ends and not judged, which would take the processor's time; see
// [Driver.Verify]. The first error ends it.
func Measure(ctx context.Context, stores []Store, app workload.Application, clients int, duration time.Duration) (Measured, error) {
	m := Measured{Took: map[workload.Kind][]time.Duration{}, operations: make([]int, clients)}
	var mu sync.Mutex
	var group sync.WaitGroup
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun := time.Now()
	for client := range clients {
		group.Go(func() {
			took := map[workload.Kind][]time.Duration{}
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

// run carries out an operation without an oracle.
func run(ctx context.Context, store Store, op workload.Op) error {
	if op.Kind != workload.Find {
		triples, err := triplesOf(op)
		if err != nil {
			return err
		}
		_, err = store.Change(ctx, op.Kind == workload.Add, triples)
		return err
	}
	return steps(op.Search, func(s workload.Search) ([]workload.Statement, error) {
		rows, err := ask(ctx, s)
		if err != nil {
			return nil, err
		}
		return collect(rows(store))
	})
}

// Verify checks what a store holds after a measurement that followed d.Load, and its
// answers to some searches.
func (d *Driver) Verify(ctx context.Context, store Store, app workload.Application, m Measured, searches int) error {
	// 1. The oracle learns what the clients did.
	for client, left := range m.operations {
		for op := range app.Ops(client, len(m.operations)) {
			if left--; left < 0 {
				break
			}
			if op.Kind == workload.Find {
				continue
			}
			c, err := d.Oracle.Begin(op)
			if err != nil {
				return err
			}
			if err := d.Oracle.End(c, workload.Done); err != nil {
				return err
			}
		}
	}

	// 2. All contents, and searches.
	if err := d.End(ctx, store); err != nil {
		return err
	}
	for op := range app.Ops(0, 1) {
		if op.Kind != workload.Find {
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
