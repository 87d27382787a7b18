// The contents of all machines against what they must have.

package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// contents reads all triples through a machine, in every order of its own, and
// returns those of one; an order that has others is an error.
func (m *machine) contents(ctx context.Context) (map[string]bool, error) {
	var first map[string]bool
	for _, o := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
		all, err := contentsOf(ctx, m.node, o)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = all
		}
		if len(all) != len(first) {
			return nil, fmt.Errorf("%d triples in %s, %d in spo", len(all), o, len(first))
		}
		for t := range all {
			if !first[t] {
				return nil, fmt.Errorf("%s has %s, and spo has not", o, t)
			}
		}
	}
	return first, nil
}

// contentsOf reads all triples of one order through a node.
func contentsOf(ctx context.Context, n interface{ Reader() (store.Reader, error) }, o triple.Order) (map[string]bool, error) {
	sn, err := n.Reader()
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	all := map[string]bool{}
	for row, err := range sn.Range(ctx, triple.Bounds{Order: o}, store.ReadOptions{}) {
		if err != nil {
			return nil, err
		}
		t, err := row.Triple()
		if err != nil {
			return nil, err
		}
		if all[t.String()] {
			return nil, fmt.Errorf("%s comes twice in %s", t, o)
		}
		all[t.String()] = true
	}
	return all, nil
}

// mustHave fails the test unless the cluster holds these triples and no others.
func (w *world) mustHave(want map[string]bool) {
	w.t.Helper()
	require.NoError(w.t, w.has(want))
}

// has checks that the cluster holds these triples and no others, as every machine that runs
// answers, and as their disks have it.
func (w *world) has(want map[string]bool) error {
	w.decided()
	for _, m := range w.up() {
		got, err := m.contents(w.t.Context())
		if err != nil {
			return fmt.Errorf("read through %s: %w", m.name, err)
		}
		if diff := difference(got, want); diff != "" {
			return fmt.Errorf("through %s: %s", m.name, diff)
		}
	}
	return w.disks()
}

// decided waits until no operation is in flight, because a write whose client has given up is not read before
// all places have it. While a machine cannot answer, some may stay in flight.
func (w *world) decided() {
	flies := func(m *machine) bool { return len(m.store.InFlightBatches()) > 0 }
	for end := time.Now().Add(10 * time.Second); slices.ContainsFunc(w.up(), flies) && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond) // of virtual time
	}
}

func difference(got, want map[string]bool) string {
	missing, extra, example := 0, 0, ""
	for t := range want {
		if !got[t] {
			missing++
			example = "missing: " + t
		}
	}
	for t := range got {
		if !want[t] {
			extra++
			example = "not asked for: " + t
		}
	}
	if missing+extra == 0 {
		return ""
	}
	return fmt.Sprintf("%d triples, %d missing, %d too many: %s", len(got), missing, extra, example)
}

// setOf returns triples as the texts that contents returns.
func setOf(lists ...[]triple.Triple) map[string]bool {
	set := map[string]bool{}
	for _, list := range lists {
		for _, t := range list {
			set[t.String()] = true
		}
	}
	return set
}

// checkDisks fails the test if the rows on disk are wrong.
func (w *world) checkDisks() {
	w.t.Helper()
	require.NoError(w.t, w.disks())
}

// disks verifies invariants 2 and 3 in idle: the rows on each machine are exactly those of its
// places, and each triple is on as many machines as the view says.
func (w *world) disks() error {
	w.until("all have swept", func() bool {
		for _, m := range w.up() {
			if !m.node.Swept() {
				return false
			}
		}
		return true
	})
	up := w.up()
	v := up[0].node.View()
	type place struct {
		id    trie.MachineID
		extra bool
		order triple.Order
	}
	have := map[string]map[place]bool{} // by SPO key
	for _, m := range up {
		sn, err := m.store.Snapshot()
		if err != nil {
			return err
		}
		for _, table := range []byte{store.TableStorage, store.TableReplica} {
			for row, err := range sn.Raw(w.t.Context(), table, triple.Range{}) {
				if err != nil {
					return err
				}
				if triple.IsAnnotation(row.Value) || triple.IsTombstone(row.Value) {
					continue
				}
				spo, _, err := recovery.AppendVersion(nil, triple.SPO, row.Key)
				if err != nil {
					return err
				}
				if have[string(spo)] == nil {
					have[string(spo)] = map[place]bool{}
				}
				have[string(spo)][place{m.node.MachineID(), table == store.TableReplica, triple.Order(row.Key[0])}] = true
			}
		}
		sn.Close()
	}
	holders := 0
	for _, m := range v.Members {
		if m.State == "up" {
			holders++
		}
	}
	for key, places := range have {
		slots, err := v.Base.Places([]byte(key))
		if err != nil {
			return err
		}
		machines := map[trie.MachineID]bool{}
		for _, s := range slots {
			if !places[place{s.Machine, s.Extra, s.Order}] {
				return fmt.Errorf("machine %s lacks %v (extra %v) of %q", s.Machine, s.Order, s.Extra, key)
			}
			if s.Order != triple.GSPO {
				machines[s.Machine] = true
			}
		}
		if len(places) != len(slots) {
			return fmt.Errorf("%d rows of %q, %d slots", len(places), key, len(slots))
		}
		// Three machines may own the versions of a triple of which two are asked for.
		if n, copies := len(machines), v.Base.Copies; n < min(copies, holders) || n > min(max(3, copies), holders) {
			return fmt.Errorf("%q is on %d machines of %d, of %d copies", key, n, holders, copies)
		}
	}
	return nil
}
