// The torture's faults, and the rounds in which they happen.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/upkeep"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
)

// kindOf names an error, for a summary.
func kindOf(err error) string {
	for _, known := range []error{
		store.ErrUnknown, store.ErrUnavailable, store.ErrClosed, store.ErrLost, store.ErrCorrupt, store.ErrDiskFull, context.DeadlineExceeded, context.Canceled,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}

// round does some damage, never more than the cluster promises to bear, and makes
// it good again, but for what the cluster itself has to.
func (t *torture) round() {
	hosts := t.wanted()
	n := len(hosts)
	// A machine that may be excluded counts as lost: one less than the copies may be,
	// and most voters must stay.
	wanted := t.copies
	if t.random.IntN(3) == 0 {
		wanted = t.setCopies()
	}
	t.copies = min(t.copies, wanted)
	budget := min(min(t.copies, n)-1, (min(n, 5)-1)/2)
	t.random.Shuffle(n, func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	if at := slices.IndexFunc(hosts, leads); at > 0 && t.random.IntN(3) == 0 {
		hosts[0], hosts[at] = hosts[at], hosts[0]
	}
	victims := hosts[:budget]
	if budget == 2 && t.random.IntN(2) == 0 {
		victims = victims[:1]
	}
	t.weather()
	t.struck++
	switch t.random.IntN(14) {
	case 12: // all of it may come back while the first is being rebuilt
		t.strike(victims[:1])
		t.pause(3000)
		t.powerLoss()
	case 13: // one after the other, each back before it is missed
		for range 2 + t.random.IntN(4) {
			h := hosts[t.random.IntN(n)]
			t.note("kill %s for a moment", h.name)
			h.kill(false)
			h.start(t.addresses(h)...)
			t.pause(3000)
		}
	case 0:
		t.powerLoss()
	case 1:
		t.grow()
	case 2:
		t.shrink()
	case 3:
		t.rolling()
	case 4:
		t.grow()
		if t.random.IntN(2) == 0 {
			t.grow()
		}
		t.pause(2000)
		t.strike(victims[:1])
	default:
		for i, h := range victims {
			if i > 0 { // at once, or while the rebuild goes on
				t.pause(t.random.IntN(2) * 12000)
			}
			t.strike([]*host{h})
		}
	}
	t.pause(6000)
	t.mend()
	t.mustAnswer()
	t.whole()
	t.untilCopies(wanted)
	t.scrub()
}

// setCopies asks for another number of copies, and returns it: the faults that follow
// strike while the copies are being made or deleted.
func (t *torture) setCopies() int {
	n := recovery.MinCopies + t.random.IntN(recovery.MaxCopies-recovery.MinCopies+1)
	through := t.wanted()[t.random.IntN(len(t.wanted()))]
	t.note("%d copies of each triple, asked of %s", n, through.name)
	ctx, cancel := context.WithTimeout(t.t.Context(), time.Minute)
	defer cancel()
	if err := through.member().SetCopies(ctx, n); err != nil {
		t.t.Fatalf("set the number of copies to %d: %v", n, err)
	}
	return n
}

// untilCopies waits until each triple has as many copies as were asked for.
func (t *torture) untilCopies(n int) {
	t.t.Helper()
	t.world.until(fmt.Sprintf("each triple has %d copies", n), func() bool {
		h := t.wanted()[0].member()
		return h != nil && h.View() != nil && h.View().Base.Copies == n
	})
	t.copies = n
	t.whole()
}

// scrub has all copies compared: who has a damaged disk is found out by it, and
// copies are never different.
func (t *torture) scrub() {
	t.t.Helper()
	var err error
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline); time.Sleep(time.Second) { // of virtual time
		t.whole()
		n := t.wanted()[t.random.IntN(len(t.wanted()))].member()
		if n == nil {
			continue
		}
		var r upkeep.Report
		if r, err = n.Upkeep().Scrub(t.t.Context()); err != nil {
			continue
		}
		if r.Differences+r.Left+r.Foreign+r.Unreadable > 0 {
			t.fail("a scrub finds differences: %+v", r)
		}
		return
	}
	t.t.Fatalf("no scrub in %s: %v; faults: %q", waitLimit, err, t.faults)
}

// leads reports whether a host's node says that it leads.
func leads(h *host) bool {
	n := h.member()
	return n != nil && n.Status().Leader == n.MachineID().String()
}

func (t *torture) note(format string, args ...any) {
	text := fmt.Sprintf("%s ", time.Since(t.world.start).Round(time.Millisecond)) + fmt.Sprintf(format, args...)
	t.mu.Lock()
	t.faults = append(t.faults, text)
	t.mu.Unlock()
	t.world.log.Info("FAULT " + text)
}

// soFar returns the faults up to now. It is safe for concurrent use.
func (t *torture) soFar() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.faults)
}

