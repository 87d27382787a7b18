// Purges, scrubs and other upkeep of a cluster.

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// tombstones returns how many there are on all machines that run.
func (w *world) tombstones() (n int) {
	w.t.Helper()
	for _, m := range w.up() {
		sn, err := m.store.Snapshot()
		require.NoError(w.t, err)
		for _, table := range []byte{store.TableStorage, store.TableReplica} {
			for row, err := range sn.Raw(w.t.Context(), table, triple.Range{}) {
				require.NoError(w.t, err)
				if triple.IsTombstone(row.Value) {
					n++
				}
			}
		}
		sn.Close()
	}
	return n
}

// eventually does something until it works, as an operator would.
func (w *world) eventually(what string, do func(ctx context.Context) error) {
	w.t.Helper()
	var err error
	for range 100 {
		if err = do(w.t.Context()); err == nil {
			return
		}
		time.Sleep(200 * time.Millisecond) // of virtual time
	}
	w.t.Fatalf("%s: %v", what, err)
}

// purge has the tombstones purged.
func (w *world) purge() (purged int64) {
	w.t.Helper()
	m := w.any()
	time.Sleep(time.Second) // of virtual time: all hear of what is settled
	w.eventually("purge", func(ctx context.Context) (err error) {
		purged, err = m.node.Upkeep().Purge(ctx)
		return err
	})
	return purged
}

func (w *world) mustScrub() (found scrubbed) {
	w.t.Helper()
	m := w.any()
	w.eventually("scrub", func(ctx context.Context) error {
		r, err := m.node.Upkeep().Scrub(ctx)
		found = scrubbed{r.Differences, r.Repaired, r.Left + r.Foreign + r.Unreadable}
		return err
	})
	return found
}

type scrubbed struct{ differences, repaired, left int64 }

func (w *world) mustCheck() (report api.CheckReport) {
	w.t.Helper()
	m := w.any()
	w.eventually("check", func(ctx context.Context) (err error) {
		report, err = m.node.Check(ctx)
		return err
	})
	return report
}

// edit changes the rows of a machine's database by hand: its process is not running
// meanwhile.
func (m *machine) edit(change func(db *pebble.DB) error) {
	w := m.world
	w.t.Helper()
	m.stop()
	db, err := pebble.Open(m.disk.PathJoin(dataDir, "store"), &pebble.Options{FS: m.disk, FormatMajorVersion: pebble.FormatNewest, Logger: silent{}})
	if err == nil {
		err = errors.Join(change(db), db.Close())
	}
	if err != nil {
		w.t.Fatalf("edit the store of %s: %v", m.name, err)
	}
	m.run()
	w.settle()
}

// silent is a logger for Pebble.
type silent struct{}

