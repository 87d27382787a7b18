// The resolver: the owners of a row, from valid and from damaged keys.

package recovery

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// naive states the rules once more, as the protocol words them and with no regard
// to speed.
type naive struct {
	j            *Joint
	base, target []Place
}

func contains(r trie.Ring, m trie.MachineID) bool { return slices.Index(r, m) >= 0 }

func (n *naive) live(m trie.MachineID) bool   { return contains(n.j.BaseLive, m) }
func (n *naive) member(m trie.MachineID) bool { return contains(n.j.Members, m) }
func (n *naive) joint() bool                  { return n.j.Phase == Fill || n.j.Phase == Serve }

// naivePlaces: one place for each version, and extras on the machines that follow
// clockwise on the one that owns most of the three.
func naivePlaces(l Layout, tr triple.Triple) (places []Place) {
	owns := map[trie.MachineID]int{}
	for _, o := range triple.Orders {
		key, _ := triple.AppendKey(nil, o, tr)
		if len(key) == 0 {
			continue
		}
		m := l.Placement.Owner(l.Trie.Lookup(key))
		places = append(places, Place{Machine: m, Order: o})
		if o != triple.GSPO {
			owns[m]++
		}
	}
	most := places[0].Machine
	for m, n := range owns {
		if n >= 2 {
			most = m
		}
	}
	ring := l.Placement.Machines()
	others := slices.Clone(ring)
	slices.SortFunc(others, func(a, b trie.MachineID) int {
		if most.Distance(a) < most.Distance(b) {
			return -1
		}
		return 1
	})
	for _, m := range others {
		if len(owns) < min(l.Copies, len(ring)) && owns[m] == 0 {
			owns[m]++
			places = append(places, Place{Machine: m, Order: triple.SPO, Extra: true})
		}
	}
	return places
}

func (n *naive) writes() (places []Place) {
	for _, s := range n.base {
		if n.live(s.Machine) {
			places = append(places, s)
		}
	}
	for _, s := range n.target {
		if n.joint() && n.member(s.Machine) && slices.Index(places, s) < 0 {
			places = append(places, s)
		}
	}
	return places
}

// repairer returns the place of base that makes up for those without a live owner.
func (n *naive) repairer() (Place, bool) {
	moved := func(b Place) bool {
		return n.live(b.Machine) && slices.IndexFunc(n.target, func(s Place) bool { return !s.Extra && s.Order == b.Order && s.Machine == b.Machine }) < 0
	}
	alive := func(b Place) bool { return n.live(b.Machine) }
	extrasFirst := n.joint() && n.j.Base.Copies == n.j.Target.Copies
	for _, m := range n.j.Base.Placement.Machines() {
		extrasFirst = extrasFirst && n.live(m)
	}
	type choice struct {
		order triple.Order
		extra bool
		may   func(Place) bool
	}
	choices := []choice{{triple.OSP, false, moved}, {triple.POS, false, moved}, {triple.SPO, false, moved}}
	if extrasFirst {
		choices = append(choices, choice{triple.SPO, true, alive})
	}
	choices = append(choices, choice{triple.OSP, false, alive}, choice{triple.POS, false, alive}, choice{triple.SPO, true, alive},
		choice{triple.SPO, false, alive}, choice{triple.GSPO, false, alive})
	for _, c := range choices {
		for _, b := range n.base {
			if b.Order == c.order && b.Extra == c.extra && c.may(b) {
				return b, true
			}
		}
	}
	return Place{}, false
}

// source returns the place of base that fills a place of target.
func (n *naive) source(s Place) (Place, bool) {
	if !n.member(s.Machine) || n.live(s.Machine) && slices.Index(n.base, s) >= 0 {
		return Place{}, false
	}
	for _, b := range n.base {
		if !s.Extra && !b.Extra && b.Order == s.Order && n.live(b.Machine) {
			return b, true
		}
	}
	return n.repairer()
}

