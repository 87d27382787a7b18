// Isolation of updates and reads: transfers between accounts, and a set that grows.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/oracle"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// What docs/GUARANTEES.md promises under "What holds" is checked here: on a node alone updates
// are atomic and a snapshot is one state; in a cluster each triple is linearizable, and
// the rest is right when all is quiet.

var balanceOf = triple.NewIRI("http://e.x/balance")

func balance(account int, amount int64) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("http://e.x/account%d", account)), Predicate: balanceOf,
		Object: triple.NewTyped(strconv.FormatInt(amount, 10), triple.XSDInteger)}
}

// balances reads all balances of a snapshot.
func balances(ctx context.Context, sn store.Reader) (map[int][]int64, error) {
	all := map[int][]int64{}
	for row, err := range sn.Match(ctx, triple.Pattern{Predicate: balanceOf}, store.ReadOptions{}) {
		if err != nil {
			return nil, err
		}
		t, err := row.Triple()
		if err != nil {
			return nil, err
		}
		account, err := strconv.Atoi(strings.TrimPrefix(t.Subject.Value(), "http://e.x/account"))
		if err != nil {
			return nil, err
		}
		amount, err := strconv.ParseInt(t.Object.Value(), 10, 64)
		if err != nil {
			return nil, err
		}
		all[account] = append(all[account], amount)
	}
	return all, nil
}

// transfer moves an amount between two accounts by one update.
func transfer(ctx context.Context, n *cluster.Node, from, to int, amount int64) error {
	_, err := store.Update(ctx, n, func(sn store.Reader) (store.Steps, error) {
		all, err := balances(ctx, sn)
		if err != nil {
			return store.Steps{}, err
		}
		if len(all[from]) != 1 || len(all[to]) != 1 {
			return store.Steps{}, fmt.Errorf("an update sees balances %v and %v", all[from], all[to])
		}
		return store.Steps{
			Delete: slices.Values([]triple.Triple{balance(from, all[from][0]), balance(to, all[to][0])}),
			Add:    slices.Values([]triple.Triple{balance(from, all[from][0]-amount), balance(to, all[to][0]+amount)}),
		}, nil
	})
	return err
}

// TestBankTransfers moves money through all nodes while all look. All states that are seen are right, the
// updates of all nodes see each other, and in the end all nodes agree on the right sum.
func TestBankTransfers(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{1, 3}) {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulate(t, machines, func(t *testing.T, w *world) {
				if machines == 1 {
					w.machines[0].run()
				} else {
					w.form()
				}
				for _, m := range w.up() {
					if got, want := m.node.Isolation(), map[bool]store.Isolation{true: store.IsolationSnapshot, false: store.IsolationTriple}[machines == 1]; got != want {
						t.Errorf("%s says %q, not %q", m.name, got, want)
					}
				}
				bank := oracle.Bank{Accounts: 6, Total: 600}
				for account := range bank.Accounts {
					w.mustAdd(w.any(), balance(account, 100))
				}
				first := w.random.IntN(machines)
				var tellers, auditors sync.WaitGroup
				for i := range 3 {
					through := w.machines[(first+i)%machines]
					random := rand.New(rand.NewPCG(w.random.Uint64(), 0))
					tellers.Go(func() {
						for range 25 {
							from, to := random.IntN(bank.Accounts), random.IntN(bank.Accounts-1)
							if to >= from {
								to++
							}
							if err := transfer(t.Context(), through.node, from, to, 1+random.Int64N(20)); err != nil {
								t.Errorf("transfer: %v", err)
								return
							}
						}
					})
				}
				ended := make(chan struct{})
				for _, m := range w.up() {
					auditors.Go(func() {
						for {
							select {
							case <-ended:
								return
							default:
							}
							all, err := look(t.Context(), m.node)
							if err != nil {
								t.Errorf("%s: %v", m.name, err)
								return
							}
							if err := bank.Check(all); err != nil {
								t.Errorf("%s shows a state that never was: %v", m.name, err)
								return
							}
						}
					})
				}
				tellers.Wait()
				close(ended)
				auditors.Wait()
				for _, m := range w.up() {
					all, err := look(t.Context(), m.node)
					if err == nil {
						err = bank.Check(all)
					}
					if err != nil {
						t.Errorf("%s, when all is quiet: %v", m.name, err)
					}
				}
			})
		})
	}
}