func (silent) Infof(string, ...any)              {}
func (silent) Errorf(string, ...any)             {}
func (silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// fullest returns the machine with the most rows.
func (w *world) fullest() (fullest *machine) {
	w.t.Helper()
	most := 0
	for _, m := range w.up() {
		sn, err := m.store.Snapshot()
		require.NoError(w.t, err)
		rows := 0
		for _, table := range []byte{store.TableStorage, store.TableReplica} {
			for _, err := range sn.Raw(w.t.Context(), table, triple.Range{}) {
				require.NoError(w.t, err)
				rows++
			}
		}
		sn.Close()
		if rows > most {
			fullest, most = m, rows
		}
	}
	return fullest
}

// stable waits until nothing has been changed for a while.
func (w *world) stable() {
	w.t.Helper()
	for epoch, since := uint64(0), time.Now(); time.Since(since) < 30*time.Second; time.Sleep(time.Second) { // of virtual time
		if e := w.any().node.View().Epoch; e != epoch {
			epoch, since = e, time.Now()
		}
	}
	w.settle()
}

// rowsOf returns the Pebble keys and values of the rows that a machine has of a
// triple.
func (m *machine) rowsOf(tr triple.Triple) (keys, values [][]byte) {
	m.world.t.Helper()
	spo, _ := triple.AppendKey(nil, triple.SPO, tr)
	sn, err := m.store.Snapshot()
	require.NoError(m.world.t, err)
	defer sn.Close()
	for _, table := range []byte{store.TableStorage, store.TableReplica} {
		for row, err := range sn.Raw(m.world.t.Context(), table, triple.Range{}) {
			require.NoError(m.world.t, err)
			key, _, err := recovery.AppendVersion(nil, triple.SPO, row.Key)
			require.NoError(m.world.t, err)
			if bytes.Equal(key, spo) {
				keys, values = append(keys, append([]byte{table}, row.Key...)), append(values, bytes.Clone(row.Value))
			}
		}
	}
	return keys, values
}

// A delete is purged, a machine wakes with a pending older add: neither the message
// that comes once more nor the disk of a machine that comes back brings it back.
func TestADeleteIsPurgedAMachineWakesWithAPendingOlderAdd(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		w.form()
		all := numbered(0, 200)
		if _, err := store.Add(t.Context(), w.any().node, all); err != nil {
			t.Fatal(err)
		}
		w.mustHave(setOf(all))
		w.stable()

		// A delivery of the adds, as each holder had it, under a number that is new: what
		// a machine remembers that slept over all that follows.
		sleeper := w.any()
		for keys, _ := sleeper.rowsOf(all[0]); len(keys) == 0; keys, _ = sleeper.rowsOf(all[0]) {
			sleeper = w.any()
		}
		v := sleeper.node.View()
		held := map[trie.MachineID][]replica.Operation{} // by sequencer
		r := v.Joint().Resolver()
		for _, tr := range all[:100] {
			keys, values := sleeper.rowsOf(tr)
			if len(keys) == 0 {
				continue
			}
			spo, _ := triple.AppendKey(nil, triple.SPO, tr)
			value, err := triple.DecodeValue(values[0])
			if err == nil {
				err = r.Resolve(spo)
			}
			m, ok := r.Sequencer()
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			held[m] = append(held[m], replica.Operation{Kind: store.OperationAdd, Stamp: value.Stamp, Key: spo})
		}
		if _, err := store.Delete(t.Context(), w.any().node, all[:100]); err != nil {
			t.Fatal(err)
		}
		w.purge()
		if n := w.tombstones(); n != 0 {
			t.Fatalf("%d tombstones are left", n)
		}
		if e := sleeper.node.View().Epoch; e != v.Epoch || len(held) == 0 {
			t.Fatalf("not a test: epoch %d after %d, %d sequencers", e, v.Epoch, len(held))
		}
		for m, late := range held {
			d := &replica.Delivery{Origin: replica.Origin{Sequencer: m, Incarnation: v.Find(m).Incarnation, Batch: 1 << 40}, Operations: late}
			require.NoError(t, sleeper.store.Deliver(t.Context(), d, v.Joint()))
		}
		want := setOf(all[100:])
		w.mustHave(want)
		if b := sleeper.store.InFlightBatches(); len(b) != 0 {
			t.Errorf("%d batches are pending again", len(b))
		}

		// A machine dies with what it had, deletes are purged without it, and it returns.
		sleeper.kill()
		w.settle()
		if _, err := store.Delete(t.Context(), w.any().node, all[100:150]); err != nil {
			t.Fatal(err)
		}
		w.checkDisks()
		w.purge()
		if n := w.tombstones(); n != 0 {
			t.Fatalf("%d tombstones are left", n)
		}
		want = setOf(all[150:])
		sleeper.run(w.up()...)
		select {
		case <-sleeper.node.Failed():
		case <-time.After(time.Minute):
			t.Fatal("the machine that was excluded does not learn of it")
		}
		sleeper.rejoin()
		w.settle()
		w.mustHave(want)
	})
}

// forgedStamp is that of rows that were changed by hand.
var forgedStamp = triple.Stamp{Epoch: 1, Sequence: 1}

