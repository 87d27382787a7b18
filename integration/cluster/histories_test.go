// Histories of transactions by SPARQL, and the isolation level that they prove.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server"
	txnhistory "github.com/trefoildb/trefoil/internal/testing/history"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/testing/workload"
)

// clientHost is the host of the clients. They are no machine of the cluster.
const clientHost = "10.1.0.1"

// serveHTTP serves a machine that runs, and returns a store of transactions behind it. end closes both.
func (w *world) serveHTTP(m *machine) (store *workload.SPARQL, end func()) {
	w.t.Helper()
	e, err := engine.New(m.node, engine.Options{})
	require.NoError(w.t, err)
	api, err := server.New(m.node, server.Options{Cluster: m.node, Engine: e})
	require.NoError(w.t, err)
	s, err := server.NewServer(api, server.ServerOptions{})
	require.NoError(w.t, err)
	address := m.name + ":7333"
	l, err := w.net.Host(m.name).Listen(w.t.Context(), address)
	require.NoError(w.t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, to string) (net.Conn, error) {
		return w.net.Host(clientHost).Dial(ctx, to)
	}}
	store, err = workload.Dial(m.name, "http://"+address, &http.Client{Transport: transport})
	require.NoError(w.t, err)
	return store, func() {
		require.NoError(w.t, errors.Join(store.Close(), s.Shutdown(w.t.Context()), <-served))
	}
}

// runHistory runs a workload of transactions through all members of a cluster, or on a node alone.
func runHistory(t *testing.T, members int, load workload.Workload, txns int) (result workload.Result) {
	t.Helper()
	simulate(t, members, func(t *testing.T, w *world) {
		if members == 1 {
			w.machines[0].run() // alone it is no member of a view
		} else {
			w.form()
		}
		var stores []workload.Store
		for _, m := range w.up() {
			store, end := w.serveHTTP(m)
			defer end()
			stores = append(stores, store)
		}
		var err error
		result, err = workload.Run(t.Context(), stores, load, workload.Options{Processes: 6, Txns: txns, Seed: w.seed})
		require.NoError(t, err)
	})
	return result
}

// On a node alone, and in a cluster without failures, each update and each query is of one moment, and updates run one
// after the other.
func TestHistories(t *testing.T) {
	seed.Slow(t)
	loads := []workload.Workload{workload.Bank(), workload.ListAppend(), workload.WriteSkew(), workload.LongFork(), workload.Counter()}
	for _, members := range []int{1, 3} {
		for _, load := range loads {
			t.Run(fmt.Sprintf("%d/%s", members, load.Name), func(t *testing.T) {
				result := runHistory(t, members, load, seed.Rounds(400, 5000))
				if v := result.Report.Violations(txnhistory.StrictSerializable); len(v) > 0 {
					t.Errorf("%d members break %s:\n%s", members, txnhistory.StrictSerializable, txnhistory.Describe(result.History, v))
				}
				// Without failures all transactions are committed, or little would be proved.
				for i, txn := range result.History {
					if txn.Outcome != txnhistory.Committed {
						t.Fatalf("T%d %s", i, txn)
					}
				}
				if !slices.ContainsFunc(result.History, overlaps(result.History)) {
					t.Error("no two transactions overlap")
				}
			})
		}
	}
}

// overlaps returns whether a transaction began while the one before it in the history ran.
func overlaps(h []txnhistory.Txn) func(txnhistory.Txn) bool {
	end := 0
	return func(t txnhistory.Txn) bool {
		defer func() { end = t.End }()
		return t.Begin < end
	}
}
