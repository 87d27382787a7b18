// Holders that do not answer, and full disks.

package cluster

import (
	"context"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

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
			_, err := store.Add(timed, through[x.written%len(through)].node, all[x.written:x.written+1])
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

// keptFree is the watermark of disks that can be full.
const keptFree = 64 << 20

func (m *machine) free(bytes uint64) {
	m.disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: bytes, TotalBytes: 20 << 30})
}