// damage counts the slots of triples that lack their row, and those where it has the
// forged stamp.
func (w *world) damage(triples []triple.Triple) (epoch uint64, missing, forged int) {
	w.t.Helper()
	v := w.any().node.View()
	rows := map[string][]byte{}
	for _, m := range w.up() {
		for _, table := range []byte{store.TableStorage, store.TableReplica} {
			sn, err := m.store.Snapshot()
			require.NoError(w.t, err)
			for row, err := range sn.Raw(w.t.Context(), table, triple.Range{}) {
				require.NoError(w.t, err)
				rows[fmt.Sprint(m.node.MachineID(), table)+string(row.Key)] = bytes.Clone(row.Value)
			}
			sn.Close()
		}
	}
	for _, tr := range triples {
		spo, _ := triple.AppendKey(nil, triple.SPO, tr)
		slots, err := v.Base.Places(spo)
		require.NoError(w.t, err)
		for _, s := range slots {
			table := store.TableStorage
			if s.Extra {
				table = store.TableReplica
			}
			key, _, _ := recovery.AppendVersion(nil, s.Order, spo)
			value := rows[fmt.Sprint(s.Machine, table)+string(key)]
			if value == nil {
				missing++
			} else if d, err := triple.DecodeValue(value); err == nil && d.Stamp == forgedStamp {
				forged++
			}
		}
	}
	return v.Epoch, missing, forged
}

// Rows that were removed, changed and added by hand on one machine are found by a
// check, which changes nothing, and repaired by a scrub.
func TestScrub(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		w.form()
		all := numbered(0, 300)
		if _, err := store.Add(t.Context(), w.any().node, all); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Delete(t.Context(), w.any().node, all[:20]); err != nil {
			t.Fatal(err)
		}
		want := setOf(all[20:])
		w.mustHave(want)
		if r := w.mustCheck(); len(r.Problems) != 0 || r.Triples != 280 || r.Rows["pos"] != 280 || r.Rows["osp"] != 280 {
			t.Fatalf("at first: %+v", r)
		}
		if s := w.mustScrub(); s != (scrubbed{}) {
			t.Fatalf("at first: %+v", s)
		}
		w.stable()
		victim := w.fullest()
		victim.edit(func(db *pebble.DB) error {
			it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{store.TableStorage}, UpperBound: []byte{store.TableReplica + 1}})
			if err != nil {
				return err
			}
			defer it.Close()
			for valid := it.First(); valid; valid = it.Next() {
				value, err := it.ValueAndErr()
				if err != nil || triple.IsTombstone(value) {
					continue
				}
				switch w.random.IntN(8) {
				case 0: // lost
					err = db.Delete(bytes.Clone(it.Key()), pebble.Sync)
				case 1: // an older stamp than it had
					err = db.Set(bytes.Clone(it.Key()), (&triple.Value{Stamp: forgedStamp}).Append(nil), pebble.Sync)
				}
				if err != nil {
					return err
				}
			}
			return it.Error()
		})
		// Rows may have been moved meanwhile, and what was wrong with them.
		epoch, removed, damaged := w.damage(all[20:])
		if removed == 0 || damaged == 0 {
			t.Fatal("not a test: nothing was damaged")
		}
		r := w.mustCheck()
		missing, other := 0, 0
		for _, p := range r.Problems {
			if p.Machine == "" || p.Order == "" || p.Triple == "" {
				t.Errorf("problem %+v", p)
			}
			if strings.Contains(p.Message, "missing") {
				missing++
			} else {
				other++
			}
		}
		if r.More == 0 && (missing != removed || other != damaged) && w.any().node.View().Epoch == epoch {
			t.Errorf("%d rows are missing and %d wrong; there are %d and %d", missing, other, removed, damaged)
		}
		if again := w.mustCheck(); (len(again.Problems) != len(r.Problems) || again.More != r.More) && w.any().node.View().Epoch == epoch {
			t.Error("a check has changed something")
		}
		s := w.mustScrub()
		if s.differences == 0 || s.repaired != s.differences || s.left != 0 {
			t.Errorf("%+v, there were %d rows missing and %d wrong", s, removed, damaged)
		}
		w.mustHave(want)
		if r := w.mustCheck(); len(r.Problems) != 0 {
			t.Errorf("after the scrub: %+v", r.Problems)
		}
		if s := w.mustScrub(); s != (scrubbed{}) {
			t.Errorf("once more: %+v", s)
		}
	})
}

