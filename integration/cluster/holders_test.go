// Holders that do not answer, and full disks.

package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// Holders that do not answer, or have no room.

// writer adds triples through some machines, one after the other, until it is ended.
type writer struct {
	*background
	written int
	longest time.Duration // that passed between two
}

func (w *world) writer(through []*machine, all []triple.Triple) *writer {
	x := &writer{}
	x.background = w.background(func(ctx context.Context) {
		last := time.Now()
		for ; ctx.Err() == nil && x.written < len(all); sleep(ctx, 50*time.Millisecond) {
			timed, cancel := context.WithTimeout(ctx, 30*time.Second)
			_, err := through[x.written%len(through)].node.Add(timed, all[x.written:x.written+1])
			cancel()
			if err == nil {
				x.written++
				x.longest = max(x.longest, time.Since(last))
				last = time.Now()
			}
		}
	})
	return x
}

// Two machines do not reach each other, and the leader reaches both: what one of them
// stamps the other never gets. One of the two is excluded, and only one.
func TestHolderDoesNotAnswer(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		w.form()
		all, more := w.spread(), fresh()
		leader := w.leader()
		pair := w.others(leader)[:2]
		before := leader.node.View()
		through := w.others(pair...)
		writer := w.writer(through, more)
		sleep(t.Context(), 2*time.Second)
		w.net.Cut(pair[0].name, pair[1].name)
		accused := false
		for range 60 {
			for _, m := range leader.node.Status().Members {
				accused = accused || m.Slow > 0
			}
			sleep(t.Context(), time.Second)
		}
		writer.end()
		v := leader.node.View()
		if len(v.Members) != len(before.Members)-1 {
			t.Errorf("%d members", len(v.Members))
		}
		if !accused {
			t.Error("the status tells nothing")
		}
		t.Logf("%d writes, the longest took %s", writer.written, writer.longest)
		if writer.written < 100 || writer.longest > 25*time.Second {
			t.Errorf("%d writes in a minute, one took %s", writer.written, writer.longest)
		}
		w.net.Heal()
		for _, m := range pair {
			if v.Find(m.node.MachineID()) == nil {
				m.mustBeExcluded()
				m.rejoin()
			}
		}
		w.settle()
		got, err := w.any().contents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := setOf(all, more[:writer.written])
		if writer.written < len(more) && got[more[writer.written].String()] { // the one that was interrupted
			want[more[writer.written].String()] = true
		}
		w.mustHave(want)
	})
}

// keptFree is the watermark of disks that can be full.
const keptFree = 64 << 20

// runWithin starts a machine's process on a disk that can be full.
func (m *machine) runWithin() {
	w := m.world
	w.t.Helper()
	m.free(10 << 30)
	var err error
	m.store, err = replica.Open(dataDir, store.Options{
		FS: m.disk, Member: true, MemTableBytes: 1 << 20, CacheBytes: 4 << 20, MinFreeBytes: keptFree, MaxSegmentBytes: 1 << 20, Logger: w.log.With("machine", m.name),
	}, replica.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := cluster.Config{
		Store: m.store, Listen: m.address(), Network: w.net.Host(m.name), FS: m.disk, Clock: w,
		MinSegmentBytes: 8 << 10, MaxSegmentBytes: 64 << 10, LoadDir: m.loads, Logger: w.log.With("machine", m.name),
	}
	if m.node, err = cluster.Start(w.t.Context(), cfg); err != nil {
		m.store.Close()
		w.t.Fatal(err)
	}
}

func (m *machine) free(bytes uint64) {
	m.disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: bytes, TotalBytes: 20 << 30})
}

// A disk fills up under writes. What was stamped is settled, so that reads are
// answered; adds are refused through all machines with the full one's name, deletes go
// on; views change, and with room all goes on.
func TestDiskFillsUp(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		joiner := w.machines[3]
		w.machines = w.machines[:3]
		w.form()
		all, more := w.spread(), fresh()
		full := w.others(w.leader())[0]
		full.stop()
		full.runWithin()
		w.settle()
		writer := w.writer(w.up(), more)
		sleep(t.Context(), 2*time.Second)
		full.free(keptFree - 1<<20)
		refused := func(tr triple.Triple) {
			t.Helper()
			for _, m := range w.machines[:3] {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				_, err := m.node.Add(ctx, []triple.Triple{tr})
				cancel()
				if !errors.Is(err, store.ErrDiskFull) || !strings.Contains(err.Error(), full.node.MachineID().String()) || !strings.Contains(err.Error(), full.address()) {
					t.Errorf("through %s: %v", m.name, err)
				}
			}
		}
		w.until("the status tells whose disk is full", func() bool {
			for _, m := range w.leader().node.Status().Members {
				if m.ID == full.node.MachineID().String() {
					return strings.Contains(m.Error, "full")
				}
			}
			return false
		})
		sleep(t.Context(), 2*time.Second) // all have heard of it
		refused(more[len(more)-1])
		writer.end()
		for _, m := range w.up() { // nothing waits for room
			got, err := m.contents(t.Context())
			if err != nil {
				t.Errorf("through %s: %v", m.name, err)
			}
			for text := range setOf(all, more[:writer.written]) {
				if !got[text] {
					t.Fatalf("%s has no %s", m.name, text)
				}
			}
		}
		w.mustDelete(w.any(), all[:50]...)
		// A view changes: nothing of it needs the room.
		w.machines = append(w.machines, joiner)
		joiner.run(w.leader())
		w.until("it is adopted", func() bool {
			return full.node.View().Epoch == w.leader().node.View().Epoch && len(full.node.View().Members) == 4
		})
		if _, err := full.contents(t.Context()); err != nil {
			t.Error(err)
		}
		full.free(10 << 30)
		w.settle()
		w.mustAdd(w.any(), more...)
		w.mustHave(setOf(all[50:], more))
	})
}
