// Tests of the graph of a node that joins a cluster.

package nodegraph

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// fake is a graph whose answers contain its name.
type fake struct {
	*linkstest.Graph
	calls  atomic.Int64
	closed atomic.Int64
	end    chan struct{} // Close waits for it if it is not nil
	err    error         // of Close

	mu   sync.Mutex
	then func() error // called by the next call of Stats
}

func (f *fake) Close() error {
	if f.end != nil {
		<-f.end
	}
	f.closed.Add(1)
	f.Fail(store.ErrClosed)
	return f.err
}

func (f *fake) Stats(ctx context.Context) (links.Stats, error) {
	f.calls.Add(1)
	f.mu.Lock()
	then := f.then
	f.then = nil
	f.mu.Unlock()
	if then != nil {
		if err := then(); err != nil {
			return links.Stats{}, err
		}
	}
	return f.Graph.Stats(ctx)
}

// Capabilities returns those of the plain graph and a PrefixReader.
func (f *fake) Capabilities() links.Capabilities {
	return links.Capabilities{Loader: f, Epoch: f, Prefix: f}
}

// LinksPrefix reads the lists that fit.
func (f *fake) LinksPrefix(ctx context.Context, d links.Direction, pages []uid.UID, most int) (links.Lists, error) {
	return f.Links(ctx, d, pages[:min(len(pages), most)])
}

// newGraph returns a graph of a page that links to one with the given name.
func newGraph(t *testing.T, name string) *fake {
	t.Helper()
	g := &fake{Graph: linkstest.New()}
	if _, err := g.Update(t.Context(), []links.Change{{Source: "http://example.org/", Targets: []string{"http://example.org/" + name}}}); err != nil {
		t.Fatal(err)
	}
	return g
}

// who returns the name of the graph that answers.
func who(t *testing.T, g links.Graph) string {
	t.Helper()
	uids, err := g.UIDs(t.Context(), []string{"http://example.org/"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := g.Links(t.Context(), links.Forward, uids)
	if err != nil {
		t.Fatal(err)
	}
	urls, err := g.URLs(t.Context(), list.Items)
	if err != nil || len(urls) != 1 {
		t.Fatal(urls, err)
	}
	return urls[0][len("http://example.org/"):]
}

// TestJoins checks that the lone graph answers until the node is a member. Then it must be
// closed once, in the background, even if the whole is closed too.
func TestJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alone, together := newGraph(t, "alone"), newGraph(t, "together")
		alone.end = make(chan struct{})
		alone.err = errors.New("not well")
		var member atomic.Bool
		g := New(alone, together, member.Load)
		if got := who(t, g); got != "alone" || g.Epoch() != alone.Epoch() || g.Epoch() == 0 {
			t.Errorf("%s answers, of epoch %d", got, g.Epoch())
		}
		member.Store(true)
		for range 3 {
			if got := who(t, g); got != "together" || g.Epoch() != 0 {
				t.Errorf("%s answers a member, of epoch %d", got, g.Epoch())
			}
		}
		closed := make(chan error)
		go func() { closed <- g.Close() }()
		synctest.Wait()
		select {
		case err := <-closed:
			t.Errorf("it is closed before its graph is: %v", err)
		default:
		}
		close(alone.end)
		if err := <-closed; err != alone.err || alone.closed.Load() != 1 {
			t.Errorf("closed %d times: %v", alone.closed.Load(), err)
		}
		if err := g.Close(); err != alone.err || alone.closed.Load() != 1 || together.closed.Load() != 0 {
			t.Errorf("closed %d and %d times: %v", alone.closed.Load(), together.closed.Load(), err)
		}
	})
}

// TestNeverAlone checks that the other graph answers if there is no lone one, member or not.
func TestNeverAlone(t *testing.T) {
	together := newGraph(t, "together")
	g := New(nil, together, func() bool { return false })
	if got := who(t, g); got != "together" || g.Epoch() != 0 {
		t.Errorf("%s answers, of epoch %d", got, g.Epoch())
	}
	if err := g.Close(); err != nil || together.closed.Load() != 0 {
		t.Error(err)
	}
}

