// Tests of purges, scrubs and checks of two nodes.

package upkeep_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/cluster/backfill"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/upkeep"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/memnet"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// pair runs f with two nodes of one cluster, in virtual time, with the interval of purges and
// scrubs.
func pair(t *testing.T, every time.Duration, f func(t *testing.T, nodes []*cluster.Node, stores []*replica.Store)) {
	bubble.Test(t, func(t *testing.T) {
		defer time.Sleep(time.Minute) // of virtual time, when all is closed: memberlist does not wait for its last probes
		start, net := time.Now(), memnet.New(1)
		var nodes []*cluster.Node
		var stores []*replica.Store
		for i := range 2 {
			fs := vfs.NewMem()
			s, err := replica.Open("data", store.Options{FS: fs, MemTableBytes: 1 << 20, CacheBytes: 4 << 20, MinFreeBytes: -1}, replica.Options{})
			require.NoError(t, err)
			address := fmt.Sprintf("10.0.0.%d", i+1)
			cfg := cluster.Config{Store: s, Listen: address + ":7000", Network: net.Host(address), FS: fs, Clock: sinceStart(start), LoadDir: t.TempDir(), PurgeEvery: every, ScrubEvery: every}
			if i > 0 {
				cfg.Join = []string{nodes[0].Address()}
			}
			n, err := cluster.Start(t.Context(), cfg)
			require.NoError(t, err)
			require.NoError(t, n.AwaitJoined(t.Context()))
			nodes, stores = append(nodes, n), append(stores, s)
			defer func() {
				if err := errors.Join(n.Close(), s.Close()); err != nil {
					t.Error(err)
				}
			}()
		}
		for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Second) { // of virtual time
			quiet := true
			for _, n := range nodes {
				v := n.View()
				_, err := n.Upkeep().AtRest(v.Epoch)
				quiet = quiet && err == nil && len(v.Members) == 2 && v.Epoch == nodes[0].View().Epoch && n.Lease() == nil
			}
			if quiet {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the two do not come to rest")
			}
		}
		f(t, nodes, stores)
	})
}

type sinceStart time.Time

func (s sinceStart) Now() time.Duration { return time.Since(time.Time(s)) }

func statement(i int) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI("http://e.x/s"), Predicate: triple.NewIRI("http://e.x/p"), Object: triple.NewTyped(fmt.Sprint(i), triple.XSDInteger)}
}

