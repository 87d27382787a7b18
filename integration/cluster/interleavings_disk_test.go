// Interleavings of disks that come back blank, old or stalled.

package cluster

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// The interleavings of disks that lose what they had, or stall.

// runAs starts a machine's process with a clock of its own and a store whose disk
// can stall. That of the agreement cannot: virtual time does not pass while somebody
// waits for a mutex.
func (m *machine) runAs(clock cluster.Clock) *shakyFS {
	w := m.world
	w.t.Helper()
	disk := &shakyFS{FS: m.world.events.disk(m.name, m.disk)}
	var err error
	m.store, err = replica.Open(dataDir, store.Options{
		FS: disk, Member: true, MemTableBytes: 1 << 20, CacheBytes: 4 << 20, MinFreeBytes: -1, MaxSegmentBytes: 1 << 20, Logger: w.log.With("machine", m.name),
	}, replica.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := cluster.Config{
		Store: m.store, Listen: m.address(), Network: w.net.Host(m.name), FS: m.disk, Clock: clock,
		MinSegmentBytes: 8 << 10, MaxSegmentBytes: 64 << 10, LoadDir: m.loads, Logger: w.log.With("machine", m.name),
	}
	if m.node, err = cluster.Start(w.t.Context(), cfg); err != nil {
		m.store.Close()
		w.t.Fatal(err)
	}
	return disk
}

// stall makes all syncs wait until they are released.
func (f *shakyFS) stall() (release func()) {
	released := make(chan struct{})
	var done atomic.Bool
	f.do = func() {
		f.left.Store(1)
		<-released
	}
	f.left.Store(1)
	return func() {
		if done.CompareAndSwap(false, true) {
			f.left.Store(0)
			close(released)
		}
	}
}

// mustJoinAnew checks that a machine which shows less than it had is not what it was.
func (w *world) mustJoinAnew(m *machine) {
	w.t.Helper()
	m.run(w.others(m)...)
	m.mustBeExcluded()
	m.rejoin()
}

func diskComesBackBlank(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	m := w.up()[w.random.IntN(3)]
	id := m.node.MachineID()
	m.kill()
	m.disk = memdisk.New()
	m.run(w.up()...)
	w.until("the old machine is excluded", func() bool { return w.others(m)[0].node.View().Find(id) == nil })
	w.settle()
	w.mustHave(setOf(all))
}

func diskComesBackRolledBack(t *testing.T, w *world) {
	w.form()
	all, more := w.spread(), fresh()[:100]
	m := w.up()[w.random.IntN(3)]
	before := m.disk.CrashClone(vfs.CrashCloneCfg{})
	w.mustAdd(w.any(), more...)
	m.kill()
	m.disk = before
	w.mustJoinAnew(m)
	w.settle()
	w.mustHave(setOf(all, more))
}

// Nothing was written since but what walks sent to it: its mark tells.
func diskComesBackFromBeforeAFill(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	m, lost := w.machines[0], w.machines[3]
	before := m.disk.CrashClone(vfs.CrashCloneCfg{})
	mark := m.store.Mark()
	lost.kill()
	w.settle()
	if m.store.Mark() == mark {
		w.notATest("nothing was sent to it")
	}
	m.kill()
	m.disk = before
	w.mustJoinAnew(m)
	w.settle()
	w.mustHave(setOf(all))
}

// The tail of the store's log is gone, as where a disk lied about a sync. If the length that was
// synced is still beside the log, the start is refused, and the machine joins with an empty disk.
func diskComesBackCut(t *testing.T, w *world) {
	w.form()
	all, more := w.spread(), fresh()[:100]
	m := w.up()[w.random.IntN(3)]
	log, before := m.lastLog()
	w.mustAdd(w.any(), more...)
	m.kill()
	name, now := m.lastLog()
	same := 0 // a log that is used again is as long as it was
	for same < len(before) && same < len(now) && before[same] == now[same] {
		same++
	}
	if name != log || same == len(now) {
		w.notATest("the store has begun a new log")
	}
	f, err := m.disk.Create(name, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(now[:same])
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	switch err := m.tryRun(t.Context(), w.others(m)...); {
	case errors.Is(err, pebble.ErrCorruption):
		m.disk = memdisk.New()
		m.run(w.others(m)...)
	case err != nil:
		t.Fatalf("start %s: %v", m.name, err)
	default:
		m.mustBeExcluded()
		m.rejoin()
	}
	w.settle()
	w.mustHave(setOf(all, more))
}

// lastLog returns the newest log of a machine's store, and what is in it.
func (m *machine) lastLog() (name string, text []byte) {
	t := m.world.t
	t.Helper()
	dir := m.disk.PathJoin(dataDir, "store")
	names, err := m.disk.List(dir)
	require.NoError(t, err)
	for _, n := range names {
		if path := m.disk.PathJoin(dir, n); strings.HasSuffix(n, ".log") && path > name {
			name = path
		}
	}
	f, err := m.disk.Open(name)
	require.NoError(t, err)
	text, err = io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return name, text
}

// The machine is excluded, and writes go on without it.
func diskStallsUnderLoad(t *testing.T, w *world) {
	w.form()
	all, more := w.spread(), fresh()
	slow := w.others(w.leader())[0]
	slow.stop()
	fs := slow.runAs(w)
	w.settle()
	id, through := slow.node.MachineID(), w.others(slow)
	var longest time.Duration
	written := 0
	writer := w.background(func(ctx context.Context) {
		last := time.Now()
		for ; ctx.Err() == nil && written < len(more); sleep(ctx, 50*time.Millisecond) {
			timed, cancel := context.WithTimeout(ctx, 5*time.Second)
			_, err := store.Add(timed, through[written%2].node, more[written:written+1])
			cancel()
			if err == nil {
				written++
				longest = max(longest, time.Since(last))
				last = time.Now()
			}
		}
	})
	sleep(t.Context(), 2*time.Second)
	// The leader's word does not reach it: it would wait for the apply that stalls, by a
	// mutex, and virtual time would stand still. Its own word would reach the leader.
	w.net.CutOneWay(w.leader().name, slow.name)
	release := fs.stall()
	defer release()
	sleep(t.Context(), time.Minute)
	if through[0].node.View().Find(id) != nil {
		t.Error("it is not excluded")
	}
	writer.end()
	release()
	w.net.Heal()
	slow.mustBeExcluded()
	slow.rejoin()
	w.settle()
	t.Logf("%d writes, the longest took %s", written, longest)
	if written < 200 || longest > 30*time.Second {
		t.Errorf("%d writes in a minute, one took %s", written, longest)
	}
	w.decided()
	got, err := w.any().contents(t.Context())
	require.NoError(t, err)
	want := setOf(all, more[:written])
	if written < len(more) && got[more[written].String()] { // the one that was interrupted
		want[more[written].String()] = true
	}
	w.mustHave(want)
}

// Another one leads, who excludes the machine whose disk stalls, which still answers.
func leadersDiskStalls(t *testing.T, w *world) {
	w.form()
	all, more := w.spread(), fresh()[:50]
	m := w.others(w.leader())[0]
	m.stop()
	fs := m.runAs(w)
	w.settle()
	w.until("the machine leads", func() bool {
		if l := w.leader(); l != m {
			l.stop()
			l.run()
			w.settle()
		}
		return w.leader() == m
	})
	id, others := m.node.MachineID(), w.others(m)
	release := fs.stall()
	defer release()
	w.until("another one leads", func() bool {
		leader := others[0].node.Status().Leader
		return leader != "" && leader != id.String() && leader == others[1].node.Status().Leader
	})
	// What the next view has to write would wait by a mutex; see runAs.
	w.net.CutOneWay(others[0].name, m.name)
	w.net.CutOneWay(others[1].name, m.name)
	w.until("the machine is excluded", func() bool {
		for _, o := range others {
			if o.node.View().Find(id) != nil || o.node.Lease() != nil {
				return false
			}
		}
		return true
	})
	w.mustAdd(others[0], more...)
	release()
	w.net.Heal()
	m.mustBeExcluded()
	m.rejoin()
	w.settle()
	w.mustHave(setOf(all, more))
}