// TestInTheMiddle checks that a call is repeated once if it failed because the node has become
// a member meanwhile, and that no other call is repeated.
func TestInTheMiddle(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		err    error
		member bool // from then on
		again  bool
	}{
		{fmt.Errorf("a: %w", store.ErrMember), true, true},
		{fmt.Errorf("a: %w", store.ErrClosed), true, true},
		{fmt.Errorf("a: %w", store.ErrClosed), false, false},
		{broken, true, false},
		{nil, true, false},
	} {
		alone, together := newGraph(t, "alone"), newGraph(t, "together")
		var member atomic.Bool
		g := New(alone, together, member.Load)
		alone.then = func() error {
			member.Store(c.member)
			return c.err
		}
		_, err := g.Stats(t.Context())
		if again := together.calls.Load() == 1; again != c.again || c.again && err != nil || !c.again && !errors.Is(err, c.err) {
			t.Errorf("%v, a member: %t: %v, asked again: %t", c.err, c.member, err, again)
		}
		together.then = func() error { return store.ErrClosed }
		if c.member {
			if _, err := g.Stats(t.Context()); !errors.Is(err, store.ErrClosed) || alone.calls.Load() != 1 {
				t.Errorf("a member that is closed: %v", err)
			}
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAllMethods calls every method of links.Graph of a graph that fails, alone and as a
// member: each must reach the right graph.
func TestAllMethods(t *testing.T) {
	broken := [2]error{errors.New("alone is broken"), errors.New("together is broken")}
	for i := range broken {
		alone, together := newGraph(t, "alone"), newGraph(t, "together")
		g := New(alone, together, func() bool { return i == 1 })
		alone.Fail(broken[0])
		together.Fail(broken[1])
		var all []string
		for _, of := range []reflect.Type{reflect.TypeFor[links.Graph](), reflect.TypeFor[links.Loader]()} {
			for n := range of.NumMethod() {
				if name := of.Method(n).Name; name != "Capabilities" {
					all = append(all, name)
				}
			}
		}
		for _, name := range all {
			method := reflect.ValueOf(g).MethodByName(name)
			in := []reflect.Value{reflect.ValueOf(t.Context())}
			for at := 1; at < method.Type().NumIn(); at++ {
				in = append(in, reflect.Zero(method.Type().In(at)))
			}
			out := method.Call(in)
			err, _ := out[len(out)-1].Interface().(error)
			if invalid := errors.Is(err, links.ErrInvalid); err != broken[i] && !invalid {
				t.Errorf("%s: %v, want %v", name, err, broken[i])
			}
		}
		if _, err := g.LinksPrefix(t.Context(), links.Forward, nil, 1); err != broken[i] {
			t.Errorf("LinksPrefix: %v", err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLinksPrefix calls a graph with bounded reads, and one without.
func TestLinksPrefix(t *testing.T) {
	alone := newGraph(t, "alone")
	pages, err := alone.Pages(t.Context(), 0, 10)
	if err != nil || len(pages) != 2 {
		t.Fatal(pages, err)
	}
	g := New(alone, nil, func() bool { return false })
	if l, err := g.LinksPrefix(t.Context(), links.Forward, pages, 1); err != nil || l.Len() != 1 {
		t.Errorf("%d lists, %v", l.Len(), err)
	}
	g = New(nil, alone.Graph, func() bool { return false })
	if l, err := g.LinksPrefix(t.Context(), links.Forward, pages, 1); err != nil || l.Len() != 0 {
		t.Errorf("%d lists of a graph that knows no bound, %v", l.Len(), err)
	}
}

// packing is a graph with packed lists.
type packing struct{ *fake }

func (p packing) Capabilities() links.Capabilities { return links.Capabilities{Packed: p} }

func (p packing) PackedPrefix(context.Context, links.Direction, []uid.UID, int) ([]int, rank.Lists[byte], error) {
	return []int{1}, rank.Lists[byte]{Items: []byte{7}, Ends: []int{1}}, nil
}

// TestPackedPrefix calls a graph with packed lists, and one without.
func TestPackedPrefix(t *testing.T) {
	member := false
	g := New(newGraph(t, "alone"), packing{newGraph(t, "together")}, func() bool { return member })
	if _, _, err := g.PackedPrefix(t.Context(), links.Forward, nil, 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("of a node alone: %v", err)
	}
	member = true
	lengths, lists, err := g.PackedPrefix(t.Context(), links.Forward, nil, 1)
	if err != nil || !slices.Equal(lengths, []int{1}) || string(lists.At(0)) != "\x07" {
		t.Errorf("%v, %v, %v", lengths, lists, err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// TestCallsWhileItJoins calls all the time while the node becomes a member. One of the two
// graphs must answer each call. If a call began later, the lone graph must not answer it.
func TestCallsWhileItJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alone, together := newGraph(t, "alone"), newGraph(t, "together")
		if _, err := together.Update(t.Context(), []links.Change{{Source: "http://example.org/more", Targets: []string{"http://example.org/"}}}); err != nil {
			t.Fatal(err)
		}
		var member atomic.Bool
		g := New(alone, together, member.Load)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for range 20 {
					time.Sleep(time.Duration(i+1) * time.Millisecond) // of virtual time
					before := member.Load()
					stats, err := g.Stats(t.Context())
					if err != nil || stats.Pages != 2 && stats.Pages != 3 {
						t.Errorf("%d pages, %v", stats.Pages, err)
					}
					if before && stats.Pages == 2 {
						t.Error("the graph alone answers a member")
					}
				}
			})
		}
		all.Go(func() {
			time.Sleep(25 * time.Millisecond)
			member.Store(true)
		})
		all.Wait()
		if err := g.Close(); err != nil || alone.closed.Load() != 1 || alone.calls.Load() == 0 || together.calls.Load() == 0 {
			t.Errorf("closed %d times, %d and %d calls, %v", alone.closed.Load(), alone.calls.Load(), together.calls.Load(), err)
		}
	})
}

// TestConformance checks that the graph of a node passes the conformance test, alone and as a
// member.
func TestConformance(t *testing.T) {
	for _, member := range []bool{false, true} {
		g := New(closable{linkstest.New()}, linkstest.New(), func() bool { return member })
		linkstest.TestGraph(t, g, nil)
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// closable is a plain graph of a lone node.
type closable struct{ *linkstest.Graph }

func (closable) Close() error { return nil }
