// Lost and older Raft logs, and interrupted formations.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/cluster/agreement"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
)

// supervised are machines that run as under serve and a supervisor: what ends is started
// again, and a machine that the cluster has excluded sets its data aside.
type supervised struct {
	w      *world
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{}
	ran    int
	aside  []string // which machines have set their data aside
}

func (w *world) supervise() *supervised {
	s := &supervised{w: w, ended: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(w.t.Context())
	return s
}

// run runs a machine from a moment on.
func (s *supervised) run(m *machine, after time.Duration) {
	s.ran++
	go func() {
		defer func() { s.ended <- struct{}{} }()
		sleep(s.ctx, after)
		for s.ctx.Err() == nil {
			if err := m.tryRun(s.ctx, s.w.machines...); err != nil {
				m.refused = err
				sleep(s.ctx, time.Second)
				continue
			}
			m.refused = nil
			select {
			case <-m.node.Failed():
			case <-s.ctx.Done():
				return
			}
			why, members := m.node.Err(), m.node.Members()
			m.stop()
			if errors.Is(why, cluster.ErrExcluded) {
				s.aside = append(s.aside, m.name)
				if _, err := directory.SetAside(m.disk, dataDir, members); err != nil {
					s.w.t.Error(err)
				}
			}
		}
	}()
}

// end ends the supervision; what runs goes on.
func (s *supervised) end() {
	s.cancel()
	for range s.ran {
		<-s.ended
	}
}

// Power loss of all, and the raft/ directory of one is gone. Whenever that one starts,
// it starts not, and the others have all that they had.
func TestLogLost(t *testing.T) {
	for _, first := range []time.Duration{-5 * time.Second, 0, 200 * time.Millisecond, time.Second, 5 * time.Second, time.Minute} {
		t.Run(fmt.Sprintf("it starts %s before the others", first), func(t *testing.T) {
			simulate(t, 3, func(t *testing.T, w *world) { logLost(t, w, first) })
		})
	}
}

func logLost(t *testing.T, w *world, first time.Duration) {
	w.form()
	all, late := w.spread(), fresh()[100:200]
	w.mustAdd(w.any(), late...) // in the last epoch
	for _, m := range w.machines {
		m.kill()
	}
	one := w.machines[w.random.IntN(3)]
	others := slices.DeleteFunc(slices.Clone(w.machines), func(m *machine) bool { return m == one })
	if err := one.disk.RemoveAll(dataDir + "/raft"); err != nil {
		t.Fatal(err)
	}
	s := w.supervise()
	for i, m := range others {
		s.run(m, max(first, 0)+time.Duration(i)*100*time.Millisecond)
	}
	s.run(one, max(-first, 0))
	w.until("the others serve", func() bool {
		return !slices.ContainsFunc(others, func(m *machine) bool { return m.node == nil || m.node.Lease() != nil })
	})
	w.until("the one is refused", func() bool { return one.refused != nil })
	for _, part := range []string{"data/raft is missing or empty", "machine ", "put data/raft back", "set-aside --data data --join", "docs/operations/cluster.md"} {
		if !errors.Is(one.refused, agreement.ErrLogLost) || !strings.Contains(one.refused.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, one.refused)
		}
	}
	s.end()
	if len(s.aside) > 0 {
		t.Errorf("%v have set their data aside", s.aside)
	}
	if one.node != nil {
		t.Fatal("the machine without its log runs")
	}
	w.settle()
	w.mustHave(setOf(all, late))
	// What the error says is what helps.
	if _, err := directory.SetAside(one.disk, dataDir, []string{w.up()[0].address()}); err != nil {
		t.Fatal(err)
	}
	one.run()
	w.settle()
	w.mustHave(setOf(all, late))
}

// The process ends in the middle of the formation of a cluster, at whatever moment.
// Then the next start completes it.
func TestFormationInterrupted(t *testing.T) {
	simulate(t, 2, func(t *testing.T, w *world) {
		first, second := w.machines[0], w.machines[1]
		all := numbered(0, 200)
		first.run()
		w.mustAdd(first, all...)
		// 1. What the disk holds every 10 ms, until the cluster of one has its first view.
		var clones []*memdisk.FS
		joined := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { joined <- second.tryRun(ctx, first) }()
		w.until("the cluster is formed", func() bool {
			c := first.disk.CrashClone(vfs.CrashCloneCfg{})
			if first.node.View() != nil {
				return true // the second one may be a member by now
			}
			clones = append(clones, c)
			return false
		})
		cancel()
		if err := <-joined; err == nil {
			second.stop()
		}
		first.stop()
		// 2. Each of them is started again, alone, and another machine joins it.
		formed := 0
		for i, c := range clones {
			first.disk = c
			first.run()
			if _, member := first.store.Identity(); member {
				formed++
				w.until("it serves", func() bool { return first.node.Lease() == nil })
			}
			third := &machine{world: w, name: fmt.Sprintf("10.0.1.%d", i+1), disk: memdisk.New(), loads: t.TempDir()}
			w.machines = []*machine{first, third}
			third.run(first)
			w.settle()
			w.mustHave(setOf(all))
			third.stop()
			first.stop()
		}
		t.Logf("%d crashes, %d of them in the middle", len(clones), formed)
		if formed == 0 {
			t.Error("not a test")
		}
	})
}
