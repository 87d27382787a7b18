// Tests of messages about replaced lists, and of retries.

package updates

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

func equalChanges(a, b []links.Change) bool {
	return slices.EqualFunc(a, b, func(a, b links.Change) bool {
		return a.Kind == b.Kind && a.Source == b.Source && slices.Equal(a.Targets, b.Targets) &&
			(a.Labels == nil) == (b.Labels == nil) && slices.Equal(a.Labels, b.Labels)
	})
}

// TestReplaceMessage pins the bytes of a request.
func TestReplaceMessage(t *testing.T) {
	changes := []links.Change{
		{Kind: links.ReplaceLinks, Source: "a:b", Targets: []string{"c:", "d:e"}, Labels: []links.Label{{Weight: 1, Anchor: "x"}, cell.NoLabel}},
		{Kind: links.DeleteLinks, Source: "f:", Targets: []string{"g:"}},
		{Kind: links.ReplaceLinks, Source: "h:"},
	}
	const want = "ac02" + "03" +
		"02" + "03613a62" + "02" + "02633a" + "03643a65" + "01"
	got := encodeReplace(300, changes)
	if !strings.HasPrefix(hex.EncodeToString(got), want) || !strings.HasSuffix(hex.EncodeToString(got), "00"+"01"+"02663a"+"01"+"02673a"+"00"+"02"+"02683a"+"00"+"00") {
		t.Errorf("% x", got)
	}
	epoch, back, err := parseReplace(got)
	if err != nil || epoch != 300 || !equalChanges(back, changes) {
		t.Errorf("epoch %d, %+v, %v", epoch, back, err)
	}
}

// TestReplaceMessages sends random changes. They must arrive unchanged, in order, in messages
// of bounded size. If a message is cut off or too long, it must be rejected.
func TestReplaceMessages(t *testing.T) {
	random := seeded(t)
	for range 20 {
		var changes []links.Change
		for range random.IntN(30) {
			c := links.Change{Kind: links.ChangeKind(random.IntN(3)), Source: "http://example.org/" + strings.Repeat("s", random.IntN(300)), Targets: []string{}}
			labelled := c.Kind != links.DeleteLinks && random.IntN(2) == 0
			for range random.IntN(5) {
				c.Targets = append(c.Targets, "http://example.org/"+strings.Repeat("t", random.IntN(100_000)))
				if label := cell.NoLabel; labelled {
					if random.IntN(3) > 0 {
						label = links.Label{Weight: float64(random.IntN(3)) / 2, Anchor: strings.Repeat("a", random.IntN(100_000))}
					}
					c.Labels = append(c.Labels, label)
				}
			}
			if isLong(&c) {
				t.Fatalf("%d bytes are long", changeBytes(&c))
			}
			changes = append(changes, c)
		}
		var back []links.Change
		for rest := changes; len(rest) > 0; {
			n := messageChanges(rest)
			message := encodeReplace(7, rest[:n])
			if len(message) > replaceBytes {
				t.Fatalf("a message of %d bytes", len(message))
			}
			size := replaceHead
			for i := range rest[:min(n+1, len(rest))] {
				size += changeBytes(&rest[i])
			}
			if n < len(rest) && size <= replaceBytes {
				t.Fatalf("%d changes of %d bytes are not sent together", n+1, size)
			}
			_, some, err := parseReplace(message)
			if err != nil {
				t.Fatal(err)
			}
			back, rest = append(back, some...), rest[n:]
			if _, _, err := parseReplace(message[:random.IntN(len(message))]); err == nil {
				t.Fatal("a message that is cut off is read")
			}
			if _, _, err := parseReplace(append(slices.Clip(message), 0)); err == nil {
				t.Fatal("a message that goes on is read")
			}
		}
		if !equalChanges(back, changes) {
			t.Fatalf("%d changes came as %d others", len(changes), len(back))
		}
	}
}

