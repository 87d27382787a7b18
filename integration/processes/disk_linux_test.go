// Full disks and failing syncs.

package processes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// TestFullDisk: where the disk of one machine fills up, adds are refused with the
// reason, reads of what is settled go on and no machine is excluded; where there is
// room again, all goes on.
func TestFullDisk(t *testing.T) {
	need(t)
	t.Parallel()
	c := newCluster(t, 3)
	full := c.machines[1]
	disk := full.dir
	require.NoError(t, os.Mkdir(disk, 0o755))
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=512m"); err != nil {
		t.Fatalf("mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	full.dir = filepath.Join(disk, "data")
	c.form()
	h := &history{}
	c.fill(h, 3000)
	before := c.whole(3)

	ballast := filepath.Join(disk, "ballast")
	room := freeOf(t, full.dir)
	if err := os.WriteFile(ballast, make([]byte, room-40<<20), 0o600); err != nil { // 64 MiB have to be free
		t.Fatal(err)
	}
	refused := 0
	until(t, "adds are refused", func() error {
		refused++
		_, err := c.machines[0].client.Add(t.Context(), []triple.Triple{refusedTriple(refused)})
		if err == nil {
			return errors.New("an add is taken")
		}
		if !strings.Contains(err.Error(), "disk") {
			return err
		}
		t.Logf("an add says: %v", err)
		return nil
	})
	s := c.whole(3)
	if s.Members[0].Incarnation != before.Members[0].Incarnation || idOf(s, full.address) != idOf(before, full.address) {
		t.Errorf("machines were excluded: %+v", s.Members)
	}
	until(t, "the status tells of the full disk", func() error { // with the machine's next report
		s := c.whole(3)
		if slices.ContainsFunc(s.Members, func(m client.Member) bool { return m.Address == full.address && m.Error != "" }) {
			return nil
		}
		return fmt.Errorf("it does not: %+v", s.Members)
	})
	c.mustHoldBy(h, "match") // what is on its way to the full disk is in no predicate of these

	require.NoError(t, os.Remove(ballast))
	t.Logf("%d MiB were free, and are %d now", room>>20, freeOf(t, full.dir)>>20)
	until(t, "adds are taken again", func() error {
		batch := h.add(50)
		_, err := c.machines[2].client.Add(t.Context(), triplesOf(batch))
		if err == nil {
			h.note(batch, added)
		}
		return err
	})
	if _, err := c.machines[0].client.DeleteMatch(t.Context(), triple.Pattern{Subject: refusedTriple(0).Subject}); err != nil {
		t.Fatal(err)
	}
	c.whole(3)
	c.mustHold(h)
}

// refusedTriple is one that a full disk may refuse.
func refusedTriple(n int) triple.Triple {
	full := triple.NewIRI(namespace + "full")
	return triple.Triple{Subject: full, Predicate: full, Object: triple.NewIRI(namespace + "full" + strconv.Itoa(n))}
}

func freeOf(t *testing.T, dir string) int64 {
	t.Helper()
	var s syscall.Statfs_t
	require.NoError(t, syscall.Statfs(dir, &s))
	return int64(s.Bavail) * s.Bsize
}

// TestFailingSync: a machine whose fsync fails ends; the others go on, and what was
// acknowledged is there. Started again on a good disk it takes its part.
func TestFailingSync(t *testing.T) {
	need(t, "strace")
	t.Parallel()
	c := form(t, 3)
	h := &history{}
	c.fill(h, 2000)
	l := c.startLoad(h, newRandom(t))
	l.goOn(8)
	victim := c.machines[2]
	l.mark()
	tracer := begin(t, "strace", "-f", "-q", "-o", "/dev/null", "-e", "trace=fsync,fdatasync,sync_file_range",
		"-e", "inject=fsync,fdatasync,sync_file_range:error=EIO", "-p", strconv.Itoa(victim.process.Cmd.Process.Pid))
	if code := victim.process.wait(t); code == 0 {
		t.Errorf("the machine whose disk fails ends with code 0")
	}
	tracer.wait(t)
	if said := victim.process.Said(); !strings.Contains(said, "input/output error") {
		t.Errorf("it does not say why:\n%s", said)
	}
	l.goOn(8)
	c.whole(2)
	l.log("a failing fsync")
	victim.start()
	c.whole(3)
	l.goOn(8)
	l.stop()
	c.mustHold(h)
}
