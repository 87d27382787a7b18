// Annotations in the random runs: the helpers that write and check them.

package writes

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

const app = "app"

// noteOf returns a number as it is noted; 0 is nothing.
func noteOf(n uint64) replica.Annotation {
	if n == 0 {
		return replica.Annotation{ApplicationID: app, Removed: true}
	}
	return replica.Annotation{ApplicationID: app, Data: binary.AppendUvarint(nil, n)}
}

// readAll answers whether a triple is there and what is noted on it, through one
// order, as the owner does.
func (m *machine) readAll(ctx context.Context, o triple.Order, t triple.Triple) (s state, err error) {
	n, err := m.noted(ctx, keyOf(o, t))
	for _, a := range n.Annotations {
		s.note, _ = binary.Uvarint(a.Data)
	}
	s.live = n.Live
	return s, err
}

func (m *machine) noted(ctx context.Context, key []byte) (n replica.AnnotatedRow, err error) {
	v := m.View()
	if owner, ok := v.Joint().Reader(key); !ok || owner != m.id {
		return n, errNotOwner
	}
	sn, err := m.store.Snapshot()
	if err != nil {
		return n, err
	}
	defer sn.Close()
	if n, err = sn.AnnotatedRow(ctx, store.TableStorage, key, "", 1<<20); err != nil {
		return n, err
	}
	if err := m.Lease(); err != nil {
		return n, err
	}
	if err := m.writes.WaitCommitted(ctx, m.store.InFlight(exactly(key), nil)); err != nil {
		return n, err
	}
	if err := m.Lease(); err != nil || m.View() != v {
		return n, errNotOwner
	}
	return n, nil
}

// find looks up a triple through whatever order has a reader, as reads do.
func (x *run) find(ctx context.Context, spo []byte, applicationID string) (f Found, err error) {
	x.mu.Lock()
	v := x.view
	x.mu.Unlock()
	for _, o := range triple.Orders[:3] {
		key, _, err := recovery.AppendVersion(nil, o, spo)
		if err != nil {
			return f, err
		}
		if m := x.reader(key, v); m != nil {
			n, err := m.noted(ctx, key)
			if err != nil {
				return f, errors.Join(store.ErrUnavailable, err)
			}
			f = Found{Live: n.Live, Stamp: n.Stamp}
			for _, a := range n.Annotations {
				if a.ApplicationID == applicationID {
					f.Version = a.Version
				}
			}
			return f, nil
		}
	}
	return f, store.ErrUnavailable
}

// compare reads an annotation and sets it if it is still the same.
func (x *run) compare(ctx context.Context, id, i int, r *rand.Rand) {
	tr := x.facts[i]
	// 1. Read the version. The number that was read belongs to it.
	o := triple.Orders[r.IntN(3)]
	v := x.anyone(r).View()
	if v == nil {
		return
	}
	m := x.reader(keyOf(o, tr), v)
	if m == nil {
		return
	}
	n, err := m.noted(ctx, keyOf(o, tr))
	if err != nil {
		return
	}
	in, when := what{compares: true, note: x.numbers.Add(1)}, store.Condition{Absent: true}
	for _, a := range n.Annotations {
		in.expected, _ = binary.Uvarint(a.Data)
		when = store.Condition{Version: a.Version}
	}
	if r.IntN(4) == 0 {
		in.note = 0
	}
	// 2. Set it.
	m = x.anyone(r)
	call := x.now()
	_, err = m.writes.Annotate(ctx, tr, noteOf(in.note), when, x.find)
	switch {
	case err == nil:
		x.note(i, id, in, state{live: true}, call, x.now())
	case errors.Is(err, store.ErrConflict):
		x.note(i, id, in, state{live: true, note: different}, call, x.now())
	case errors.Is(err, store.ErrNotFound):
		x.note(i, id, in, state{note: different}, call, x.now())
	case errors.Is(err, store.ErrUnknown):
		x.note(i, id, in, state{live: true, note: unknown}, call, math.MaxInt64)
	}
}

// rowsOf returns the values of a row and of its annotations, by the rest of the key after the
// row's.
func (m *machine) rowsOf(table byte, key []byte) map[string][]byte {
	m.world.t.Helper()
	sn, err := m.store.Snapshot()
	require.NoError(m.world.t, err)
	defer sn.Close()
	rows := map[string][]byte{}
	_, hi := triple.AnnotationBounds(key)
	for row, err := range sn.Raw(ctx, table, triple.Range{Lo: key, Hi: hi}) {
		require.NoError(m.world.t, err)
		version, _, _ := triple.CutAnnotation(row.Key)
		if bytes.Equal(version, key) {
			rows[string(row.Key[len(key):])] = bytes.Clone(row.Value)
		}
	}
	return rows
}

// best returns the newest rows that m has of a triple.
func (m *machine) best(r *recovery.Resolver) map[string][]byte {
	best := map[string][]byte{}
	for _, s := range slices.Clone(r.Base()) {
		if s.Machine != m.id {
			continue
		}
		table := byte(store.TableStorage)
		if s.Extra {
			table = store.TableReplica
		}
		maps.Copy(best, m.rowsOf(table, r.Key(s.Order)))
		break // because all places of a machine are equal
	}
	return best
}

// operationOf returns the operation of a row if it may be in flight.
func (m *machine) operationOf(spo []byte, suffix string, value []byte) (replica.Origin, *replica.Operation) {
	stamp := triple.DeletedAt(value)
	if triple.IsAnnotation(value) {
		a, err := triple.DecodeAnnotation(value)
		require.NoError(m.world.t, err)
		stamp = a.Stamp
	} else if v, err := triple.DecodeValue(value); err == nil {
		stamp = v.Stamp
	}
	for _, b := range m.store.InFlightBatches() {
		for i := range b.Operations {
			if o := &b.Operations[i]; o.Stamp == stamp && bytes.Equal(o.Key, spo) && (o.Annotation != nil) == (suffix != "") {
				return b.Origin, o
			}
		}
	}
	return replica.Origin{}, nil
}

// checkNotes checks two rules: all places of a triple must have the same annotations, and there
// must be none without the triple.
func (x *run) checkNotes(t *testing.T, ms []*machine, tr triple.Triple, s state) {
	t.Helper()
	r := x.view.Joint().Resolver()
	require.NoError(t, r.Resolve(keyOf(triple.SPO, tr)))
	for _, slot := range slices.Clone(r.Writes()) {
		m := ms[slices.IndexFunc(ms, func(m *machine) bool { return m.id == slot.Machine })]
		table := byte(store.TableStorage)
		if slot.Extra {
			table = store.TableReplica
		}
		got := uint64(0)
		for _, value := range m.rowsOf(table, r.Key(slot.Order)) {
			if a, err := triple.DecodeAnnotation(value); err == nil && !a.Removed {
				got, _ = binary.Uvarint(a.Data)
			}
		}
		if got != s.note || got != 0 && !s.live {
			t.Errorf("%v: %s on %s (extra: %t) has %d noted, want %+v", tr, slot.Order, slot.Machine, slot.Extra, got, s)
		}
	}
}