// A row that one machine alone has is found, whatever its stamp, and so is one that
// makes no sense.
func TestForgedRows(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		all := numbered(0, 60)
		if _, err := store.Add(t.Context(), w.any().node, all); err != nil {
			t.Fatal(err)
		}
		w.mustHave(setOf(all))
		forged := numbered(1000, 1003)
		stamps := []triple.Stamp{{Epoch: 1, Sequence: 7}, {Epoch: 1 << 30, Sequence: 1}, {}}
		for i, tr := range forged {
			key, _ := triple.AppendKey(nil, triple.POS, tr)
			v := w.machines[0].node.View()
			owner, _ := v.Joint().Reader(key)
			for _, m := range w.machines {
				if m.node.MachineID() == owner {
					m.edit(func(db *pebble.DB) error {
						value := (&triple.Value{Stamp: stamps[i]}).Append(nil)
						if i == 2 {
							value = []byte{0} // a value without a stamp
						}
						return db.Set(append([]byte{store.TableStorage}, key...), value, pebble.Sync)
					})
					break
				}
			}
		}
		found := fmt.Sprint(w.mustCheck().Problems)
		for i := range 2 {
			if !strings.Contains(found, fmt.Sprintf("%q", fmt.Sprint(1000+i))) {
				t.Errorf("forged row %d is not found: %s", i, found)
			}
		}
		if !strings.Contains(found, "make no sense") {
			t.Errorf("the row that makes no sense is not found: %s", found)
		}
	})
}

// While clients write and delete, a check and a scrub find nothing.
func TestNoFalseReports(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		all := numbered(0, 400)
		if _, err := store.Add(t.Context(), w.any().node, all); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		for i := range 3 {
			m, random := w.machines[i], w.random.Int64()
			go func() {
				for n := int64(0); ctx.Err() == nil; n++ {
					at := (random + n*37) % 380
					at = max(at, -at)
					if _, err := store.Delete(ctx, m.node, all[at:at+20]); err != nil && ctx.Err() == nil {
						done <- err
						return
					}
					if _, err := store.Add(ctx, m.node, all[at:at+20]); err != nil && ctx.Err() == nil {
						done <- err
						return
					}
					time.Sleep(100 * time.Millisecond) // of virtual time
				}
				done <- nil
			}()
		}
		for range 3 {
			if r := w.mustCheck(); len(r.Problems) != 0 {
				t.Errorf("check: %+v", r.Problems)
			}
			if s := w.mustScrub(); s != (scrubbed{}) {
				t.Errorf("scrub: %+v", s)
			}
			w.purge()
		}
		cancel()
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if _, err := store.Add(t.Context(), w.any().node, all); err != nil {
			t.Fatal(err)
		}
		w.mustHave(setOf(all))
	})
}

// The metrics of a cluster can be collected, on a lone node too.
func TestMetrics(t *testing.T) {
	simulate(t, 2, func(t *testing.T, w *world) {
		first := w.machines[0]
		first.run()
		if v := metricsOf(t, first); v["trefoil_cluster_epoch"] != 0 {
			t.Error("a lone node has metrics of a cluster")
		}
		w.machines[1].run(first)
		w.settle()
		if _, err := store.Add(t.Context(), first.node, numbered(0, 100)); err != nil {
			t.Fatal(err)
		}
		stamped := 0.0
		for _, m := range w.machines {
			v := metricsOf(t, m)
			if v["trefoil_cluster_epoch"] != float64(m.node.View().Epoch) || v["trefoil_cluster_phase/idle"] != 1 || v["trefoil_cluster_lease_seconds"] <= 0 || v["trefoil_cluster_members/up"] != 2 {
				t.Errorf("%s: %v", m.name, v)
			}
			stamped += v["trefoil_cluster_operations_total"]
		}
		if stamped != 100 {
			t.Errorf("%v operations are counted", stamped)
		}
	})
}

// metricsOf returns the metrics of a machine, by their names and labels.
func metricsOf(t *testing.T, m *machine) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, m.node.RegisterMetrics(registry))
	families, err := registry.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, f := range families {
		for _, metric := range f.Metric {
			name := f.GetName()
			for _, l := range metric.Label {
				name += "/" + l.GetValue()
			}
			values[name] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return values
}