func subset(t *rapid.T, of []trie.MachineID, least int, label string) trie.Ring {
	for {
		var r []trie.MachineID
		for _, m := range of {
			if rapid.Bool().Draw(t, label) {
				r = append(r, m)
			}
		}
		if len(r) >= least {
			return trie.NewRing(r...)
		}
		least = min(least, len(of))
		if rapid.Bool().Draw(t, label+": all") {
			return trie.NewRing(of...)
		}
	}
}

// jointOf draws a joint view of up to six machines: some in base, some in target,
// some dead, some not what they were in base.
func jointOf(t *rapid.T) *Joint {
	universe := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) trie.MachineID {
		return trie.MachineID(rapid.Uint64Min(1).Draw(t, "machine"))
	}), 1, 6, rapid.ID[trie.MachineID]).Draw(t, "machines")
	j := &Joint{Phase: rapid.SampledFrom([]Phase{Idle, Fill, Serve, Ingest}).Draw(t, "phase")}
	j.Base = layoutOn(t, subset(t, universe, 1, "base"))
	j.Target = j.Base
	if j.joint() {
		j.Target = layoutOn(t, subset(t, universe, 1, "target")) // of another number of copies, too
		if rapid.Bool().Draw(t, "one trie") {
			j.Target.Trie = j.Base.Trie
		}
	}
	j.Members = subset(t, universe, 0, "members")
	j.BaseLive = subset(t, j.Members, 0, "base live")
	return j
}

// TestResolver compares all answers with the naive ones, for triple after triple
// in one resolver, each asked about by one of its keys.
func TestResolver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := jointOf(t)
		r := j.Resolver()
		for range rapid.IntRange(1, 5).Draw(t, "triples") {
			tr := anyTriple(t)
			resolveAny(t, r, tr)
			n := &naive{j, naivePlaces(j.Base, tr), naivePlaces(j.Target, tr)}
			comparePlaces(t, r, n, tr)
			compareRoles(t, r, n)
			compareOwes(t, r, n)
		}
	})
}

// resolveAny resolves a triple by one of its keys, which it spoils afterwards.
func resolveAny(t *rapid.T, r *Resolver, tr triple.Triple) {
	for {
		key, _ := triple.AppendKey(nil, rapid.SampledFrom(triple.Orders[:]).Draw(t, "from order"), tr)
		if len(key) == 0 {
			continue
		}
		require.NoError(t, r.Resolve(key))
		clear(key)
		return
	}
}

func comparePlaces(t *rapid.T, r *Resolver, n *naive, tr triple.Triple) {
	for _, o := range triple.Orders {
		want, _ := triple.AppendKey(nil, o, tr)
		if got := r.Key(o); !bytes.Equal(got, want) || (got == nil) != (len(want) == 0) {
			t.Fatalf("key of %s: %q, want %q", o, got, want)
		}
	}
	if !slices.Equal(r.Base(), n.base) || !slices.Equal(r.Target(), n.target) {
		t.Fatalf("places %v to %v, want %v to %v", r.Base(), r.Target(), n.base, n.target)
	}
	if places, err := n.j.Base.Places(r.Key(triple.OSP)); err != nil || !slices.Equal(places, n.base) {
		t.Fatalf("places of the layout %v, %v, want %v", places, err, n.base)
	}
	writes := r.Writes()
	if !slices.Equal(writes, n.writes()) {
		t.Fatalf("writes %v, want %v", writes, n.writes())
	}
	for i, s := range writes {
		if slices.Contains(writes[:i], s) {
			t.Fatalf("a place twice: %v", writes)
		}
	}
}

