// This file tests nodes whose disk has no room left: a lone one and a member, at the
// start after a crash, and while they serve.

package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// onSmallDisk puts the data directory of m onto a tmpfs of its own and returns where that
// is.
func (m *machine) onSmallDisk(size string) string {
	t := m.c.t
	t.Helper()
	disk := m.dir
	require.NoError(t, os.Mkdir(disk, 0o755))
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	m.dir = filepath.Join(disk, "data")
	return disk
}

// fillUp writes a file that leaves so many bytes free, and returns its path.
func fillUp(t *testing.T, disk string, left int64) string {
	t.Helper()
	ballast := filepath.Join(disk, "ballast")
	f, err := os.Create(ballast)
	require.NoError(t, err)
	defer f.Close()
	block := make([]byte, 4096)
	for free := freeOf(t, disk); free > left; free = freeOf(t, disk) {
		for range (free - left + 4095) / 4096 {
			if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
				return ballast
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	return ballast
}

// numbered returns triples with long objects, from number from on.
func numbered(from, to int) (triples []triple.Triple) {
	for i := from; i < to; i++ {
		triples = append(triples, triple.Triple{
			Subject: triple.NewIRI(fmt.Sprintf("%sfull/%d", namespace, i)), Predicate: triple.NewIRI(namespace + "p"),
			Object: triple.NewString(fmt.Sprintf("%d %s", i, strings.Repeat("x", 100))),
		})
	}
	return triples
}

// mustCount fails the test if there are not want triples.
func (m *machine) mustCount(want int64) {
	m.c.t.Helper()
	ctx, cancel := context.WithTimeout(m.c.t.Context(), requestTimeout)
	defer cancel()
	if n, err := m.client.Count(ctx, triple.Pattern{}); err != nil || n != want {
		m.c.t.Errorf("count: %d, %v; want %d", n, err, want)
	}
}

// TestStartOnFullDisk: a node that was killed and whose disk is full then answers reads
// within seconds, says once what is wrong, refuses writes with the reason and ends at
// SIGTERM. When there is room it takes writes by itself, and has all that it acknowledged.
func TestStartOnFullDisk(t *testing.T) {
	need(t)
	t.Parallel()
	c := newCluster(t, 1)
	m := c.machines[0]
	disk := m.onSmallDisk("300m")
	m.start()
	m.ready()
	const acknowledged = 5000
	for i := 0; i < acknowledged; i += 500 {
		if _, err := m.client.Add(t.Context(), numbered(i, i+500)); err != nil {
			t.Fatal(err)
		}
	}
	m.kill()
	ballast := fillUp(t, disk, 0)

	// 1. It serves reads, and says what to do.
	begun := time.Now()
	m.start()
	m.ready()
	t.Logf("serving %s after the start", time.Since(begun))
	m.mustCount(acknowledged)
	for what, err := range map[string]error{
		"add": func() error { _, err := m.client.Add(t.Context(), numbered(0, 1)); return err }(),
		"load": func() error {
			_, err := m.client.Load(t.Context(), strings.NewReader("<http://a> <http://b> <http://c> ."), client.LoadOptions{})
			return err
		}(),
	} {
		if !errors.Is(err, client.ErrDiskFull) || !strings.Contains(err.Error(), "make room") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if said := m.process.Said(); strings.Count(said, "make room") != 1 || len(said) > 1000 {
		t.Errorf("it said:\n%s", said)
	}

	// 2. It ends when it is told to.
	begun = time.Now()
	m.stop()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it ended %s after SIGTERM", took)
	}

	// 3. With room it goes on.
	m.start()
	m.ready()
	require.NoError(t, os.Remove(ballast))
	until(t, "adds are taken", func() error {
		_, err := m.client.Add(t.Context(), numbered(acknowledged, acknowledged+1))
		return err
	})
	m.mustCount(acknowledged + 1)
	m.stop()
}

// TestMemberStartsOnFullDisk: a member that was killed and whose disk is full says so and
// ends at SIGTERM; the others answer. When there is room it is a member again.
func TestMemberStartsOnFullDisk(t *testing.T) {
	need(t)
	t.Parallel()
	c := newCluster(t, 3, "--failure-timeout=60s")
	m := c.machines[2]
	disk := m.onSmallDisk("300m")
	c.form()
	h := &history{}
	c.fill(h, 2000)
	before := idOf(c.whole(3), m.address)
	m.kill()
	ballast := fillUp(t, disk, 0)
	m.start()
	m.process.waitFor(t, "make room")
	begun := time.Now()
	m.process.signal(t, syscall.SIGTERM)
	m.process.wait(t)
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it ended %s after SIGTERM", took)
	}
	m.start()
	m.process.waitFor(t, "make room")
	require.NoError(t, os.Remove(ballast))
	m.ready()
	if after := idOf(c.whole(3), m.address); after != before {
		t.Errorf("it was machine %s and is %s", before, after)
	}
	c.mustHold(h)
}

// TestSmallStoreOnSmallDisk: what a store takes of a disk is in proportion to what it
// holds, so that loads and adds to a small disk go on; and at the watermark deletes are
// taken.
func TestSmallStoreOnSmallDisk(t *testing.T) {
	need(t)
	t.Parallel()
	c := newCluster(t, 1)
	m := c.machines[0]
	disk := m.onSmallDisk("300m")
	m.start()
	m.ready()
	room := freeOf(t, disk)
	for i := range 8 {
		document := fmt.Sprintf("<http://l/%d> <http://b> <http://c> .", i)
		if _, err := m.client.Load(t.Context(), strings.NewReader(document), client.LoadOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.client.Add(t.Context(), numbered(i, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if used := (room - freeOf(t, disk)) >> 20; used > 24 {
		t.Errorf("16 triples use %d MiB more", used)
	}
	fillUp(t, disk, 63<<20)
	until(t, "adds are refused", func() error {
		if _, err := m.client.Add(t.Context(), numbered(100, 101)); !errors.Is(err, client.ErrDiskFull) {
			return fmt.Errorf("an add says: %v", err)
		}
		return nil
	})
	if _, err := m.client.Delete(t.Context(), numbered(0, 8)); err != nil {
		t.Errorf("delete at the watermark: %v", err)
	}
	_, err := m.client.Load(t.Context(), strings.NewReader("<http://a> <http://b> <http://c> ."), client.LoadOptions{})
	if !errors.Is(err, client.ErrDiskFull) {
		t.Errorf("load at the watermark: %v", err)
	}
	m.stop()
}