// TestReplaceRefused checks that an invalid message is rejected before it takes memory.
func TestReplaceRefused(t *testing.T) {
	change := func(c links.Change) []byte { return encodeReplace(1, []links.Change{c}) }
	many := links.Change{Source: "a:", Targets: slices.Repeat([]string{"b:"}, changedLinks)}
	if _, _, err := parseReplace(change(many)); err != nil {
		t.Errorf("%d links: %v", changedLinks, err)
	}
	both := encodeReplace(1, []links.Change{many, {Source: "a:", Targets: []string{"b:"}}})
	for name, body := range map[string][]byte{
		"no kind":                  change(links.Change{Kind: 3, Source: "a:"}),
		"no IRI":                   change(links.Change{Source: "a b"}),
		"a target that is no IRI":  change(links.Change{Source: "a:", Targets: []string{"<"}}),
		"deletes with labels":      change(links.Change{Kind: links.DeleteLinks, Source: "a:", Targets: []string{"b:"}, Labels: []links.Label{{Weight: 2}}}),
		"too many links":           change(links.Change{Source: "a:", Targets: slices.Repeat([]string{"b:"}, changedLinks+1)}),
		"too many links together":  both,
		"too many bytes":           make([]byte, replaceBytes+1),
		"a label that is no label": {1, 1, 0, 2, 'a', ':', 1, 2, 'b', ':', 1, 1, 9},
	} {
		if _, _, err := parseReplace(body); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

func TestIsLong(t *testing.T) {
	for _, c := range []struct {
		links, bytes int
		long         bool
	}{
		{0, 0, false}, {changedLinks, 10, false}, {changedLinks + 1, 1, true}, {4, replaceBytes / 5, false}, {5, replaceBytes / 5, true},
	} {
		one := links.Change{Source: "a:", Targets: slices.Repeat([]string{"b:" + strings.Repeat("x", c.bytes)}, c.links)}
		if isLong(&one) != c.long {
			t.Errorf("%d links of %d bytes: long is %t", c.links, c.bytes, !c.long)
		}
	}
}

// TestReplacedAnswers checks that results and errors are the same on the other side.
func TestReplacedAnswers(t *testing.T) {
	for _, c := range []struct {
		r    replaced
		err  error
		want error // nil: none
	}{
		{replaced{3, 4, false}, nil, nil},
		{replaced{0, 1 << 40, true}, nil, nil},
		{replaced{1, 2, false}, fmt.Errorf("%w: %w", store.ErrUnknown, store.ErrUnavailable), store.ErrUnknown},
		{replaced{1, 2, false}, fmt.Errorf("a: %w", store.ErrDiskFull), store.ErrDiskFull},
		{replaced{}, fmt.Errorf("a: %w", store.ErrUnavailable), store.ErrUnavailable},
		{replaced{}, rowreader.ErrClosed, store.ErrUnavailable},
		{replaced{0, 9, false}, errors.New("something else"), errReplace},
	} {
		r, err := parseReplaced(encodeReplaced(c.r, c.err))
		if r != c.r || !errors.Is(err, c.want) || c.err != nil && !strings.Contains(err.Error(), c.err.Error()) {
			t.Errorf("%+v, %v came as %+v, %v", c.r, c.err, r, err)
		}
		for _, known := range replaceErrors {
			if !errors.Is(c.want, known.err) && errors.Is(err, known.err) {
				t.Errorf("%v came as %v", c.err, err)
			}
		}
	}
	for _, answer := range [][]byte{nil, {0}, {9, 0, 0, 0}, {0, 0, 0, 5}, {0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0, 0}, {0, 0, 0, 0, 0}} {
		if _, err := parseReplaced(answer); !errors.Is(err, store.ErrUnknown) {
			t.Errorf("% x: %v", answer, err)
		}
	}
}

func FuzzReplaceMessages(f *testing.F) {
	f.Add(encodeReplace(1, []links.Change{{Kind: links.ReplaceLinks, Source: "a:", Targets: []string{"b:", "c:"}, Labels: []links.Label{cell.NoLabel, {Weight: 2, Anchor: "x"}}}}))
	f.Add(encodeReplace(math.MaxUint64, []links.Change{{Source: "a:"}, {Kind: links.DeleteLinks, Source: "a:", Targets: []string{"a:"}}}))
	f.Add(encodeReplaced(replaced{3, 4, true}, nil))
	f.Add(encodeReplaced(replaced{}, store.ErrUnknown))
	f.Fuzz(func(t *testing.T, b []byte) {
		if epoch, changes, err := parseReplace(b); err == nil {
			again := encodeReplace(epoch, changes)
			if e, back, err := parseReplace(again); err != nil || e != epoch || len(back) != len(changes) || !bytes.Equal(encodeReplace(e, back), again) {
				t.Errorf("%+v comes back as %+v, %v", changes, back, err)
			}
		}
		if r, err := parseReplaced(b); r.added < 0 || r.deleted < 0 || r.unsure && err != nil {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestWaiting checks that tries become rarer, come at once after a new view, and end.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, tries := time.Now(), 0
		var w retryWait
		var err error
		for err == nil {
			err = w.next(t.Context(), nil)
			tries++
		}
		if took := time.Since(begun); !errors.Is(err, errRetryTimeout) || took > replaceTimeout || took < replaceTimeout-time.Second || tries > 150 {
			t.Errorf("%d tries took %s: %v", tries, took, err)
		}
		changed := make(chan struct{})
		close(changed)
		begun = time.Now()
		w = retryWait{}
		if err := w.next(t.Context(), changed); err != nil || time.Since(begun) > 0 {
			t.Errorf("another view was waited for %s: %v", time.Since(begun), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.next(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// jointOf returns a view of some machines, the first of them dead, with the forward lists of
// pages in pieces of different owners.
func jointOf(t *testing.T, machines []trie.MachineID, dead int) *recovery.Joint {
	t.Helper()
	live := machines[dead:]
	joint := &recovery.Joint{Members: trie.NewRing(live...), BaseLive: trie.NewRing(live...)}
	if dead > 0 {
		joint.Phase = recovery.Fill
	}
	tr := trie.New(1, 0)
	for i := range uint32(7) {
		key, _ := triple.AppendKey(nil, triple.SPO, links.Link("p:", fmt.Sprintf("http://example.org/%d", 10+i*10), "a:"))
		id := uint64(i + 2)
		var err error
		if tr, err = tr.Split(id-1, key, id); err == nil {
			tr, err = tr.Assign(id, i*9)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, ring := range [][]trie.MachineID{machines, live} {
		p, err := trie.NewPlacement(ring, trie.PlacementOptions{Partitions: 64, VirtualNodes: 10, Load: 1.25})
		if err != nil {
			t.Fatal(err)
		}
		if joint.Target = (recovery.Layout{Trie: tr, Placement: p}); i == 0 {
			joint.Base = joint.Target
		}
	}
	return joint
}

// TestPlace checks that a page has one place under a view, a member: the reader of its list if
// that is up.
func TestPlace(t *testing.T) {
	keys, err := linkkeys.NewKeys("p:")
	if err != nil {
		t.Fatal(err)
	}
	g := &Updater{Readers: rowreader.New(t.Context(), nil, keys)}
	machines := []trie.MachineID{10, 20, 30, 40}
	for dead := range len(machines) {
		joint := jointOf(t, machines, dead)
		readers, moved := map[trie.MachineID]bool{}, false
		for i := range 100 {
			page := fmt.Sprintf("http://example.org/%d", i)
			reader, live := joint.Reader(g.Keys.List(links.Forward, page).Lo)
			readers[reader] = true
			moved = moved || !live
			if place := g.serializer(joint, page); live && place != reader || !joint.Members.Contains(place) {
				t.Errorf("%d are dead: %s is at %s; %s reads it, it lives: %t", dead, page, place, reader, live)
			}
		}
		if len(readers) < 3 || moved != (dead > 0) {
			t.Errorf("%d are dead: %v read all pages, some of them dead: %t", dead, readers, moved)
		}
	}
}

// TestLasting checks that begun work continues for a while after its caller has gone, but not
// longer, nor beyond the graph.
func TestLasting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		graph, closeGraph := context.WithCancelCause(t.Context())
		g := &Updater{Readers: rowreader.New(graph, nil, linkkeys.Keys{})}
		ctx, cancel := context.WithCancel(t.Context())
		begun := time.Now()
		work, end := g.detach(ctx)
		cancel()
		<-work.Done()
		if took := time.Since(begun); took != detachTimeout || !errors.Is(context.Cause(work), context.Canceled) {
			t.Errorf("it went on for %s: %v", took, context.Cause(work))
		}
		end()

		work, end = g.detach(t.Context())
		synctest.Wait()
		if work.Err() != nil {
			t.Error("it ends by itself")
		}
		closeGraph(rowreader.ErrClosed)
		<-work.Done()
		if !errors.Is(context.Cause(work), store.ErrClosed) {
			t.Error(context.Cause(work))
		}
		end()
	})
}
