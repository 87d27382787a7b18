// The workload of bank transfers.

package workload

import (
	"fmt"
	"math/rand/v2"

	"github.com/trefoildb/trefoil/internal/testing/history"
)

// WrongSum is a read of all accounts whose sum is not the bank's.
const WrongSum = "wrong-sum"

const (
	accounts = 6
	deposit  = 100 // of each account at the start
)

// Bank returns transfers between accounts, and reads of all accounts. Each read must have the same sum.
func Bank() Workload {
	var setup, audit []history.Op
	for account := range accounts {
		setup = append(setup, history.Op{Kind: history.Add, Key: account, Value: deposit})
		audit = append(audit, history.Op{Kind: history.Get, Key: account})
	}
	return Workload{
		Name: "bank", check: checkSums,
		setup: func(int) [][]history.Op { return [][]history.Op{setup} },
		final: func() [][]history.Op { return [][]history.Op{audit} },
		next: func(r *rand.Rand) []history.Op {
			if r.IntN(2) == 0 {
				return audit
			}
			pair := r.Perm(accounts)[:2]
			amount := 1 + r.IntN(20)
			return []history.Op{
				{Kind: history.Add, Key: pair[0], Value: -amount},
				{Kind: history.Add, Key: pair[1], Value: amount},
			}
		},
	}
}

// checkSums finds reads with a wrong sum. Torn ones have none. A read of no account at all is of the state
// before the setup, so that it is only too old.
func checkSums(h []history.Txn) (anomalies []history.Anomaly) {
	for i, t := range h {
		total, reads, empty := 0, 0, true
		for _, o := range t.Ops {
			if o.Kind == history.Get && o.Torn == "" {
				total += o.Value
				reads++
				empty = empty && o.Value == 0
			}
		}
		if t.Outcome != history.Committed || reads != accounts || total == accounts*deposit {
			continue
		}
		a := history.Anomaly{Name: WrongSum, Weakest: history.SnapshotIsolation, Txns: []int{i},
			Text: fmt.Sprintf("T%d read a sum of %d, and it is always %d", i, total, accounts*deposit)}
		if empty {
			a.Name, a.Weakest = StaleRead, history.StrongSnapshotIsolation
		}
		anomalies = append(anomalies, a)
	}
	return anomalies
}