// Scrub meets a purged tombstone on one side. If a row was read before a delete, it must not be
// written after the purge of the tombstone. If one side still has the tombstone, this is no
// difference, and restores nothing.
func TestScrubMeetsAPurgedTombstoneOnOneSide(t *testing.T) {
	pair(t, -1, func(t *testing.T, nodes []*cluster.Node, stores []*replica.Store) {
		a := nodes[0]
		gone, stays := statement(1), statement(2)
		if _, err := store.Add(t.Context(), a, []triple.Triple{gone, stays}); err != nil {
			t.Fatal(err)
		}
		v := a.View()
		spo, _ := triple.AppendKey(nil, triple.SPO, gone)
		slots, err := v.Base.Places(spo)
		require.NoError(t, err)
		number, before, err := a.Upkeep().States(t.Context(), v, spo, slots)
		if err != nil || !upkeep.Same(before) || !before[0].Live() {
			t.Fatalf("%+v, %v", before, err)
		}
		if _, err := store.Delete(t.Context(), a, []triple.Triple{gone}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // of virtual time: all must learn of the commits
		if n, err := nodes[1].Upkeep().Purge(t.Context()); err != nil || int(n) != len(slots) {
			t.Fatalf("%d tombstones are purged, %v", n, err)
		}
		if e := nodes[1].View().Epoch; e != v.Epoch {
			t.Fatalf("not a test: epoch %d after %d", e, v.Epoch)
		}
		mustBeGone := func(when string) {
			t.Helper()
			_, states, err := a.Upkeep().States(t.Context(), v, spo, slots)
			require.NoError(t, err)
			for _, state := range states {
				if state.Live() {
					t.Errorf("%s: it is back in %+v", when, state.Slot())
				}
			}
		}
		for i, slot := range slots {
			key, _, _ := recovery.AppendVersion(nil, slot.Order, spo)
			rows := []replica.FillRow{{Table: upkeep.TableOf(slot), Key: key, Value: before[i].Value()}}
			encoded := backfill.EncodeRows(rows)
			_, err := a.Upkeep().CallMember(t.Context(), v.Epoch, slot.Machine, upkeep.MethodRepair, peer.Encode(0, upkeep.CodeRepair(&number, &encoded)))
			if r := (*peer.Refusal)(nil); !errors.As(err, &r) {
				t.Errorf("a repair from before the purge: %v", err)
			}
		}
		mustBeGone("after late repairs")

		// Tombstones are gone on one side only, as where a purge was cut short.
		if _, err := store.Delete(t.Context(), a, []triple.Triple{stays}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // of virtual time
		floors, _, err := a.Upkeep().FetchBounds(t.Context(), v)
		require.NoError(t, err)
		n, err := stores[0].Purge(t.Context(), replica.Purging{
			Joint: v.Joint(), Floors: floors, Enter: func() (func(), error) { return func() {}, nil },
			Pace: func(context.Context, int) error { return nil },
		})
		if err != nil || n == 0 {
			t.Fatalf("%d tombstones, %v", n, err)
		}
		spo, _ = triple.AppendKey(nil, triple.SPO, stays)
		if slots, err = v.Base.Places(spo); err != nil {
			t.Fatal(err)
		}
		if r, err := a.Upkeep().Scrub(t.Context()); err != nil || r.Differences != 0 || r.Left != 0 {
			t.Errorf("%+v, %v", r, err)
		}
		mustBeGone("after a scrub")
	})
}

// An older purge than the last one is refused.
func TestPurgesInOrder(t *testing.T) {
	pair(t, -1, func(t *testing.T, nodes []*cluster.Node, stores []*replica.Store) {
		for range 2 {
			if _, err := nodes[0].Upkeep().Purge(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		v := nodes[0].View()
		message := []byte{1, 0} // the first purge, without floors
		for _, method := range []string{upkeep.MethodFloors, upkeep.MethodPurge} {
			for _, n := range nodes {
				_, err := nodes[0].Upkeep().CallMember(t.Context(), v.Epoch, n.MachineID(), method, bytes.Clone(message))
				if r := (*peer.Refusal)(nil); !errors.As(err, &r) {
					t.Errorf("%s: %v", method, err)
				}
			}
		}
		for _, method := range []string{upkeep.MethodBounds, upkeep.MethodFloors, upkeep.MethodPurge, upkeep.MethodLook, upkeep.MethodCheck} {
			if _, err := nodes[0].Upkeep().CallMember(t.Context(), v.Epoch-1, nodes[1].MachineID(), method, message); err == nil {
				t.Errorf("%s of another epoch is answered", method)
			}
		}
	})
}

// The leader purges and scrubs by itself, and reports it.
func TestLookAfter(t *testing.T) {
	pair(t, time.Minute, func(t *testing.T, nodes []*cluster.Node, stores []*replica.Store) {
		for _, change := range []func(context.Context, []triple.Triple) error{
			func(ctx context.Context, ts []triple.Triple) error {
				_, err := store.Add(ctx, nodes[0], ts)
				return err
			},
			func(ctx context.Context, ts []triple.Triple) error {
				_, err := store.Delete(ctx, nodes[0], ts)
				return err
			},
		} {
			require.NoError(t, change(t.Context(), []triple.Triple{statement(1), statement(2)}))
		}
		stays := statement(3)
		if _, err := store.Add(t.Context(), nodes[0], []triple.Triple{stays}); err != nil {
			t.Fatal(err)
		}
		tombstones := func() (n int64) {
			for _, each := range stores {
				left, all := each.Tombstones()
				if n += left; !all {
					n++
				}
			}
			return n
		}
		done := func() bool {
			s := nodes[1].Status().Scrub
			return s != nil && s.Passes > 0 && s.Rows > 0 && tombstones() == 0
		}
		for deadline := time.Now().Add(10 * time.Minute); !done(); time.Sleep(time.Second) { // of virtual time
			if time.Now().After(deadline) {
				t.Fatalf("%+v, %d tombstones", nodes[1].Status().Scrub, tombstones())
			}
		}
	})
}

// If the end of an epoch ends a check, it may be done later: its caller may repeat it.
func TestEndedByEpoch(t *testing.T) {
	pair(t, -1, func(t *testing.T, nodes []*cluster.Node, _ []*replica.Store) {
		ctx, cancel := nodes[0].Upkeep().During(t.Context(), nodes[0].View().Epoch-1)
		defer cancel()
		<-ctx.Done()
		if err := upkeep.Unavailable(upkeep.Cause(ctx, ctx.Err())); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		ctx, cancel = nodes[0].Upkeep().During(t.Context(), nodes[0].View().Epoch)
		defer cancel()
		if err := upkeep.Cause(ctx, store.ErrCorrupt); err != store.ErrCorrupt {
			t.Errorf("%v", err)
		}
	})
}
