// Tests of replacements at the machine that serializes them.

package updates

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/epochs"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linklists"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// fakeStore is a cluster of one or two machines with the links of pages. It records its calls.
type fakeStore struct {
	ownership.Store // nil: methods without a fake must not be called
	self            trie.MachineID
	view            *view.View
	changed         chan struct{}
	may             []error // results of MayAnswer in turn, then nil
	settled         error   // of Settled
	failed          error   // of Add
	call            func(ctx context.Context, body []byte) ([]byte, error)

	mu    sync.Mutex
	links map[string]triple.Triple // by key
	log   []string
}

func (s *fakeStore) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
}

func (s *fakeStore) MachineID() trie.MachineID { return s.self }

func (s *fakeStore) NoMajority() bool { return false }

func (s *fakeStore) View() *view.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view
}

func (s *fakeStore) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// adopt adopts another view.
func (s *fakeStore) adopt(v *view.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view = v
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *fakeStore) Call(ctx context.Context, _ trie.MachineID, _ string, body []byte) ([]byte, error) {
	s.note("call")
	return s.call(ctx, body)
}

func (s *fakeStore) Settled(_ context.Context, epoch uint64) (uint64, error) {
	s.note("settled")
	return epoch, s.settled
}

func (s *fakeStore) MayAnswer(uint64) (err error) {
	s.note("may")
	if len(s.may) > 0 {
		err, s.may = s.may[0], s.may[1:]
	}
	return err
}

func (s *fakeStore) Add(ctx context.Context, triples []triple.Triple) (r store.AddResult, err error) {
	s.note("add")
	time.Sleep(time.Second) // of virtual time
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil || ctx.Err() != nil {
		return r, errors.Join(s.failed, ctx.Err())
	}
	for _, t := range triples {
		key, _ := triple.AppendKey(nil, triple.SPO, t)
		if _, there := s.links[string(key)]; !there {
			r.Added++
		}
		s.links[string(key)] = t
	}
	return r, nil
}

func (s *fakeStore) Delete(_ context.Context, triples []triple.Triple) (r store.DeleteResult, err error) {
	s.note("delete")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range triples {
		key, _ := triple.AppendKey(nil, triple.SPO, t)
		if _, there := s.links[string(key)]; there {
			r.Deleted++
		}
		delete(s.links, string(key))
	}
	return r, nil
}

func (s *fakeStore) Reader() (store.Reader, error) { return fakeSnapshot{s: s}, nil }

// list returns the targets of a page.
func (s *fakeStore) list(page string) (list []string) {
	for _, key := range slices.Sorted(maps.Keys(s.links)) {
		if t := s.links[key]; t.Subject.Value() == page {
			list = append(list, t.Object.Value())
		}
	}
	return list
}

// fakeSnapshot reads a fakeStore as it is.
type fakeSnapshot struct {
	store.Reader
	s *fakeStore
}

func (s fakeSnapshot) Source() sparql.Source { return fakeSource{s: s.s} }

func (s fakeSnapshot) Close() error { return nil }

type fakeSource struct {
	sparql.Source
	s *fakeStore
}

func (s fakeSource) Lookup(_ context.Context, ranges []triple.Range, each func(i int, key, value []byte) error) error {
	s.s.note("read")
	s.s.mu.Lock()
	defer s.s.mu.Unlock()
	for i, r := range ranges {
		for _, key := range slices.Sorted(maps.Keys(s.s.links)) {
			if key < string(r.Lo) || key >= string(r.Hi) {
				continue
			}
			if err := each(i, []byte(key), triple.AppendValue(nil, triple.Stamp{Epoch: 1, Sequence: 1}, s.s.links[key])); err != nil {
				return err
			}
		}
	}
	return nil
}

// newFake returns the graph of a store with two links of the page a:, which the machine 1
// reads. self is its own machine.
func newFake(t *testing.T, self trie.MachineID) (*Updater, *fakeStore) {
	t.Helper()
	p, err := trie.NewPlacement([]trie.MachineID{1}, trie.PlacementOptions{Partitions: 8})
	if err != nil {
		t.Fatal(err)
	}
	layout := recovery.Layout{Trie: trie.New(1, trie.HashPartition(1, 8)), Placement: p}
	s := &fakeStore{self: self, changed: make(chan struct{}), links: map[string]triple.Triple{},
		view: view.First("test", "id", view.Member{ID: 1, Incarnation: 1, Address: "a:1", State: view.Up}, layout, 1)}
	keys, err := linkkeys.NewKeys(links.DefaultPredicate)
	if err != nil {
		t.Fatal(err)
	}
	r := rowreader.New(t.Context(), ownership.New(s, 0, nil), keys)
	uids := assign.New(r, 1<<20)
	g := New(r, uids, linklists.New(r, uids, nil, nil), epochs.New(r))
	for _, target := range []string{"b:", "c:"} {
		link := links.Link(keys.Predicate, "a:", target)
		key, _ := triple.AppendKey(nil, triple.SPO, link)
		s.links[string(key)] = link
	}
	return g, s
}

