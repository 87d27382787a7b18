// Tests of logs on failing disks.

package agreement

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/hashicorp/raft"

	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/trie"
)

// TestCrashOfAll takes the power from all nodes at an arbitrary moment: what was
// agreed on is there afterwards.
func TestCrashOfAll(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 5 {
		bubble(t, func(t *testing.T, c *cluster) {
			a := c.grow(3)
			agreed := 1 + rng.IntN(8)
			for epoch(a) < uint64(agreed) {
				require.NoError(t, a.Propose(soon(t), after(a.View())))
			}
			disks := map[trie.MachineID]*memdisk.FS{}
			for id := range c.nodes {
				disks[id] = c.disks[id].CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
			}
			for id := range ids(1, 3) {
				c.stop(id)
			}
			c.disks = disks
			for id := range ids(1, 3) {
				c.open(id)
			}
			l := c.leader()
			if epoch(l) != uint64(agreed) {
				t.Fatalf("epoch %d of %d (seed %d)", epoch(l), agreed, seed)
			}
			require.NoError(t, l.Propose(soon(t), after(l.View())))
		})
	}
}

// TestSnapshotGoesToWhoIsFarBehind also reopens it, and takes part with what it has.
func TestSnapshotGoesToWhoIsFarBehind(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.trailing = 2
		a := c.grow(3)
		behind := c.nodes[3].Stats().LastEntry
		c.net.isolate(addressOf(3))
		for range 20 {
			require.NoError(t, a.Propose(soon(t), after(a.View())))
		}
		require.NoError(t, a.raft.Snapshot().Error())
		if s := a.Stats(); s.FirstEntry <= behind {
			t.Fatalf("the log still has what is missing: %+v", s)
		}
		c.net.heal(addressOf(3))
		c.until("the snapshot is there", func() bool { return epoch(c.nodes[3]) == epoch(a) })
		c.stop(3)
		b := c.open(3)
		if epoch(b) == 0 {
			t.Error("the snapshot is not there after a restart")
		}
		c.until("it follows", func() bool { return epoch(b) == epoch(a) })
		c.net.isolate(addressOf(2)) // so 3 is needed
		require.NoError(t, c.leader().Propose(soon(t), after(a.View())))
	})
}

func TestRecoverMajority(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		a := c.grow(3)
		require.NoError(t, a.Propose(soon(t), after(a.View())))
		for id := range ids(1, 3) {
			c.stop(id)
		}
		cfg := c.config(1)
		last, _, err := Stored(cfg)
		if err != nil || last == nil || last.Epoch != 2 {
			t.Fatalf("Stored: %+v, %v", last, err)
		}
		next := after(last)
		if err := RecoverMajority(cfg, next); err == nil || !strings.Contains(err.Error(), "generation") {
			t.Fatalf("with the same generation: %v", err)
		}
		next.Generation++
		require.NoError(t, RecoverMajority(cfg, next))
		a = c.open(1)
		if l := c.leader(); l != a || a.View().Generation != 2 || epoch(a) != 3 {
			t.Fatalf("view %+v", a.View())
		}
		voters, learners := a.Configuration()
		if len(voters) != 1 || voters[1] == "" || len(learners) != 0 {
			t.Errorf("voters %v, learners %v", voters, learners)
		}
		require.NoError(t, a.Propose(soon(t), after(a.View())))
		if last, _, err := Stored(Config{ID: 9, Address: "x:1", Dir: "new", FS: vfs.NewMem()}); last != nil || err != nil {
			t.Errorf("Stored without anything: %v, %v", last, err)
		}
		if err := RecoverMajority(Config{ID: 9, Address: "x:1", Dir: "new", FS: vfs.NewMem()}, next); err == nil {
			t.Error("a node that never took part recovers")
		}
	})
}

// TestDiskFails makes one disk fail: its node says so and does not lead, its
// process lives, and the others go on.
func TestDiskFails(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		var broken atomic.Bool
		fatal := make(chan error, 1)
		cfg := c.config(1)
		cfg.OnFatal = func(err error) { fatal <- err }
		cfg.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				return errors.New("the disk is gone")
			}
			return nil
		}))
		a, err := Open(cfg)
		require.NoError(t, err)
		c.nodes[1] = a
		require.NoError(t, a.Bootstrap(soon(t), newView(t, 1)))
		c.open(2)
		c.open(3)
		require.NoError(t, a.SetMembers(soon(t), ids(1, 3), nil))
		v := a.View()
		broken.Store(true)
		if err := a.Propose(soon(t), after(v)); err == nil {
			t.Error("Propose on a broken disk")
		}
		<-fatal
		if a.IsLeader() {
			t.Error("it still leads")
		}
		if err := a.Propose(soon(t), after(v)); !errors.Is(err, ErrNotLeader) {
			t.Errorf("afterwards: %v", err)
		}
		delete(c.nodes, 1)
		l := c.leader()
		if err := l.Propose(soon(t), after(l.View())); err != nil {
			t.Error(err)
		}
		_ = a.Close() // what it says of a broken disk does not matter, only that it ends
	})
}

