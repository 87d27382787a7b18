// The workloads against one node over HTTP.

package drive_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/testing/drive"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/testing/serving"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
	"github.com/trefoildb/trefoil/triple"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves an empty store and returns a client of it.
func serve(t *testing.T) drive.Store {
	t.Helper()
	c, err := client.New(serving.Serve(t, storetest.Open(t), server.Options{}), client.Options{})
	require.NoError(t, err)
	storetest.CloseLater(t, c)
	return drive.OverHTTP{Client: c}
}

func applications(seed uint64) map[string]dataset.Application {
	return map[string]dataset.Application{
		"photos":  dataset.Photos{Seed: seed, Triples: 1000},
		"library": dataset.Library{Seed: seed, Triples: 1000},
	}
}

// A node gives the oracle's answers and numbers to one client, and to several at once.
func TestNode(t *testing.T) {
	const operations = 400
	seed := seed.Number(t)
	for name, app := range applications(seed) {
		for _, clients := range []int{1, 4} {
			t.Run(name+" "+strconv.Itoa(clients), func(t *testing.T) {
				t.Parallel()
				store, d := serve(t), &drive.Driver{Counts: true}
				require.NoError(t, d.Load(t.Context(), store, app))
				var group sync.WaitGroup
				for client := range clients {
					group.Go(func() {
						left := operations / clients
						for op := range app.Ops(client, clients) {
							if err := d.Do(t.Context(), store, op); err != nil {
								t.Errorf("client %d: %v", client, err)
								return
							}
							if left--; left == 0 {
								return
							}
						}
					})
				}
				group.Wait()
				if err := d.End(t.Context(), store); err != nil {
					t.Error(err)
				}
				if tally := d.Oracle.Tally(); tally.Checked < operations/2 || tally.Unknown+int64(tally.Doubtful) > 0 {
					t.Errorf("%+v", tally)
				}
			})
		}
	}
}

// faulty is a store that changes what another one answers or does.
type faulty struct {
	drive.Store
	rows   func([]triple.Triple) []triple.Triple
	forget func() bool // reports whether the next change is acknowledged and not done
}

func (f faulty) Change(ctx context.Context, add bool, triples []triple.Triple) (int64, error) {
	if f.forget != nil && f.forget() {
		return int64(len(triples)), nil
	}
	return f.Store.Change(ctx, add, triples)
}

func (f faulty) Match(ctx context.Context, p triple.Pattern) iter.Seq2[triple.Triple, error] {
	return f.changed(f.Store.Match(ctx, p))
}

func (f faulty) Range(ctx context.Context, b triple.Bounds, reverse bool, limit int) iter.Seq2[triple.Triple, error] {
	return f.changed(f.Store.Range(ctx, b, reverse, limit))
}

func (f faulty) changed(rows iter.Seq2[triple.Triple, error]) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		var all []triple.Triple
		for t, err := range rows {
			if err != nil {
				yield(t, err)
				return
			}
			all = append(all, t)
		}
		if f.rows != nil {
			all = f.rows(all)
		}
		for _, t := range all {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// Each kind of wrong answer is noticed.
func TestWrongAnswersAreNoticed(t *testing.T) {
	seed := seed.Number(t)
	random := rand.New(rand.NewPCG(seed, 1))
	stranger := triple.Triple{Subject: triple.NewIRI("http://e.x/s"), Predicate: triple.NewIRI("http://e.x/p"), Object: triple.NewString("o")}
	for want, f := range map[string]faulty{
		"is missing": {rows: func(all []triple.Triple) []triple.Triple {
			if len(all) > 1 && random.IntN(8) == 0 {
				at := random.IntN(len(all) - 1)
				return append(append([]triple.Triple{}, all[:at]...), all[at+1:]...)
			}
			return all
		}},
		"comes twice": {rows: func(all []triple.Triple) []triple.Triple {
			if len(all) > 1 && len(all) < 10 {
				return append(all, all[0])
			}
			return all
		}},
		"out of order": {rows: func(all []triple.Triple) []triple.Triple {
			if len(all) > 1 {
				all[0], all[1] = all[1], all[0]
			}
			return all
		}},
		"not asked for": {rows: func(all []triple.Triple) []triple.Triple {
			if len(all) > 0 {
				all[0] = stranger
			}
			return all
		}},
		"statements changed, not": {forget: func() bool { return random.IntN(20) == 0 }},
	} {
		t.Run(want, func(t *testing.T) {
			app := applications(seed)["library"]
			store, d := serve(t), &drive.Driver{Counts: want == "statements changed, not"}
			require.NoError(t, d.Load(t.Context(), store, app))
			f.Store = store
			left := 1000
			for op := range app.Ops(0, 1) {
				err := d.Do(t.Context(), f, op)
				if left--; errors.Is(err, drive.ErrWrong) {
					if !strings.Contains(err.Error(), want) && f.forget == nil {
						t.Errorf("noticed as %v", err)
					}
					return
				}
				if err != nil || left == 0 {
					t.Fatalf("not noticed: %v", err)
				}
			}
		})
	}
}

// What is measured is checked afterwards, and changes that were lost are noticed.
func TestMeasure(t *testing.T) {
	seed := seed.Number(t)
	for _, loses := range []bool{false, true} {
		app := applications(seed)["photos"]
		store, d := serve(t), new(drive.Driver)
		require.NoError(t, d.Load(t.Context(), store, app))
		changes := 0
		measured := faulty{Store: store, forget: func() bool { changes++; return loses }}
		m, err := drive.Measure(t.Context(), []drive.Store{measured}, app, 1, 300*time.Millisecond)
		if err != nil || m.Operations() == 0 || len(m.Took[dataset.Find]) == 0 || changes == 0 {
			t.Fatalf("%d operations, %d changes: %v", m.Operations(), changes, err)
		}
		if err := d.Verify(t.Context(), store, app, m, 50); errors.Is(err, drive.ErrWrong) != loses {
			t.Errorf("loses %t: %v", loses, err)
		}
	}
}