func replaceBy(targets ...string) []links.Change {
	return []links.Change{{Kind: links.ReplaceLinks, Source: "a:", Targets: targets}}
}

// TestReplaceHere checks that a machine replaces a list under the view of the request, when
// everything from before is committed, and checks the view after each step.
func TestReplaceHere(t *testing.T) {
	gone := &peer.Refusal{Code: peer.CodeEpoch}
	for _, c := range []struct {
		name    string
		set     func(g *Updater, s *fakeStore)
		epoch   uint64 // beside that of the view
		log     string
		list    string
		done    replaced
		refusal peer.Code // "" is none
		err     error     // nil is none
	}{
		{name: "all is well", log: "settled read may may delete may add may", list: "c: d:", done: replaced{added: 1, deleted: 1}},
		{name: "settled before", set: func(g *Updater, s *fakeStore) { g.uids.Committed.Store(s.view.Epoch) },
			log: "read may may delete may add may", list: "c: d:", done: replaced{added: 1, deleted: 1}},
		{name: "another epoch", epoch: 1, list: "b: c:", refusal: peer.CodeEpoch},
		{name: "another machine", set: func(_ *Updater, s *fakeStore) { s.self = 2 }, list: "b: c:", refusal: peer.CodeNotOwner},
		{name: "not settled", set: func(_ *Updater, s *fakeStore) { s.settled = store.ErrUnavailable }, log: "settled", list: "b: c:", refusal: peer.CodeUnavailable},
		{name: "no lease when it was read", set: func(_ *Updater, s *fakeStore) { s.may = []error{gone} }, log: "settled read may", list: "b: c:", refusal: peer.CodeEpoch},
		{name: "another view after deletes", set: func(_ *Updater, s *fakeStore) { s.may = []error{nil, nil, gone} },
			log: "settled read may may delete may", list: "c:", done: replaced{deleted: 1, unsure: true}},
		{name: "another view when all is written", set: func(_ *Updater, s *fakeStore) { s.may = []error{nil, nil, nil, gone} },
			log: "settled read may may delete may add may", list: "c: d:", done: replaced{added: 1, deleted: 1, unsure: true}},
		{name: "a write fails", set: func(_ *Updater, s *fakeStore) { s.failed = store.ErrDiskFull },
			log: "settled read may may delete may add", list: "c:", done: replaced{deleted: 1}, err: store.ErrDiskFull},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, s := newFake(t, 1)
			if c.set != nil {
				c.set(g, s)
			}
			done, err := g.replaceLocal(t.Context(), s.view.Epoch+c.epoch, replaceBy("c:", "d:"))
			var refusal *peer.Refusal
			if c.refusal != "" && (!errors.As(err, &refusal) || refusal.Code != c.refusal) || c.refusal == "" && !errors.Is(err, c.err) {
				t.Errorf("%s: %v", c.name, err)
			}
			if log, list := strings.Join(s.log, " "), strings.Join(s.list("a:"), " "); log != c.log || list != c.list || done != c.done {
				t.Errorf("%s: %q leaves %s, %+v; want %q, %s, %+v", c.name, log, list, done, c.log, c.list, c.done)
			}
			if len(g.turns.pages.held) > 0 {
				t.Errorf("%s: a page is locked for good", c.name)
			}
		})
	}
}

// TestReplaceInTurn checks that replacements of one list wait for each other, and read it
// afterwards. If a call gives up while it waits, it must do nothing. What is begun must be
// finished.
func TestReplaceInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := newFake(t, 1)
		g.uids.Committed.Store(s.view.Epoch)
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for i, ctx := range []context.Context{ctx, t.Context(), ctx} {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond) // of virtual time
				_, err := g.replaceLocal(ctx, s.view.Epoch, replaceBy(fmt.Sprintf("x:%d", i)))
				if (err != nil) != (i == 2) || err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		cancel()
		all.Wait()
		if list := s.list("a:"); !slices.Equal(list, []string{"x:1"}) {
			t.Errorf("the list is %v: %v", list, s.log)
		}
	})
}