// pause waits for a random time, of most milliseconds.
func (t *torture) pause(most int) {
	if most > 0 {
		time.Sleep(time.Duration(t.random.IntN(most)) * time.Millisecond)
	}
}

// weather sets how good the network is.
func (t *torture) weather() {
	if t.random.IntN(2) == 0 {
		most := time.Duration(1+t.random.IntN(20)) * time.Millisecond
		t.world.net.Delay(most/4, most)
		t.note("delay up to %s", most)
	}
	if t.random.IntN(3) == 0 {
		t.world.net.Loss(30)
		t.note("loss of packets")
	}
	if t.random.IntN(4) == 0 {
		t.world.net.Duplicate(30)
		t.note("packets come twice")
	}
}

// strike does something bad to hosts.
func (t *torture) strike(hosts []*host) {
	for _, h := range hosts {
		t.struck++
		kinds := 18
		if odd {
			kinds = 32
		}
		switch t.random.IntN(kinds) {
		case 18, 19, 20, 21, 22, 23, 24, 25, 26:
			t.strikeOddly(h)
		case 27, 28, 29, 30, 31:
			t.strikeAsOperator(h, t.random.IntN(operatorKinds))
		case 17:
			by := time.Duration(1+t.random.IntN(1<<(5+t.random.IntN(8)))) * time.Millisecond
			t.note("%s is slow by %s", h.name, by)
			t.world.net.Slow(h.name, by)
			t.pause(15000)
		case 15, 16:
			if h.up() == nil {
				continue
			}
			if t.random.IntN(2) == 0 {
				h.stop()
			} else {
				h.kill(false)
			}
			t.note("a bit flips on the disk of %s: %s", h.name, h.flip())
			h.start(t.addresses(h)...)
		case 13, 14:
			quarters := 1 + t.random.Int64N(4)
			t.note("the disk of %s is full: %d of 4", h.name, quarters)
			h.fill(quarters)
			t.pause(8000)
			if t.random.IntN(2) == 0 {
				t.note("%s has room again", h.name)
				h.fill(0)
			}
		case 11:
			syncs := 1 + t.random.IntN(1<<t.random.IntN(8))
			t.note("sync %d of %s fails", syncs, h.name)
			h.failAtSync(syncs)
			t.pause(5000)
		case 12:
			after := time.Duration(t.random.IntN(5000)) * time.Millisecond
			t.note("the disk of %s is rolled back by %s", h.name, after)
			h.rollBack(after)
			t.pause(2000)
			h.start(t.addresses(h)...)
		case 8, 9, 10:
			syncs := 1 + t.random.IntN(1<<t.random.IntN(8))
			t.note("kill %s before sync %d", h.name, syncs)
			h.killAtSync(syncs, t.random.Uint64())
			deadline := time.Now().Add(3 * time.Second)
			for h.up() != nil && time.Now().Before(deadline) {
				time.Sleep(5 * time.Millisecond)
			}
			if p := h.up(); p != nil {
				p.fs.left.Store(0) // so few syncs: it stays
			}
			if t.random.IntN(2) == 0 {
				h.start(t.addresses(h)...)
			}
		case 0: // back before anyone takes it for dead
			t.note("kill %s for a moment", h.name)
			h.kill(false)
			t.pause(800)
			h.start(t.addresses(h)...)
		case 1, 2:
			t.note("kill %s", h.name)
			h.kill(false)
		case 3:
			t.note("%s loses its disk", h.name)
			h.kill(true)
			t.pause(4000)
			h.start(t.addresses(h)...)
		case 4:
			t.note("isolate %s", h.name)
			t.world.net.Isolate(h.name)
		case 5:
			other := t.other(h)
			t.note("cut from %s to %s", h.name, other.name)
			t.world.net.CutOneWay(h.name, other.name)
			t.pause(5000)
			t.note("mend %s and %s", h.name, other.name)
			t.world.net.Mend(h.name, other.name)
		case 6:
			t.note("%s flaps", h.name)
			for range 3 + t.random.IntN(10) {
				for _, o := range t.hosts {
					if o != h && t.random.IntN(3) > 0 {
						t.world.net.Cut(h.name, o.name)
					}
				}
				t.pause(1500)
				for _, o := range t.hosts {
					if o != h {
						t.world.net.Mend(h.name, o.name)
					}
				}
				t.pause(1000)
			}
		case 7:
			t.note("restart %s, in order", h.name)
			h.stop()
			t.pause(3000)
			h.start(t.addresses(h)...)
		}
	}
}