// TestRotationFails makes the disk fail where Pebble begins another file of its log: at the last sync
// of the old file, and at the new file. The store must return the error, and the process must live.
func TestRotationFails(t *testing.T) {
	// fill writes entries, synced one by one, until an error or until Pebble must have rotated.
	fill := func(s *store) (stored uint64, err error) {
		for i := range uint64(100) {
			if err := s.StoreLog(&raft.Log{Index: 1 + i, Data: make([]byte, memTableBytes/64)}); err != nil {
				return i, err
			}
		}
		return 100, nil
	}
	// 1. Find out which sync of a log is the last one before the second file.
	isLog := func(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".log") }
	begins := func(op errorfs.Op) bool {
		return isLog(op) && (op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite)
	}
	syncs := func(op errorfs.Op) bool {
		return isLog(op) && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo)
	}
	var files, synced, last atomic.Int64
	s := openTestStore(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch {
		case begins(op):
			if files.Add(1) == 2 {
				last.Store(synced.Load())
			}
		case syncs(op):
			synced.Add(1)
		}
		return nil
	})))
	if _, err := fill(s); err != nil || last.Load() == 0 {
		t.Fatalf("%d files, %d syncs, %v", files.Load(), synced.Load(), err)
	}
	require.NoError(t, s.close())
	// 2. Fail there.
	for _, where := range []string{"sync", "file"} {
		files.Store(0)
		synced.Store(0)
		disk := vfs.NewMem()
		s := openTestStore(t, errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if begins(op) && files.Add(1) == 2 && where == "file" || syncs(op) && synced.Add(1) == last.Load() && where == "sync" {
				return errors.New("the disk is gone")
			}
			return nil
		})))
		stored, err := fill(s)
		if err == nil {
			t.Errorf("%s: no error", where)
		}
		_ = s.close() // its error does not matter
		// 3. What was acknowledged is there.
		s = openTestStore(t, disk)
		if got, err := s.LastIndex(); err != nil || got < stored {
			t.Errorf("%s: %d of %d entries, %v", where, got, stored, err)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}

func openTestStore(t *testing.T, fs vfs.FS) *store {
	t.Helper()
	s, err := openStore(fs, "raft", Config{}.withDefaults().Logger, nil)
	require.NoError(t, err)
	return s
}

