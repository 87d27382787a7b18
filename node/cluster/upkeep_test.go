package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/integration/memnet"
	"github.com/trefoildb/trefoil/internal/bubble"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

func TestPurgeDue(t *testing.T) {
	rest := purgeFacts{idle: true, quiet: true, tombstones: 1, rows: 1_000_000, since: time.Hour, every: time.Hour}
	for _, c := range []struct {
		name   string
		change func(*purgeFacts)
		want   bool
	}{
		{"in time", func(*purgeFacts) {}, true},
		{"not idle, or lost", func(f *purgeFacts) { f.idle = false }, false},
		{"not swept, reconciled or back", func(f *purgeFacts) { f.quiet = false }, false},
		{"no tombstone", func(f *purgeFacts) { f.tombstones = 0 }, false},
		{"never", func(f *purgeFacts) { f.every = -1 }, false},
		{"few, too early", func(f *purgeFacts) { f.since = 59 * time.Minute }, false},
		{"many", func(f *purgeFacts) { f.since, f.tombstones = 6*time.Minute, 10_001 }, true},
		{"many, just purged", func(f *purgeFacts) { f.since, f.tombstones = time.Minute, 10_001 }, false},
		{"a share of the rows", func(f *purgeFacts) { f.since, f.tombstones, f.rows = 6*time.Minute, 200, 19_000 }, true},
		{"not a share", func(f *purgeFacts) { f.since, f.tombstones, f.rows = 6*time.Minute, 200, 21_000 }, false},
		{"many, not idle", func(f *purgeFacts) { f.idle, f.tombstones = false, 1_000_000 }, false},
	} {
		f := rest
		c.change(&f)
		if got := f.due(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// The largest row that there may be, with the operation that it is of, fits into a
// message; what is measured here is what lies around its terms.
func TestLargestRowFits(t *testing.T) {
	const length = 2000
	iri := func(of string) triple.Term { return triple.NewIRI("u:" + strings.Repeat(of, length-2)) }
	long := triple.Triple{Subject: iri("s"), Predicate: iri("p"), Object: iri("o"), Graph: iri("g")}
	key, _ := triple.AppendKey(nil, triple.SPO, long)
	at := triple.Stamp{Epoch: math.MaxUint64, Sequence: math.MaxUint64}
	row := node.FillRow{
		Table: node.TableStorage, Key: key, Value: triple.AppendValue(nil, at, long),
		Unsettled: node.Origin{Sequencer: 1, Incarnation: math.MaxUint64, Batch: math.MaxUint64},
		Operation: &node.Operation{Kind: node.OperationAdd, Stamp: at, Key: key, Long: triple.AppendValue(nil, triple.Stamp{}, long)},
	}
	body := encodeFill([]node.FillRow{row, row})
	around := len(body)/2 - 2*4*length
	// Beside it, what else had come together when it was added.
	if around < 0 || 2*4*triple.MaxTermBytes+around+1<<10+fillBytes > peer.MaxBody {
		t.Errorf("%d bytes around the terms", around)
	}
}

// The floor of a sequencer is the lowest stamp of its triples that is unsettled
// anywhere, or its next; what another sequencer does is nothing to it.
func TestCombine(t *testing.T) {
	at := func(epoch, sequence uint64) triple.Stamp { return triple.Stamp{Epoch: epoch, Sequence: sequence} }
	floors, number := combine(map[trie.MachineID]bounds{
		1: {number: 4, next: at(7, 100), lowest: node.Floors{2: at(7, 3)}},
		2: {number: 6, next: at(7, 9), lowest: node.Floors{2: at(7, 5)}},
		3: {number: 5, next: at(7, 1), lowest: node.Floors{1: at(7, 100)}},
	})
	want := node.Floors{1: at(7, 100), 2: at(7, 3), 3: at(7, 1)}
	if !reflect.DeepEqual(floors, want) || number != 6 {
		t.Errorf("%v, %d", floors, number)
	}
}

func TestUpkeepMessages(t *testing.T) {
	b := bounds{number: 3, next: triple.Stamp{Epoch: 2, Sequence: 1}, lowest: node.Floors{5: {Epoch: 1, Sequence: 9}}}
	if got, err := parseBounds(b.encode()); err != nil || !reflect.DeepEqual(got, b) {
		t.Errorf("%+v, %v", got, err)
	}
	r := scanRequest{secret: recovery.Secret{1, 2}, bits: 5, rate: 77, floors: b.lowest, buckets: [2][]int{{1, 31}, {4}}}
	if got, err := parseScan(r.encode()); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, wrong := range []scanRequest{{bits: maxBucketBits + 1}, {bits: 4, buckets: [2][]int{{16}, nil}}} {
		if _, err := parseScan(wrong.encode()); err == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

func FuzzUpkeepMessages(f *testing.F) {
	r := scanRequest{bits: 5, floors: node.Floors{5: {Epoch: 1}}, buckets: [2][]int{{1}, {4}}}
	f.Add(r.encode())
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		parseScan(data)
		parseBounds(data)
		decodePurge(data)
		parseList(data)
		parseLook(data, make([]recovery.Slot, 2))
		parseDigests(data, &scanRequest{bits: 4})
	})
}

// pair runs f with two nodes of one cluster, in virtual time, which are looked after
// so often.
func pair(t *testing.T, every time.Duration, f func(t *testing.T, nodes []*Node)) {
	pairOf(t, every, node.Options{}, f)
}

// pairOf is pair with some options of stores.
func pairOf(t *testing.T, every time.Duration, o node.Options, f func(t *testing.T, nodes []*Node)) {
	bubble.Test(t, func(t *testing.T) {
		defer time.Sleep(time.Minute) // of virtual time, when all is closed: memberlist does not wait for its last probes
		start, net := time.Now(), memnet.New(1)
		var nodes []*Node
		for i := range 2 {
			fs := vfs.NewMem()
			o.FS, o.Member, o.MemTableBytes, o.CacheBytes, o.MinFreeBytes = fs, true, 1<<20, 4<<20, -1
			s, err := node.Open("data", o)
			if err != nil {
				t.Fatal(err)
			}
			address := fmt.Sprintf("10.0.0.%d", i+1)
			cfg := Config{Store: s, Listen: address + ":7000", Network: net.Host(address), FS: fs, Clock: sinceStart(start), LoadDir: t.TempDir(), PurgeEvery: every, ScrubEvery: every, maxRequests: 64}
			if i > 0 {
				cfg.Join = []string{nodes[0].Address()}
			}
			n, err := Start(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, n)
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
				_, err := n.atRest(epochOf(v))
				quiet = quiet && err == nil && len(v.Members) == 2 && v.Epoch == nodes[0].View().Epoch && n.Lease() == nil
			}
			if quiet {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the two do not come to rest")
			}
		}
		f(t, nodes)
	})
}

type sinceStart time.Time

func (s sinceStart) Now() time.Duration { return time.Since(time.Time(s)) }

func statement(i int) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI("http://e.x/s"), Predicate: triple.NewIRI("http://e.x/p"), Object: triple.NewTyped(fmt.Sprint(i), triple.XSDInteger)}
}

