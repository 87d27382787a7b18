// Update functions in a cluster: exactly once, while machines fail and move.

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/functions"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

const ex = "http://example.org/"

func exTriple(s, p, o string) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(ex + s), Predicate: triple.NewIRI(ex + p), Object: triple.NewIRI(ex + o)}
}

func wasm(t *testing.T, name string) []byte {
	t.Helper()
	module, err := os.ReadFile(filepath.Join("..", "..", "internal", "functions", "sandbox", "testdata", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// functionHosts runs the functions of a world's machines.
type functionHosts struct {
	*world
	services map[*machine]*functions.Service
}

// start starts the functions of a machine that runs.
func (h *functionHosts) start(m *machine) *functions.Service {
	s := functions.Open(functions.Options{Store: m.node, Feed: m.node.Feed(), Owns: m.node.Owns, Logger: h.log.With("machine", m.name)})
	h.services[m] = s
	return s
}

// stop ends the functions of a machine.
func (h *functionHosts) stop(m *machine) {
	if s := h.services[m]; s != nil {
		delete(h.services, m)
		s.Close()
	}
}

func (h *functionHosts) close() {
	for m := range h.services {
		h.stop(m)
	}
}

// put registers the counter and the inverse property.
func (h *functionHosts) put(m *machine) {
	h.t.Helper()
	for name, r := range map[string]functions.Registration{
		"counter": {Pattern: "? <" + ex + "likes> ?", Arguments: []string{"<" + ex + "counter> <" + ex + "value> ?"}},
		"inverse": {Pattern: "? <" + ex + "parentOf> ?"},
	} {
		r.Name, r.Kinds, r.Retries, r.TimeoutMS = name, []string{"add", "delete"}, 10, 10_000
		h.must("register "+name, func(ctx context.Context) error {
			_, err := h.services[m].Put(ctx, r, wasm(h.t, name))
			return err
		})
	}
}

// objects returns the objects of a predicate.
func (w *world) objects(p triple.Pattern) (all []string) {
	w.t.Helper()
	w.must("read", func(ctx context.Context) error {
		all = nil
		r, err := w.any().node.Reader()
		if err != nil {
			return err
		}
		defer r.Close()
		for row, err := range r.Match(ctx, p, store.ReadOptions{}) {
			if err != nil {
				return err
			}
			t, err := row.Triple()
			if err != nil {
				return err
			}
			all = append(all, t.Subject.Value()+" "+t.Object.Value())
		}
		return nil
	})
	slices.Sort(all)
	return all
}

// mustAgree waits until the counter is the number of likes, and childOf the inverse of parentOf. It
// reports whether they are: a function that has missed changes, and has recorded it, is excused.
func (h *functionHosts) mustAgree() (agree bool) {
	h.t.Helper()
	var counter, want, inverse, parents []string
	defer func() {
		if h.t.Failed() {
			h.t.Logf("counter %v, want %v; %d inverse triples, %d parents", counter, want, len(inverse), len(parents))
			for m, s := range h.services {
				list, err := s.List(h.t.Context())
				for _, f := range list {
					h.t.Logf("%s: %+v %+v %+v %v", m.name, f, f.State, f.State.Last, err)
				}
			}
		}
	}()
	h.until("the effects are complete", func() bool {
		time.Sleep(time.Second) // of virtual time
		want = []string{fmt.Sprint(ex, "counter ", len(h.objects(triple.Pattern{Predicate: triple.NewIRI(ex + "likes")})))}
		counter = h.objects(triple.Pattern{Predicate: triple.NewIRI(ex + "value")})
		parents, inverse = nil, h.objects(triple.Pattern{Predicate: triple.NewIRI(ex + "childOf")})
		for _, parent := range h.objects(triple.Pattern{Predicate: triple.NewIRI(ex + "parentOf")}) {
			var p, c string
			fmt.Sscan(parent, &p, &c)
			parents = append(parents, c+" "+p)
		}
		slices.Sort(parents)
		agree = slices.Equal(counter, want) && slices.Equal(parents, inverse)
		return agree || h.missed()
	})
	return agree
}

// missed reports whether the feed did not reach back far enough for a function.
func (h *functionHosts) missed() (missed bool) {
	h.must("read the states", func(ctx context.Context) error {
		for _, s := range h.services {
			list, err := s.List(ctx)
			if err != nil {
				return err
			}
			for _, f := range list {
				last := f.State.Last
				missed = missed || f.State.Stopped || last != nil && strings.Contains(last.Message, "changes were missed")
			}
		}
		return nil
	})
	return missed
}

// changeSome adds and deletes triples through machines that run, until ctx ends. What is counted is
// added once: while places are rebuilt, a cluster may stamp an add that changes nothing, and the feed
// then has it.
func (h *functionHosts) changeSome(ctx context.Context, client int, random func(n int) int, through func() store.Triples) {
	for number := 0; ctx.Err() == nil; number++ {
		i := random(300)
		parent := []triple.Triple{exTriple(fmt.Sprint("p", i), "parentOf", fmt.Sprint("c", i))}
		to := through()
		if to == nil {
			return
		}
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		store.Add(limited, to, []triple.Triple{exTriple(fmt.Sprint("client", client), "likes", fmt.Sprint(number))}) //nolint:errcheck // it may be done or not
		if random(3) == 0 {
			store.Delete(limited, to, parent) //nolint:errcheck // likewise
		} else {
			store.Add(limited, to, parent) //nolint:errcheck // likewise
		}
		cancel()
		// Faults may last for minutes, so the pauses grow.
		time.Sleep(time.Duration(random(20+number)) * time.Millisecond)
	}
}

// TestFunctions: functions keep their promises on 1, 2 and 4 machines, from any machine.
func TestFunctions(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{1, 2, 4}) {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulate(t, machines, func(t *testing.T, w *world) {
				h := &functionHosts{w, map[*machine]*functions.Service{}}
				defer h.close()
				if machines == 1 {
					w.machines[0].run()
				} else {
					w.form()
				}
				for _, m := range w.machines {
					h.start(m)
				}
				h.put(w.any())
				ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
				defer stop()
				h.changeSome(ctx, 0, w.random.IntN, func() store.Triples { return w.any().node })
				if !h.mustAgree() {
					t.Fatal("a function missed changes, although nothing failed")
				}
				// A check holds on all members soon.
				w.must("register the check", func(ctx context.Context) error {
					_, err := h.services[w.any()].Put(ctx, functions.Registration{Name: "ages", Mode: functions.Check, Pattern: "? <" + ex + "age> ?", TimeoutMS: 10_000}, wasm(t, "schema"))
					return err
				})
				for _, m := range w.machines {
					w.until("the check holds", func() bool {
						_, err := store.Add(t.Context(), h.services[m].Checked(), []triple.Triple{exTriple("a", "age", m.name)})
						return errors.Is(err, store.ErrRejected)
					})
				}
				if machines == 1 {
					return // its store is in memory, and loads of a lone store need files
				}
				// A load is refused, because it would not be checked, unless it accepts that.
				for _, m := range w.machines {
					for _, unchecked := range []bool{false, true} {
						ctx := t.Context()
						if unchecked {
							ctx = functions.WithUnchecked(ctx)
						}
						old := fmt.Sprintf("<a:%s> <%sage> \"old\" .\n", m.name, ex)
						source := input.Document("load.nt", strings.NewReader(old), -1, syntax.Syntax(0))
						_, err := rdfload.Load(ctx, h.services[m].Checked().Sink(), []input.Source{source}, rdfload.Options{Memory: rdfload.MinMemory, Workers: 2})
						if unchecked && err != nil || !unchecked && !errors.Is(err, store.ErrRejected) {
							t.Errorf("load through %s, unchecked %t: %v", m.name, unchecked, err)
						}
					}
				}
				if n := len(h.objects(triple.Pattern{Object: triple.NewString("old")})); n != machines {
					t.Errorf("%d loaded ages, want %d", n, machines)
				}
			})
		})
	}
}

