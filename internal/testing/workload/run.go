// The run of a workload.

package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/trefoildb/trefoil/internal/testing/history"
)

// ErrAborted says that nothing of a transaction was done, and never will be.
var ErrAborted = errors.New("aborted")

// Store runs transactions. It must be safe for concurrent use.
type Store interface {
	// Txn runs operations as one transaction, and returns them with their results. ops must not be changed.
	// If the error is ErrAborted, nothing was done. After any other one the outcome is unknown.
	Txn(ctx context.Context, ops []history.Op) ([]history.Op, error)
}

// Workload is a kind of transactions, with what must hold of them. It can be run once.
type Workload struct {
	Name string
	// setup returns the transactions that make all keys for a run of some transactions. Two
	// transactions that make a key at once would not conflict, because they replace nothing.
	setup func(txns int) [][]history.Op
	// next returns a transaction. It is safe for concurrent use; the source of randomness is the caller's.
	next func(r *rand.Rand) []history.Op
	// final returns the transactions that read all keys.
	final func() [][]history.Op
	// check returns the anomalies that history.Check does not find; may be nil.
	check func(h []history.Txn) []history.Anomaly
}

// Options are the size of a run.
type Options struct {
	Processes int
	Txns      int // of all processes
	Seed      uint64
}

// Result is the history of a run with its anomalies.
type Result struct {
	History []history.Txn
	Report  history.Report
}

// Run runs a workload. Processes use the stores in turn. The error is that of a transaction of the setup or of
// the end; others may fail.
func Run(ctx context.Context, stores []Store, w Workload, o Options) (Result, error) {
	var recorder history.Recorder
	for _, ops := range w.setup(o.Txns) {
		if err := runTxn(ctx, &recorder, stores[0], o.Processes, ops); err != nil {
			return Result{}, fmt.Errorf("set up %s: %w", w.Name, err)
		}
	}
	var processes sync.WaitGroup
	for p := range o.Processes {
		random := rand.New(rand.NewPCG(o.Seed, uint64(p)))
		processes.Go(func() {
			for i := p; i < o.Txns; i += o.Processes {
				// The history has the outcome, and a store that is down must not end the run.
				_ = runTxn(ctx, &recorder, stores[p%len(stores)], p, w.next(random))
			}
		})
	}
	processes.Wait()
	// Each store must have all in the end, because an append that nobody read shows less.
	for _, s := range stores {
		for _, ops := range w.final() {
			if err := runTxn(ctx, &recorder, s, o.Processes, ops); err != nil {
				return Result{}, fmt.Errorf("read all of %s: %w", w.Name, err)
			}
		}
	}
	return judge(recorder.History(), w)
}

// runTxn runs and records a transaction.
func runTxn(ctx context.Context, r *history.Recorder, s Store, process int, ops []history.Op) error {
	number := r.Begin(process, ops)
	results, err := s.Txn(ctx, ops)
	outcome := history.Committed
	switch {
	case errors.Is(err, ErrAborted):
		outcome = history.Aborted
	case err != nil:
		outcome = history.Unknown
	}
	r.End(number, outcome, results)
	return err
}

// judge checks a history as such, and by the workload's own rule.
func judge(h []history.Txn, w Workload) (Result, error) {
	report, err := history.Check(h)
	if err != nil {
		return Result{}, err
	}
	if w.check != nil {
		for _, a := range w.check(h) {
			report.Add(a)
		}
	}
	return Result{h, report}, nil
}