func compareRoles(t *rapid.T, r *Resolver, n *naive) {
	j := n.j
	for i, o := range triple.Orders {
		key := r.Key(o)
		if key == nil {
			continue
		}
		want := n.base[i].Machine
		alive := n.live(want)
		if j.Phase == Serve {
			want = n.target[i].Machine
			alive = n.member(want)
		}
		if m, ok := j.Reader(key); m != want || ok != alive {
			t.Fatalf("reader of %s: %s, %v, want %s, %v", o, m, ok, want, alive)
		}
	}
	want := n.base[0].Machine
	alive := n.live(want)
	if !alive || j.Phase == Serve {
		want = n.target[0].Machine
		alive = n.member(want)
	}
	if m, ok := r.Sequencer(); m != want || ok != alive {
		t.Fatalf("sequencer %s, %v, want %s, %v", m, ok, want, alive)
	}
	repairer, ok := n.repairer()
	if m, found := r.Repairer(); found != ok || ok && m != repairer {
		t.Fatalf("repairer %v, %v, want %v, %v", m, found, repairer, ok)
	}
}

// compareOwes: each place of target that is empty is filled from one live place of base, by
// the naive rules, if some holder lives.
func compareOwes(t *rapid.T, r *Resolver, n *naive) {
	filled := map[Place]Place{}
	for _, from := range slices.Clone(r.Base()) {
		for _, s := range r.Fills(from) {
			if other, twice := filled[s]; twice {
				t.Fatalf("%v is filled from %v and %v", s, other, from)
			}
			filled[s] = from
		}
	}
	owed := map[Place]trie.MachineID{}
	for _, m := range trie.NewRing(append(slices.Clone(n.j.Members), 0, 7)...) {
		for _, s := range r.OwedPlaces(m) {
			owed[s] = m
		}
	}
	_, source := n.repairer()
	for _, s := range n.target {
		want, ok := n.source(s)
		if got, found := filled[s]; found != ok || got != want {
			t.Fatalf("%v is filled from %v, %v, want %v, %v", s, got, found, want, ok)
		}
		if got, found := owed[s]; found != ok || got != want.Machine {
			t.Fatalf("%v is owed by %s, %v, want %v, %v", s, got, found, want, ok)
		}
		empty := n.member(s.Machine) && (!n.live(s.Machine) || slices.Index(n.base, s) < 0)
		if empty != ok && source {
			t.Fatalf("%v is empty: %v, has a source: %v", s, empty, ok)
		}
		delete(filled, s)
		delete(owed, s)
	}
	if len(filled)+len(owed) > 0 {
		t.Fatalf("places that target has not: %v, %v", filled, owed)
	}
}

func TestResolveOfDamagedKeys(t *testing.T) {
	l := layoutAt(t, ids{1}, [4]trie.MachineID{1, 1, 1, 1})
	r := (&Joint{Base: l, Target: l, Members: trie.Ring{1}, BaseLive: trie.Ring{1}}).Resolver()
	for _, key := range []string{"", "\x09", "\x01", "\x01a\x00\x01b", "\x04a\x00\x01b\x00\x01c"} {
		if err := r.Resolve([]byte(key)); !errors.Is(err, triple.ErrCorrupt) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// TestResolverAllocatesNothing: a walk asks for every row of a machine.
func TestResolverAllocatesNothing(t *testing.T) {
	base := layoutAt(t, ids{1, 2, 3}, [4]trie.MachineID{1, 1, 3, 2})
	target := layoutAt(t, ids{2, 3}, [4]trie.MachineID{2, 3, 3, 2})
	r := (&Joint{Base: base, Target: target, Phase: Fill, Members: trie.Ring{2, 3}, BaseLive: trie.Ring{2, 3}}).Resolver()
	key := keyIn(triple.OSP, true)
	n := testing.AllocsPerRun(100, func() {
		require.NoError(t, r.Resolve(key))
		r.Fills(Place{Machine: 2, Order: triple.POS})
		r.OwedPlaces(2)
		r.Writes()
		r.Sequencer()
	})
	if n > 0 {
		t.Errorf("%v allocations for a triple", n)
	}
}
