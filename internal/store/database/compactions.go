// The scheduler of compactions.

package database

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/notify"
)

// compactions schedules Pebble's compactions. It allows the same number as Pebble's own scheduler,
// but it pauses after one that met a damaged table or that waits for room on the disk, because
// Pebble may repeat such a compaction at once and forever.
type compactions struct {
	db   pebble.DBForCompaction
	look notify.Wake // if one has ended
	stop chan struct{}
	done chan struct{}

	mu      sync.Mutex
	running int
	allowed bool // set when the store is open
	started bool // by Register
	closed  bool
	rest    time.Time // end of the pause; zero if there was none
}

const (
	failedPause     = time.Second
	compactionsLook = 100 * time.Millisecond
)

func newCompactions() *compactions {
	return &compactions{look: notify.NewWake(), stop: make(chan struct{}), done: make(chan struct{})}
}

// failed records that a compaction met a damaged table or waits for room.
func (c *compactions) failed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = time.Now().Add(failedPause)
}

// allow lets compactions begin. None may run before, because Pebble does not wait for it if
// opening fails.
func (c *compactions) allow() {
	c.mu.Lock()
	c.allowed = true
	c.mu.Unlock()
	c.look.Send()
}

// Register implements [pebble.CompactionScheduler].
func (c *compactions) Register(_ int, db pebble.DBForCompaction) {
	c.mu.Lock()
	c.db, c.started = db, true
	c.mu.Unlock()
	go c.run()
}

// Unregister implements [pebble.CompactionScheduler]. When it returns, the database is not called
// any more. If opening fails, Pebble does not call it.
func (c *compactions) Unregister() {
	c.mu.Lock()
	ends := c.started && !c.closed
	c.closed = true
	c.mu.Unlock()
	if ends {
		close(c.stop)
		<-c.done
	}
}

// UpdateGetAllowedWithoutPermission implements [pebble.CompactionScheduler].
func (c *compactions) UpdateGetAllowedWithoutPermission() { c.look.Send() }

// TrySchedule implements [pebble.CompactionScheduler].
func (c *compactions) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	if !c.begin() {
		return false, nil
	}
	return true, c
}

func (c *compactions) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || !c.allowed || time.Now().Before(c.rest) || c.running >= c.db.GetAllowedWithoutPermission() {
		return false
	}
	c.running++
	return true
}

func (c *compactions) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
}

// Done implements [pebble.CompactionGrantHandle].
func (c *compactions) Done() {
	c.end()
	c.look.Send()
}

// Started implements [pebble.CompactionGrantHandle].
func (c *compactions) Started() {}

// MeasureCPU implements [pebble.CompactionGrantHandle].
func (c *compactions) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements [pebble.CompactionGrantHandle].
func (c *compactions) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// run starts waiting compactions.
func (c *compactions) run() {
	defer close(c.done)
	ticker := time.NewTicker(compactionsLook)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-c.look:
		case <-c.stop:
			return
		}
		for c.begin() {
			if waits, _ := c.db.GetWaitingCompaction(); !waits || !c.db.Schedule(c) {
				c.end()
				break
			}
		}
	}
}