// TestFunctionOfLoads: a function that is registered for loads runs once for each triple of a load
// into a cluster.
func TestFunctionOfLoads(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		h := &functionHosts{w, map[*machine]*functions.Service{}}
		defer h.close()
		w.form()
		for _, m := range w.machines {
			h.start(m)
		}
		w.must("register", func(ctx context.Context) error {
			_, err := h.services[w.any()].Put(ctx, functions.Registration{Name: "counter", Pattern: "? <" + ex + "likes> ?", Loads: true, TimeoutMS: 10_000,
				Arguments: []string{"<" + ex + "counter> <" + ex + "value> ?"}}, wasm(t, "counter"))
			return err
		})
		var text []byte
		for i := range 300 {
			text = fmt.Appendf(text, "<%sa> <%slikes> <%s%d> .\n<%sa> <%sknows> <%s%d> .\n", ex, ex, ex, i, ex, ex, ex, i)
		}
		source := input.Document("load.nt", bytes.NewReader(text), -1, syntax.Syntax(0))
		if _, err := w.any().load(t.Context(), source, false); err != nil {
			t.Fatal(err)
		}
		var got []string
		w.until("the function has run for the load", func() bool {
			time.Sleep(time.Second) // of virtual time
			got = w.objects(triple.Pattern{Predicate: triple.NewIRI(ex + "value")})
			return slices.Equal(got, []string{ex + "counter 300"})
		})
	})
}

