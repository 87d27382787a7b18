// Where a triple is: the places of the view, and what the machines have.

package cluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// TestWhere checks the places of triples that are stored, deleted and unknown, also while a machine
// is lost and after its copies are made again.
func TestWhere(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		all := w.spread()
		w.stable()
		// 1. Every place has its row, and every row of every disk is listed.
		for _, tr := range all[:60] {
			w.checkWhere(tr)
		}
		// 2. A triple without rows has places, too.
		w.mustDelete(w.any(), all[0])
		for _, tr := range []triple.Triple{all[0], {Subject: all[0].Subject, Predicate: all[0].Predicate, Object: triple.NewString("other")}} {
			at, err := w.any().node.Where(t.Context(), tr)
			if err != nil || at.Stored || at.Holding != 0 || len(at.Places) < 3 {
				t.Errorf("%s is not stored: %+v, %v", tr, at, err)
			}
		}
		// A row without a place is listed as such.
		stray := w.machines[slices.IndexFunc(w.machines, func(m *machine) bool { keys, _ := m.rowsOf(all[1]); return len(keys) == 0 })]
		key, _ := triple.AppendKey(nil, triple.SPO, all[1])
		row := replica.FillRow{Table: store.TableReplica, Key: key, Value: triple.AppendValue(nil, triple.Stamp{Epoch: 1, Sequence: 1}, all[1])}
		require.NoError(t, stray.store.Fill(t.Context(), []replica.FillRow{row}))
		at, err := w.any().node.Where(t.Context(), all[1])
		if last := at.Places[len(at.Places)-1]; err != nil || last.Address != stray.address() || last.Version != store.VersionReplica || !strings.Contains(last.Why, "no place") {
			t.Errorf("a row without a place: %+v, %v", at, err)
		}
		// 3. The rows of a machine that does not answer are unknown.
		dead := w.machines[2]
		tr, _ := w.owned(all[2:], func(o owners) bool { return o.pos == dead && o.spo != dead && o.osp != dead })
		dead.kill()
		at, err = w.up()[0].node.Where(t.Context(), tr)
		require.NoError(t, err)
		for _, p := range at.Places {
			if lost := p.Address == dead.address(); lost != (p.Row == store.RowUnknown) || lost == (p.Error == "") {
				t.Errorf("one machine is dead: %+v", p)
			}
		}
		// 4. Its places are on other machines when its copies are made.
		w.settle()
		w.stable()
		for _, tr := range all[2:60] {
			w.checkWhere(tr)
		}
	})
}

// TestStatusOfCopies checks that the status has the stored copies of each machine, and names one that was
// excluded until its copies are made again. The map of segments names what it owned until then.
func TestStatusOfCopies(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		w.spread()
		w.stable()
		w.checkCopies()
		dead := w.machines[1]
		id := dead.store.MachineID().String()
		dead.kill()
		w.until("an excluded machine is missing", func() bool { return slices.Contains(w.up()[0].node.Status().Missing, id) })
		m := w.segmentMap()
		for _, s := range m.Segments {
			if gone := m.Machines[s.Owner].ID == id; gone != (s.State == store.SegmentRebuilt) || gone && s.Next == nil {
				t.Errorf("a machine was excluded: %+v", s)
			}
		}
		if m.Phase == "fill" && m.Rebuilt == 0 { // in serve other machines own what it did
			t.Errorf("a machine was excluded, and owned no segment: %+v", m.Machines)
		}
		w.settle()
		w.stable()
		if m = w.segmentMap(); m.Moving+m.Rebuilt+m.Lost > 0 {
			t.Errorf("the map after all copies are made: %+v", m)
		}
		if s := w.up()[0].node.Status(); len(s.Missing) > 0 {
			t.Errorf("missing after all copies are made: %q", s.Missing)
		}
		w.checkCopies()
	})
}

// segmentMap returns the whole map of segments, as a member that is up has it.
func (w *world) segmentMap() store.SegmentMap {
	w.t.Helper()
	m, err := w.up()[0].node.SegmentMap(w.t.Context(), 0, 10_000)
	if err != nil || len(m.Segments) != m.Total {
		w.t.Fatalf("%d segments of %d, %v", len(m.Segments), m.Total, err)
	}
	return m
}

// checkCopies compares the copies in the status with the rows on the disks.
func (w *world) checkCopies() {
	w.t.Helper()
	s := w.up()[0].node.Status()
	for _, m := range w.up() {
		sn, err := m.store.Snapshot()
		require.NoError(w.t, err)
		rows := int64(0)
		for _, table := range []byte{store.TableStorage, store.TableReplica} {
			for row, err := range sn.Raw(w.t.Context(), table, triple.Range{}) {
				require.NoError(w.t, err)
				if row.Key[0] != byte(triple.GSPO) && !triple.IsTombstone(row.Value) {
					rows++
				}
			}
		}
		sn.Close()
		i := slices.IndexFunc(s.Members, func(member api.Member) bool { return member.Address == m.address() })
		if got := s.Members[i].Copies; got != rows || rows == 0 {
			w.t.Errorf("machine %s has %d copies by the status, and %d rows", m.name, got, rows)
		}
	}
}

// checkWhere compares the places of a stored triple with the view and with the disks.
func (w *world) checkWhere(tr triple.Triple) {
	w.t.Helper()
	m := w.any()
	at, err := m.node.Where(w.t.Context(), tr)
	if err != nil || !at.Stored || at.Unknown != "" || at.Required != 3 || at.Holding < at.Required {
		w.t.Fatalf("where is %s: %+v, %v", tr, at, err)
	}
	// 1. The owners are those of the view.
	rows, machines := map[string]int{}, map[string]bool{}
	for _, p := range at.Places {
		if p.Row != store.RowPresent || p.State != "up" || p.Ring == 0 {
			w.t.Errorf("%s: %+v", tr, p)
		}
		rows[p.Address]++
		machines[p.Machine] = true
		if p.Version == store.VersionReplica {
			continue
		}
		order, err := triple.ParseOrder(p.Version)
		require.NoError(w.t, err)
		key, _ := triple.AppendKey(nil, order, tr)
		owner, _ := m.node.View().Joint().Reader(key)
		segment := m.node.View().Base.Trie.Lookup(key)
		if p.Machine != owner.String() || p.Segment.ID != segment.ID || p.Segment.Partition != segment.Partition {
			w.t.Errorf("%s: %+v, the owner is %s by segment %d", tr, p, owner, segment.ID)
		}
	}
	if len(machines) < recovery.DefaultCopies {
		w.t.Errorf("%s is on %d machines: %+v", tr, len(machines), at.Places)
	}
	// 2. The disks have these rows and no others.
	for _, m := range w.up() {
		if keys, _ := m.rowsOf(tr); len(keys) != rows[m.address()] {
			w.t.Errorf("%s: machine %s has %d rows, and %d places", tr, m.name, len(keys), rows[m.address()])
		}
	}
}