func look(ctx context.Context, n *cluster.Node) (map[int][]int64, error) {
	sn, err := n.Reader()
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	return balances(ctx, sn)
}

// TestGrowingSet adds elements under several subjects through all nodes while all of them
// are read: acknowledged ones are never missing, what was seen stays, and
// reads of one state each are of one order of states. This holds also if a machine is lost meanwhile.
func TestGrowingSet(t *testing.T) {
	for _, c := range seed.Choose(t, []struct {
		machines int
		loss     bool
	}{{1, false}, {3, false}, {4, true}}) {
		machines := c.machines
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulate(t, machines, func(t *testing.T, w *world) {
				if machines == 1 {
					w.machines[0].run()
				} else {
					w.form()
				}
				history := new(oracle.GrowingSet)
				lost := w.any()
				var nodes []*cluster.Node
				for _, m := range w.up() {
					if m != lost || !c.loss {
						nodes = append(nodes, m.node)
					}
				}
				var writers, readers sync.WaitGroup
				for i := range 4 {
					n := nodes[i%len(nodes)]
					writers.Go(func() {
						for j := range 30 {
							element := fmt.Sprintf("http://e.x/element%d-%d", i, j)
							history.Invoke(element)
							_, err := store.Add(t.Context(), n, []triple.Triple{member(element)})
							switch {
							case err == nil:
								history.Acknowledge(element)
							case machines == 1 || !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrUnavailable):
								t.Errorf("add: %v", err)
								return
							}
						}
					})
				}
				ended := make(chan struct{})
				var states, reads atomic.Int64
				for _, n := range nodes {
					readers.Go(func() {
						for range 60 {
							select {
							case <-ended:
								return
							default:
							}
							began := history.Begin()
							seen, state, err := members(t.Context(), n)
							if err == nil {
								history.Read(began, seen, state)
								reads.Add(1)
								if state {
									states.Add(1)
								}
							} else if machines == 1 || !errors.Is(err, store.ErrUnavailable) {
								t.Errorf("read: %v", err)
							}
						}
					})
				}
				if c.loss {
					lost.kill()
				}
				writers.Wait()
				close(ended)
				readers.Wait()
				if c.loss {
					w.settle()
				}
				for _, n := range nodes {
					began := history.Begin()
					seen, state, err := members(t.Context(), n)
					if err != nil || !state {
						t.Fatalf("of one state: %t, %v", state, err)
					}
					history.Read(began, seen, state)
				}
				if err := history.Check(); err != nil {
					t.Error(err)
				}
				if n := states.Load(); n < reads.Load() || n == 0 {
					t.Errorf("%d of %d reads were of one state", n, reads.Load())
				}
			})
		})
	}
}

var has = triple.NewIRI("http://e.x/has")

// member returns the triple of an element, whose subject, and so its place, follows from it.
func member(element string) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(element), Predicate: has, Object: triple.NewString("x")}
}

// members returns all elements, and whether they are those of one state.
func members(ctx context.Context, n *cluster.Node) (all []string, state bool, err error) {
	sn, _, err := n.StateReader()
	if err != nil {
		return nil, false, err
	}
	defer sn.Close()
	for row, err := range sn.Match(ctx, triple.Pattern{Predicate: has}, store.ReadOptions{}) {
		if err != nil {
			return nil, false, err
		}
		t, err := row.Triple()
		if err != nil {
			return nil, false, err
		}
		all = append(all, t.Subject.Value())
	}
	return all, sn.OneMoment(), nil
}