func (t *torture) other(h *host) *host {
	all := slices.DeleteFunc(t.wanted(), func(o *host) bool { return o == h })
	return all[t.random.IntN(len(all))]
}

// mend ends all faults.
func (t *torture) mend() {
	t.note("mend all")
	t.world.net.Heal()
	t.world.net.Loss(0)
	t.world.net.Duplicate(0)
	if t.random.IntN(2) == 0 {
		t.world.net.Delay(0, 0)
	}
	for _, h := range t.wanted() {
		h.fill(0)
		h.onDisk(func(f *shakyFS) { f.takes.Store(0); f.errors.Store(0); f.lies.Store(false) })
		t.world.net.Slow(h.name, 0)
		h.start(t.addresses(h)...)
	}
}

// powerLoss takes the power from all machines.
func (t *torture) powerLoss() {
	t.note("power loss")
	for _, h := range t.wanted() {
		h.kill(false)
	}
	t.pause(3000)
	for _, h := range t.wanted() {
		t.pause(300)
		h.start(t.addresses(h)...)
	}
}

// rolling restarts all machines one after the other.
func (t *torture) rolling() {
	t.note("rolling restart")
	for _, h := range t.wanted() {
		h.stop()
		h.start(t.addresses(h)...)
		t.whole()
	}
}

// grow lets a new machine join.
func (t *torture) grow() {
	if len(t.wanted()) >= 7 {
		return
	}
	h := t.addHost(t.random.IntN(4) == 0)
	t.note("%s joins, spare: %v", h.name, h.spare)
	h.start(t.addresses(h)...)
}

// shrink has a machine leave.
func (t *torture) shrink() {
	var up []*host
	for _, h := range t.wanted() {
		if !h.spare {
			up = append(up, h)
		}
	}
	if len(up) < 4 {
		return
	}
	h := up[t.random.IntN(len(up))]
	id := h.member().MachineID()
	t.note("%s leaves", h.name)
	h.mu.Lock()
	h.left = true
	h.mu.Unlock()
	t.left = append(t.left, h)
	t.world.until("somebody hears that a machine leaves", func() bool {
		ctx, cancel := context.WithTimeout(t.t.Context(), 5*time.Second)
		defer cancel()
		n := t.other(h).member()
		return n != nil && n.Leave(ctx, id) == nil
	})
	t.world.until("the machine has left", func() bool {
		for _, o := range t.wanted() {
			if n := o.member(); n == nil || n.View() == nil || n.View().Find(id) != nil {
				return false
			}
		}
		return true
	})
	h.stop()
}