// TestReplaceTries checks that a refused or unsure part is retried, and that its work counts.
// If a part fails, it must not be retried.
func TestReplaceTries(t *testing.T) {
	busy := &peer.Refusal{Code: peer.CodeBusy}
	type answer struct {
		r   replaced
		err error
	}
	for _, c := range []struct {
		name    string
		answers []answer
		err     error
		result  links.UpdateResult
		rest    int
	}{
		{"at once", []answer{{replaced{1, 2, false}, nil}}, nil, links.UpdateResult{Added: 1, Deleted: 2}, 0},
		{"refused", []answer{{err: busy}, {err: busy}, {replaced{1, 2, false}, nil}}, nil, links.UpdateResult{Added: 1, Deleted: 2}, 0},
		{"unsure", []answer{{replaced{1, 2, true}, nil}, {replaced{0, 1, false}, nil}}, nil, links.UpdateResult{Added: 1, Deleted: 3}, 0},
		{"refused for ever", []answer{{err: busy}}, store.ErrUnavailable, links.UpdateResult{}, 0},
		{"unsure for ever", []answer{{replaced{0, 0, true}, nil}}, store.ErrUnknown, links.UpdateResult{}, 0},
		{"failed", []answer{{replaced{1, 0, false}, store.ErrDiskFull}}, store.ErrDiskFull, links.UpdateResult{Added: 1}, 0},
		{"panicked", []answer{{err: &peer.RemoteError{Message: "panic"}}}, store.ErrUnknown, links.UpdateResult{}, 0},
		{"broken off", []answer{{err: errors.New("broken off")}}, store.ErrUnknown, links.UpdateResult{}, 0},
		{"no graph of links", []answer{{err: &peer.Refusal{Code: peer.CodeMethod}}}, nil, links.UpdateResult{}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, s := newFake(t, 2)
			calls := 0
			s.call = func(_ context.Context, body []byte) ([]byte, error) {
				if _, changes, err := parseReplace(body); err != nil || !equalChanges(changes, replaceBy("b:")) {
					t.Errorf("%s: %v, %v", c.name, changes, err)
				}
				a := c.answers[min(calls, len(c.answers)-1)]
				calls++
				if a.err != nil && !errors.Is(a.err, store.ErrDiskFull) {
					return nil, a.err
				}
				return encodeReplaced(a.r, a.err), nil
			}
			var result links.UpdateResult
			beside := links.Change{Source: "z:", Targets: []string{"b:"}}
			rest, err := g.replace(t.Context(), append(replaceBy("b:"), beside), &result)
			if !errors.Is(err, c.err) || result != c.result || err == nil && len(rest) != 1+c.rest {
				t.Errorf("%s: %+v, %d are left, %v; want %+v, %v", c.name, result, len(rest), err, c.result, c.err)
			}
			if len(c.answers) > 1 && calls != len(c.answers) || calls > 200 {
				t.Errorf("%s: %d calls", c.name, calls)
			}
		})
	}
}

// TestReplaceGone checks that nobody waits for an excluded machine, and that its changes are
// made under the next view.
func TestReplaceGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := newFake(t, 1)
		g.uids.Committed.Store(100)
		next := s.view
		p, err := trie.NewPlacement([]trie.MachineID{7}, trie.PlacementOptions{Partitions: 8})
		if err != nil {
			t.Fatal(err)
		}
		layout := recovery.Layout{Trie: trie.New(1, trie.HashPartition(1, 8)), Placement: p}
		s.view = view.First("test", "id", view.Member{ID: 7, Incarnation: 1, Address: "b:1", State: view.Up}, layout, 1)
		s.call = func(ctx context.Context, _ []byte) ([]byte, error) {
			go func() {
				time.Sleep(time.Second) // of virtual time
				s.adopt(next)
			}()
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		var result links.UpdateResult
		begun := time.Now()
		_, err = g.replace(t.Context(), replaceBy("c:", "d:"), &result)
		if took := time.Since(begun); err != nil || took > 3*time.Second || !slices.Equal(s.list("a:"), []string{"c:", "d:"}) {
			t.Errorf("after %s: %v, %v, %v", took, s.list("a:"), s.log, err)
		}
	})
}
