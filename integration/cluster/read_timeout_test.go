// How long each kind of read waits for machines that do not answer.

package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/readtimeout"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/textsearch"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// answers is what reads of each kind need.
type answers struct {
	*library
	web  *web
	all  []triple.Triple
	url  string // of a page with links
	page uid.UID
	from feed.Position
}

// reads returns the kinds of reads, through a machine.
func (a *answers) reads(m *machine) map[string]func(context.Context) error {
	reader := func(do func(context.Context, store.Reader) error) func(context.Context) error {
		return func(ctx context.Context) error {
			r, err := m.node.Reader()
			if err != nil {
				return err
			}
			return errors.Join(do(ctx, r), r.Close())
		}
	}
	changes := func(r feed.Request) func(context.Context) error {
		return func(ctx context.Context) error {
			for _, err := range m.node.Feed().Changes(ctx, r) {
				if err != nil || r.Follow {
					return err
				}
			}
			return nil
		}
	}
	graph, index := a.web.graphs[m], a.indexes[m]
	return map[string]func(context.Context) error{
		"range": reader(func(ctx context.Context, r store.Reader) error {
			for _, err := range r.Range(ctx, triple.Bounds{Order: triple.POS}, store.ReadOptions{}) {
				if err != nil {
					return err
				}
			}
			return nil
		}),
		"point": reader(func(ctx context.Context, r store.Reader) error {
			for _, one := range a.all[:20] {
				if _, err := r.Count(ctx, triple.Pattern{Subject: one.Subject, Predicate: one.Predicate, Object: one.Object}); err != nil {
					return err
				}
			}
			return nil
		}),
		"count": reader(func(ctx context.Context, r store.Reader) error {
			_, err := r.Count(ctx, triple.Pattern{})
			return err
		}),
		"estimate": reader(func(ctx context.Context, r store.Reader) error {
			_, _, err := r.Estimate(ctx, triple.Pattern{})
			return err
		}),
		"annotation": reader(func(ctx context.Context, r store.Reader) error {
			_, err := r.Annotation(ctx, a.all[0], "a")
			return err
		}),
		"search": func(ctx context.Context) error {
			s, err := index.Search(ctx, textsearch.Request{Query: "graph"})
			if err == nil {
				_, err = s.Next(ctx, 5)
			}
			return err
		},
		"page": func(ctx context.Context) error {
			_, err := graph.UIDs(ctx, []string{a.url})
			return err
		},
		"links": func(ctx context.Context) error {
			_, err := graph.Links(ctx, links.Forward, []uid.UID{a.page})
			return err
		},
		"epoch of the links": func(ctx context.Context) error {
			_, err := graph.CurrentEpoch(ctx, 0)
			return err
		},
		"end of the feed": func(ctx context.Context) error {
			_, err := m.node.ReadPosition(ctx)
			return err
		},
		"feed":                changes(feed.Request{Since: a.from, ForClient: true}),
		"beginning of a feed": changes(feed.Request{Since: a.from, ForClient: true, Follow: true, Heartbeat: time.Minute}),
	}
}

// TestReadTimeout makes machines silent in several ways, and begins reads of each kind from the first moment on. Each must be
// answered, or be 503 with Retry-After, soon after readtimeout.Idle: a question that is under way then may take
// readtimeout.Step longer.
func TestReadTimeout(t *testing.T) {
	const margin = 2 * readtimeout.Step
	for name, fault := range map[string]func(w *world, list []*machine) (asked []*machine){
		"one is suspended":        func(w *world, l []*machine) []*machine { w.net.Freeze(l[2].name); return l[:2] },
		"the leader is suspended": func(w *world, l []*machine) []*machine { w.net.Freeze(l[0].name); return l[1:] },
		"one is cut off":          func(w *world, l []*machine) []*machine { w.net.Isolate(l[2].name); return l },
		"two are suspended": func(w *world, l []*machine) []*machine {
			w.net.Freeze(l[1].name)
			w.net.Freeze(l[2].name)
			return l[:1]
		},
		"two do not reach another": func(w *world, l []*machine) []*machine { w.net.Cut(l[1].name, l[2].name); return l },
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, 3, func(t *testing.T, w *world) {
				a := &answers{library: newLibrary(w), web: newWeb(w), url: "http://www.example.org/page"}
				// 1. A cluster with data of each kind.
				w.form()
				var err error
				if a.from, err = w.any().node.ReadPosition(t.Context()); err != nil {
					t.Fatal(err)
				}
				a.all = w.spread()
				a.open()
				defer a.end()
				a.web.open()
				defer a.web.end()
				require.NoError(t, a.indexes[w.any()].Add(t.Context(), labelPredicate))
				a.change()
				if _, err := a.web.some().Update(t.Context(), []links.Change{{Source: a.url, Targets: []string{a.url + "/2", a.url + "/3"}}}); err != nil {
					t.Fatal(err)
				}
				w.settle()
				a.await()
				a.web.copied()
				uids, err := a.web.some().UIDs(t.Context(), []string{a.url})
				require.NoError(t, err)
				a.page = uids[0]
				for _, m := range w.up() {
					for kind, read := range a.reads(m) {
						w.until(kind+" is answered", func() bool { return read(t.Context()) == nil })
					}
				}
				// 2. The fault, and reads until long after it.
				leader := w.leader()
				asked := fault(w, append([]*machine{leader}, w.others(leader)...))
				defer w.net.Heal()
				begun := time.Now()
				done := make(chan func(), 1000)
				running := 0
				for time.Since(begun) < 3*readtimeout.Idle {
					for _, m := range asked {
						for kind, read := range a.reads(m) {
							running++
							go func() {
								at := time.Now()
								err := read(t.Context())
								took := time.Since(at)
								done <- func() { a.checkRead(kind, m, at.Sub(begun), took, margin, err) }
							}()
						}
					}
					sleep(t.Context(), 700*time.Millisecond)
				}
				for range running {
					(<-done)()
				}
				for _, m := range w.machines {
					w.net.Thaw(m.name)
				}
			})
		})
	}
}

// checkRead checks the end of a read.
func (a *answers) checkRead(kind string, m *machine, at, took, margin time.Duration, err error) {
	a.t.Helper()
	if took > readtimeout.Idle+margin {
		a.t.Errorf("%s through %s, %s after the fault, took %s: %v", kind, m.name, at, took, err)
	}
	if err == nil {
		return
	}
	var refusal *peer.Refusal
	if e := problem.Ended(a.t.Context(), problem.As(err)); (e.Status() != 503 || e.RetryAfter == 0) && !errors.As(err, &refusal) {
		a.t.Errorf("%s through %s, %s after the fault: %d %s, retry after %d s: %v", kind, m.name, at, e.Status(), e.Kind, e.RetryAfter, err)
	}
}