// TestFlippedBitInLog flips a bit of the last entries after the process was killed: without the
// error this node could vote twice.
func TestFlippedBitInLog(t *testing.T) {
	disk := vfs.NewMem()
	s := openTestStore(t, disk)
	defer s.close()
	for i := range uint64(50) {
		require.NoError(t, s.StoreLogs([]*raft.Log{{Index: i + 1, Term: 1, Data: make([]byte, 40)}}))
	}
	killed := vfs.NewMem()
	if _, err := vfs.Clone(disk, killed, "raft", "raft"); err != nil {
		t.Fatal(err)
	}
	names, err := killed.List("raft")
	require.NoError(t, err)
	flipped := 0
	for _, name := range names {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		f, err := killed.OpenReadWrite("raft/"+name, vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		info, err := f.Stat()
		require.NoError(t, err)
		var b [1]byte
		at := info.Size() - 5
		_, err = f.ReadAt(b[:], at)
		b[0] ^= 1
		_, written := f.WriteAt(b[:], at)
		require.NoError(t, errors.Join(err, written, f.Close()))
		flipped++
	}
	if _, err := openStore(killed, "raft", Config{}.withDefaults().Logger, nil); !errors.Is(err, pebble.ErrCorruption) || flipped != 1 {
		t.Errorf("%d logs flipped: %v", flipped, err)
	}
}

// TestLogAgainstModel does random operations on the log and on a map.
func TestLogAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	fs := memdisk.New()
	s := openTestStore(t, fs)
	defer func() { s.close() }()
	var first, last uint64
	model := map[uint64]raft.Log{}
	for step := range 600 {
		switch n := rng.IntN(10); {
		case n < 6: // append, or replace a suffix
			at := last + 1
			if last == 0 {
				at = 1 + rng.Uint64N(100)
			} else if n == 0 {
				at = first + rng.Uint64N(last-first+1)
				require.NoError(t, s.DeleteRange(at, last))
				if at == first {
					first = 0
				}
			}
			var logs []*raft.Log
			for i := range 1 + rng.Uint64N(5) {
				l := raft.Log{Index: at + i, Term: rng.Uint64(), Type: raft.LogType(rng.IntN(6)), Data: []byte{byte(step), 1}}
				if rng.IntN(2) == 0 {
					l.Extensions = []byte{7, byte(i)}
				}
				logs = append(logs, &l)
				model[l.Index] = l
			}
			require.NoError(t, s.StoreLogs(logs))
			if first == 0 {
				first = at
			}
			last = logs[len(logs)-1].Index
		case n < 7 && last > 0: // drop a prefix
			to := first + rng.Uint64N(last-first+1)
			require.NoError(t, s.DeleteRange(first, to))
			if first = to + 1; first > last {
				first, last = 0, 0
			}
		case n < 8: // the power fails
			clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
			require.NoError(t, s.close())
			fs = clone
			s = openTestStore(t, fs)
		case last > 0:
			if err := s.StoreLog(&raft.Log{Index: last + 2}); err == nil {
				t.Fatal("a gap was stored")
			}
		}
		f, err := s.FirstIndex()
		l, err2 := s.LastIndex()
		if f != first || l != last || err != nil || err2 != nil {
			t.Fatalf("step %d: %d to %d, not %d to %d (%v, %v)", step, f, l, first, last, err, err2)
		}
		var got raft.Log
		if err := s.GetLog(last+1, &got); !errors.Is(err, raft.ErrLogNotFound) {
			t.Fatalf("past the end: %v", err)
		}
		if first == 0 {
			continue
		}
		i := first + rng.Uint64N(last-first+1)
		require.NoError(t, s.GetLog(i, &got))
		if want := model[i]; got.Index != i || got.Term != want.Term || got.Type != want.Type ||
			string(got.Data) != string(want.Data) || string(got.Extensions) != string(want.Extensions) {
			t.Fatalf("step %d: entry %d is %+v, not %+v", step, i, got, want)
		}
	}
}

func TestStableValues(t *testing.T) {
	fs := memdisk.New()
	s := openTestStore(t, fs)
	if v, err := s.Get([]byte("a")); len(v) != 0 || err != nil {
		t.Errorf("a value that is not there: %q, %v", v, err)
	}
	if n, err := s.GetUint64([]byte("a")); n != 0 || err != nil {
		t.Errorf("a number that is not there: %d, %v", n, err)
	}
	require.NoError(t, errors.Join(s.Set([]byte("a"), []byte("x")), s.SetUint64([]byte("b"), 7)))
	clone := fs.CrashClone(vfs.CrashCloneCfg{})
	s.close()
	s = openTestStore(t, clone)
	defer s.close()
	v, err := s.Get([]byte("a"))
	n, err2 := s.GetUint64([]byte("b"))
	if string(v) != "x" || n != 7 || err != nil || err2 != nil {
		t.Errorf("after a crash: %q, %d (%v, %v)", v, n, err, err2)
	}
	if _, err := s.GetUint64([]byte("a")); err == nil {
		t.Error("one byte is a number")
	}
}

// Raft reads the previous entry, a whole view, for each message: from memory, not the disk.
func TestNewestEntryFromMemory(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		a := c.grow(3)
		require.NoError(t, a.Propose(soon(t), after(a.View())))
		time.Sleep(time.Second) // of virtual time
		require.NoError(t, a.store.db.Delete(logKey(a.store.last), pebble.Sync))
		time.Sleep(time.Second)
		require.NoError(t, a.Propose(soon(t), after(a.View())))
		c.until("all have the view", func() bool { return epoch(c.nodes[2]) == epoch(a) && epoch(c.nodes[3]) == epoch(a) })
	})
}

// TestCloseWaitsForHeartbeats: a heartbeat may write a new term, so the log stays open until it is
// done, and no other one begins.
func TestCloseWaitsForHeartbeats(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.grow(2)
		b := c.nodes[2]
		if !b.heartbeats.begin() {
			t.Fatal("no heartbeat may be taken")
		}
		closed := make(chan error, 1)
		go func() { closed <- b.Close() }()
		synctest.Wait()
		if err := b.store.SetUint64([]byte("term"), 1); err != nil {
			t.Errorf("the log of a node that takes a heartbeat: %v", err)
		}
		if b.heartbeats.begin() {
			t.Error("another heartbeat is taken")
		}
		b.heartbeats.running.Done()
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}
