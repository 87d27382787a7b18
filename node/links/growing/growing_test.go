package growing

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

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node"
)

// fake is a graph that tells its name by its answers.
type fake struct {
	*linkstest.Graph
	calls  atomic.Int64
	closed atomic.Int64
	end    chan struct{} // what Close waits for; nil is nothing
	err    error         // of Close

	mu   sync.Mutex
	then func() error // what the next call of Stats does
}

func (f *fake) Close() error {
	if f.end != nil {
		<-f.end
	}
	f.closed.Add(1)
	f.Fail(node.ErrClosed)
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

// LinksUpTo makes it a graph that reads as many lists as there is room for.
func (f *fake) LinksUpTo(ctx context.Context, d links.Direction, pages []uid.UID, most int) (links.Lists, error) {
	return f.Links(ctx, d, pages[:min(len(pages), most)])
}

// newGraph returns a graph of a page that links to one of a name.
func newGraph(t *testing.T, name string) *fake {
	t.Helper()
	g := &fake{Graph: linkstest.New()}
	if _, err := g.Update(t.Context(), []links.Change{{Source: "http://example.org/", Targets: []string{"http://example.org/" + name}}}); err != nil {
		t.Fatal(err)
	}
	return g
}

// who tells which graph answers.
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

// TestGrows: the graph alone answers until the node is a member, and is closed once then,
// beside, whether or not somebody closes the whole.
func TestGrows(t *testing.T) {
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

// TestNeverAlone: without a graph alone the other one answers, member or not.
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

// TestInTheMiddle: what fails since the node has become a member meanwhile is asked again,
// once; nothing else is.
func TestInTheMiddle(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		err    error
		member bool // from then on
		again  bool
	}{
		{fmt.Errorf("a: %w", node.ErrMember), true, true},
		{fmt.Errorf("a: %w", node.ErrClosed), true, true},
		{fmt.Errorf("a: %w", node.ErrClosed), false, false},
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
		together.then = func() error { return node.ErrClosed }
		if c.member {
			if _, err := g.Stats(t.Context()); !errors.Is(err, node.ErrClosed) || alone.calls.Load() != 1 {
				t.Errorf("a member that is closed: %v", err)
			}
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAllMethods calls every method of links.Graph of a graph that fails, alone and as a
// member: each is passed on to the right one.
func TestAllMethods(t *testing.T) {
	broken := [2]error{errors.New("alone is broken"), errors.New("together is broken")}
	for i := range broken {
		alone, together := newGraph(t, "alone"), newGraph(t, "together")
		g := New(alone, together, func() bool { return i == 1 })
		alone.Fail(broken[0])
		together.Fail(broken[1])
		all := reflect.TypeFor[links.Graph]()
		for n := range all.NumMethod() {
			method := reflect.ValueOf(g).MethodByName(all.Method(n).Name)
			in := []reflect.Value{reflect.ValueOf(t.Context())}
			for at := 1; at < method.Type().NumIn(); at++ {
				in = append(in, reflect.Zero(method.Type().In(at)))
			}
			out := method.Call(in)
			err, _ := out[len(out)-1].Interface().(error)
			if invalid := errors.Is(err, links.ErrInvalid); err != broken[i] && !invalid {
				t.Errorf("%s: %v, want %v", all.Method(n).Name, err, broken[i])
			}
		}
		if _, err := g.LinksUpTo(t.Context(), links.Forward, nil, 1); err != broken[i] {
			t.Errorf("LinksUpTo: %v", err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLinksUpTo asks a graph that can bound what it reads, and one that cannot.
func TestLinksUpTo(t *testing.T) {
	alone := newGraph(t, "alone")
	pages, err := alone.Pages(t.Context(), 0, 10)
	if err != nil || len(pages) != 2 {
		t.Fatal(pages, err)
	}
	g := New(alone, nil, func() bool { return false })
	if l, err := g.LinksUpTo(t.Context(), links.Forward, pages, 1); err != nil || l.Len() != 1 {
		t.Errorf("%d lists, %v", l.Len(), err)
	}
	g = New(nil, alone.Graph, func() bool { return false })
	if l, err := g.LinksUpTo(t.Context(), links.Forward, pages, 1); err != nil || l.Len() != 0 {
		t.Errorf("%d lists of a graph that knows no bound, %v", l.Len(), err)
	}
}

// packing is a graph that has lists packed.
type packing struct{ *fake }

func (p packing) PackedUpTo(context.Context, links.Direction, []uid.UID, int) ([]int, rank.Lists[byte], error) {
	return []int{1}, rank.Lists[byte]{Items: []byte{7}, Ends: []int{1}}, nil
}

// TestPackedUpTo asks a graph that has lists packed, and one that has not.
func TestPackedUpTo(t *testing.T) {
	member := false
	g := New(newGraph(t, "alone"), packing{newGraph(t, "together")}, func() bool { return member })
	if _, _, err := g.PackedUpTo(t.Context(), links.Forward, nil, 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("of a node alone: %v", err)
	}
	member = true
	lengths, lists, err := g.PackedUpTo(t.Context(), links.Forward, nil, 1)
	if err != nil || !slices.Equal(lengths, []int{1}) || string(lists.At(0)) != "\x07" {
		t.Errorf("%v, %v, %v", lengths, lists, err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// TestCallsWhileItGrows calls all the time while the node becomes a member: each call is
// answered by one of the two, and who began later never by the graph alone again.
func TestCallsWhileItGrows(t *testing.T) {
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
