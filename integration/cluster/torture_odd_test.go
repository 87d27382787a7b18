// Faults of machines that neither die nor are cut off.

package cluster

import (
	"cmp"
	"os"
	"slices"
	"time"
)

// odd is true if strikeOddly and strikeAsOperator are among the faults.
var odd = os.Getenv("TREFOIL_ODD") == "1"

// strikeOddly does something bad to a host that leaves its process running, or its
// disk other than a crash leaves it.
func (t *torture) strikeOddly(h *host) {
	first := 0
	if !replayed { // virtual time stops if the holder of a mutex sleeps in a sync
		first = 1
	}
	switch first + t.random.IntN(8-first) {
	case 0: // latency in virtual time
		by := time.Duration(1+t.random.IntN(1<<(4+t.random.IntN(6)))) * time.Millisecond
		t.note("a sync of %s takes %s", h.name, by)
		h.onDisk(func(f *shakyFS) { f.takes.Store(int64(by)) })
		t.pause(15000)
	case 1:
		reads := 1 + t.random.Int64N(1<<t.random.IntN(6))
		t.note("%d reads of the disk of %s fail", reads, h.name)
		h.onDisk(func(f *shakyFS) { f.errors.Store(reads) })
		t.pause(8000)
		h.onDisk(func(f *shakyFS) { f.errors.Store(0) })
	case 2:
		t.note("the disk of %s lies about syncs, and the power fails", h.name)
		h.onDisk(func(f *shakyFS) { f.lies.Store(true) })
		t.pause(4000)
		h.kill(false)
		t.pause(2000)
		h.start(t.addresses(h)...)
	case 3:
		if h.up() == nil {
			return
		}
		h.kill(false)
		t.note("a bit of a file of %s flips: %s", h.name, h.flipFile())
		h.start(t.addresses(h)...)
	case 4:
		t.note("connections of %s are reset", h.name)
		for range 1 + t.random.IntN(10) {
			t.world.net.Reset(h.name, t.other(h).name)
			t.pause(700)
		}
	case 5:
		by := time.Duration(1+t.random.IntN(1<<(6+t.random.IntN(9)))) * time.Millisecond
		t.note("%s is stopped for %s", h.name, by)
		h.freeze(by)
	case 6:
		by := time.Duration(1+t.random.IntN(1<<(6+t.random.IntN(11)))) * time.Millisecond
		t.note("the clock of %s jumps by %s", h.name, by)
		h.clock.ahead.Add(int64(by))
		t.pause(4000)
	case 7:
		t.partition(h)
	}
}

// partition cuts links of a host, or of a ring, until all is mended.
func (t *torture) partition(h *host) {
	other := t.other(h)
	switch hosts := t.wanted(); {
	case t.random.IntN(3) == 0:
		t.note("%s and %s do not reach each other, and it lasts", h.name, other.name)
		t.world.net.Cut(h.name, other.name)
	case len(hosts) < 5 || t.random.IntN(2) == 0:
		t.note("nothing from %s reaches %s, and it lasts", h.name, other.name)
		t.world.net.CutOneWay(h.name, other.name)
	default:
		t.note("each of a ring reaches one of its neighbours, and it lasts")
		slices.SortFunc(hosts, func(a, b *host) int { return cmp.Compare(a.name, b.name) })
		for i, from := range hosts {
			t.world.net.CutOneWay(from.name, hosts[(i+1)%len(hosts)].name)
		}
	}
	t.pause(20000)
}