// TestSystemGraphIsProtected: through any member, clients cannot change the system graph, and a refused
// change changes nothing else. Deletes and clears of all graphs leave it.
func TestSystemGraphIsProtected(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		h := &functionHosts{w, map[*machine]*functions.Service{}}
		defer h.close()
		w.form()
		for _, m := range w.machines {
			h.start(m)
		}
		h.put(w.any())
		system, other := exTriple("s", "p", "o"), exTriple("other", "p", "o")
		system.Graph = systemgraph.Graph
		both := []triple.Triple{other, system}
		before := h.objects(triple.Pattern{Graph: systemgraph.Graph})
		for _, m := range w.machines {
			checked, ctx := h.services[m].Checked(), t.Context()
			for name, write := range map[string]func() error{
				"add":    func() error { _, err := store.Add(ctx, checked, both); return err },
				"delete": func() error { _, err := store.Delete(ctx, checked, both); return err },
				"delete graph": func() error {
					_, err := store.DeleteMatch(ctx, checked, triple.Pattern{Graph: systemgraph.Graph})
					return err
				},
				"annotate":  func() error { return store.Annotate(ctx, checked, system, "a", []byte{1}) },
				"apply":     func() error { _, err := store.Apply(ctx, checked, store.Steps{Add: slices.Values(both)}); return err },
				"clear all": func() error { _, err := store.Apply(ctx, checked, store.Steps{ClearAll: true}); return err },
				"update": func() error {
					_, err := store.Update(ctx, checked, func(store.Reader) (store.Steps, error) {
						return store.Steps{Add: slices.Values(both[:1]), ClearGraphs: []triple.Term{systemgraph.Graph}}, nil
					})
					return err
				},
			} {
				if err := write(); !errors.Is(err, systemgraph.ErrProtected) {
					t.Errorf("%s through %s: %v", name, m.name, err)
				}
			}
			w.must("add", func(ctx context.Context) error { _, err := store.Add(ctx, checked, both[:1]); return err })
			w.must("delete all", func(ctx context.Context) error {
				_, err := store.DeleteMatch(ctx, checked, triple.Pattern{Object: other.Object})
				return err
			})
			w.must("delete types", func(ctx context.Context) error {
				_, err := store.DeleteMatch(ctx, checked, triple.Pattern{Predicate: triple.NewIRI(triple.RDFType)})
				return err
			})
		}
		if after := h.objects(triple.Pattern{Graph: systemgraph.Graph}); len(after) != 3 || !slices.Equal(before, after) {
			t.Errorf("the system graph was %q and is %q", before, after)
		}
		if left := h.objects(triple.Pattern{Object: other.Object}); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}