// Scrub meets a purged tombstone on one side. What was looked at before a delete is
// not written after the tombstone is purged; and a tombstone that one side still has
// is no difference, and brings nothing back.
func TestScrubMeetsAPurgedTombstoneOnOneSide(t *testing.T) {
	pair(t, -1, func(t *testing.T, nodes []*Node) {
		a := nodes[0]
		gone, stays := statement(1), statement(2)
		if _, err := a.Add(t.Context(), []triple.Triple{gone, stays}); err != nil {
			t.Fatal(err)
		}
		v := a.View()
		c := &comparison{node: a, view: v, repair: true, problem: func(p node.Problem) { t.Errorf("%+v", p) }}
		s := suspect{}
		s.spo, _ = triple.AppendKey(nil, triple.SPO, gone)
		var err error
		if s.slots, err = v.Base.Slots(s.spo); err != nil {
			t.Fatal(err)
		}
		number, before, err := c.lookAt(t.Context(), []suspect{s}, []int{0})
		if err != nil || !same(before[0]) || !before[0][0].live() {
			t.Fatalf("%+v, %v", before, err)
		}
		if _, err := a.Delete(t.Context(), []triple.Triple{gone}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // of virtual time: all hear of what is settled
		if n, err := nodes[1].Purge(t.Context()); err != nil || int(n) != len(s.slots) {
			t.Fatalf("%d tombstones are purged, %v", n, err)
		}
		if e := nodes[1].View().Epoch; e != v.Epoch {
			t.Fatalf("not a test: epoch %d after %d", e, v.Epoch)
		}
		mustBeGone := func(when string) {
			t.Helper()
			_, states, err := c.lookAt(t.Context(), []suspect{s}, []int{0})
			if err != nil {
				t.Fatal(err)
			}
			for _, state := range states[0] {
				if state.live() {
					t.Errorf("%s: it is back in %+v", when, state.slot)
				}
			}
		}
		for _, state := range before[0] {
			key, _, _ := recovery.AppendVersion(nil, state.slot.Order, s.spo)
			rows := []node.FillRow{{Table: tableOf(state.slot), Key: key, Value: state.value}}
			_, err := a.callIn(t.Context(), v.Epoch, state.slot.Machine, methodRepair, encodeRepair(number, rows))
			if r := (*peer.Refusal)(nil); !errors.As(err, &r) {
				t.Errorf("a repair from before the purge: %v", err)
			}
		}
		mustBeGone("after late repairs")

		// Tombstones are gone on one side only, as where a purge was cut short.
		if _, err := a.Delete(t.Context(), []triple.Triple{stays}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // of virtual time
		floors, _, err := a.askBounds(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		n, err := a.store.Purge(t.Context(), node.Purging{
			Joint: v.Joint(), Floors: floors, Enter: func() (func(), error) { return func() {}, nil },
			Pace: func(context.Context, int) error { return nil },
		})
		if err != nil || n == 0 {
			t.Fatalf("%d tombstones, %v", n, err)
		}
		s.spo, _ = triple.AppendKey(nil, triple.SPO, stays)
		if s.slots, err = v.Base.Slots(s.spo); err != nil {
			t.Fatal(err)
		}
		if r, err := a.Scrub(t.Context()); err != nil || r.Differences != 0 || r.Left != 0 {
			t.Errorf("%+v, %v", r, err)
		}
		mustBeGone("after a scrub")
	})
}

// An older purge than the last one is refused.
func TestPurgesInOrder(t *testing.T) {
	pair(t, -1, func(t *testing.T, nodes []*Node) {
		for range 2 {
			if _, err := nodes[0].Purge(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		v := nodes[0].View()
		var e peer.Encoder
		e.Uvarint(1)
		encodeFloors(&e, node.Floors{})
		for _, method := range []string{methodFloors, methodPurge} {
			for _, n := range nodes {
				_, err := nodes[0].callIn(t.Context(), v.Epoch, n.self, method, bytes.Clone(e.Data()))
				if r := (*peer.Refusal)(nil); !errors.As(err, &r) {
					t.Errorf("%s: %v", method, err)
				}
			}
		}
		for _, method := range []string{methodBounds, methodFloors, methodPurge, methodLook, methodCheck} {
			if _, err := nodes[0].callIn(t.Context(), v.Epoch-1, nodes[1].self, method, e.Data()); err == nil {
				t.Errorf("%s of another epoch is answered", method)
			}
		}
	})
}

// The leader purges and scrubs by itself, and says so.
func TestLookAfter(t *testing.T) {
	pair(t, time.Minute, func(t *testing.T, nodes []*Node) {
		for _, change := range []func(context.Context, []triple.Triple) error{
			func(ctx context.Context, ts []triple.Triple) error { _, err := nodes[0].Add(ctx, ts); return err },
			func(ctx context.Context, ts []triple.Triple) error { _, err := nodes[0].Delete(ctx, ts); return err },
		} {
			if err := change(t.Context(), []triple.Triple{statement(1), statement(2)}); err != nil {
				t.Fatal(err)
			}
		}
		stays := statement(3)
		if _, err := nodes[0].Add(t.Context(), []triple.Triple{stays}); err != nil {
			t.Fatal(err)
		}
		tombstones := func() (n int64) {
			for _, each := range nodes {
				left, all := each.store.Tombstones()
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
