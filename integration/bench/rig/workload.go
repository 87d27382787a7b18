// The photo site and the library: operations of applications, which an oracle checks.

package rig

import (
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/testing/drive"
)

const (
	// WorkloadClients is the number of clients of an application.
	WorkloadClients  = 8
	workloadSearches = 200 // that are judged in the end
)

// App is an application with its name in figures.
type App struct {
	Name string
	dataset.Application
}

// Apps returns the applications, with a number of triples to begin with.
func (r *Rig) Apps(triples int64) []App {
	return []App{
		{"photo site", dataset.Photos{Seed: r.Seed, Triples: triples}},
		{"library", dataset.Library{Seed: r.Seed, Triples: triples}},
	}
}

// Operate loads the data of an application, waits until the store has settled and measures the
// operations of clients. They are spread over the servers at the given URLs. In the end an
// oracle checks the contents of the store and some answers.
func (a App) Operate(ctx context.Context, urls []string, waitIdle func() error, duration time.Duration) (m drive.Measured, err error) {
	// 1. One client for each server.
	var stores []drive.Store
	for _, url := range urls {
		c, err := client.New(url, client.Options{})
		if err != nil {
			return m, err
		}
		defer c.Close()
		stores = append(stores, drive.OverHTTP{Client: c})
	}

	// 2. The data. It must have settled, because splits of segments would be measured too.
	d := new(drive.Driver)
	if err := d.Load(ctx, stores[0], a); err != nil {
		return m, err
	}
	if err := waitIdle(); err != nil {
		return m, err
	}

	// 3. The operations, and the judgement of their results.
	if m, err = drive.Measure(ctx, stores, a, WorkloadClients, duration); err != nil {
		return m, err
	}
	return m, d.Verify(ctx, stores[len(stores)-1], a, m, workloadSearches)
}

// EachKind calls f with the times of each kind of operation.
func EachKind(m drive.Measured, f func(kind string, took Times)) {
	for _, kind := range []dataset.Kind{dataset.Find, dataset.Add, dataset.Delete} {
		f(fmt.Sprint(kind), Times(m.Took[kind]))
	}
}
