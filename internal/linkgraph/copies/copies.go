// Contract of copies: the member, the pull of rows, options, opening and closing.

package copies

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Member is the member of the cluster that keeps copies.
type Member interface {
	Views
	// JournalEnd and Journal are those of cluster.Node.
	JournalEnd(ctx context.Context, epoch uint64, of trie.MachineID) (replica.JournalMark, error)
	Journal(ctx context.Context, epoch uint64, of trie.MachineID, after replica.JournalMark) (entries []replica.JournalEntry, next replica.JournalMark, err error)
}

// Pull requests rows from the machine that reads some ranges, which must ascend, under the view
// of an epoch. The answer may end within a range: then all ranges before done are complete, and
// the range at done is complete up to rest; nil means that nothing of it is made. If all are
// made, done is their number.
type Pull func(ctx context.Context, epoch uint64, owner trie.MachineID, ranges []triple.Range) (rows []Row, done int, rest []byte, err error)

// Options are the options of [Open].
type Options struct {
	// FS and Dir are the place of the copies. The contents of Dir are deleted.
	FS  vfs.FS
	Dir string
	// Copies is the number of machines that copy a machine's rows, up to MaxCopies. 0 follows
	// the view: one less than the copies of a triple, because both must survive the same
	// losses.
	Copies int
	// Ranges are the copied ranges of the ordered space.
	Ranges []triple.Range
	// Empty reports whether there is nothing to copy; nil means that there is something.
	Empty func(ctx context.Context) (bool, error)
	// Every is the interval at which copies take in changes; 0 means a second.
	Every time.Duration
	// Logger receives messages; nil discards them.
	Logger *slog.Logger
}

// MaxCopies is the greatest Options.Copies. If more machines are lost, all holders of a triple
// may be among them.
const MaxCopies = recovery.MaxCopies - 1

const defaultEvery = time.Second

// Copies are the copies that one machine keeps. Its methods are safe for concurrent use.
type Copies struct {
	member Member
	pull   Pull
	o      Options

	ctx     context.Context // ends with the copies
	cancel  context.CancelCauseFunc
	running sync.WaitGroup // Close waits for it; nothing begins when ctx has ended
	begins  sync.Mutex

	epoch atomic.Uint64 // of the last round that succeeded

	mu    sync.RWMutex // must be held for writing if coverage changes
	shelf *shelf       // nil until there is something to copy
	held  map[trie.MachineID]*held
	old   []*held // copies that are not kept up to date any more
	last  uint64  // the greatest ID of copies
	seen  uint64  // the epoch of the last view
	// If the journal of a machine did not reach back, later has the time before which it must
	// not be copied from scratch. Only the goroutine of run uses it.
	later map[trie.MachineID]time.Time
}

// held are the copies of one machine's rows.
type held struct {
	owner   trie.MachineID
	id      uint64    // the key of their rows on the shelf
	covered cover     // guarded by Copies.mu
	until   time.Time // of old ones

	views sync.Mutex // guards what views have added
	// members are the machines that may have received operations since, and fewest is the least
	// number of them that each operation came to.
	members map[trie.MachineID]bool
	fewest  int
	// broken is set if a view was missed: it is not known which machines got operations under
	// it.
	broken bool

	// moved is the ranges that other machines have read since; guarded by Copies.mu.
	moved cover

	// busy holds a token while a call uses what follows. That call may wait for other machines.
	busy chan struct{}
	// marks are places in the journals: everything before them is in the copies. They were made
	// under the view of epoch, with shown visible bulk loads.
	marks map[trie.MachineID]replica.JournalMark
	epoch uint64
	shown int
	// read has the places up to which journals were read since the copies were made. changed
	// has the changes found there: by the lower bound of the changed range, and by the triple's
	// key.
	read    map[trie.MachineID]replica.JournalMark
	changed map[string]map[string]Change
	changes int // number of changes
	// gathers counts the readings of journals that were begun. gathered is the number of the
	// last complete one, and gatheredIn the epoch of its view.
	gathered, gatheredIn uint64

	gathers atomic.Uint64
}

// lock waits until no other call uses what busy guards. The caller must call unlock.
func (h *held) lock(ctx context.Context) error {
	select {
	case h.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *held) unlock() { <-h.busy }

var errClosed = fmt.Errorf("the copies of links: %w", store.ErrClosed)

// Open starts to keep copies. They must be closed before the member.
func Open(member Member, pull Pull, o Options) (*Copies, error) {
	if o.Copies < 0 || o.Copies > MaxCopies || o.Every < 0 {
		return nil, fmt.Errorf("%w: %d copies every %s", store.ErrInvalid, o.Copies, o.Every)
	}
	if o.Every == 0 {
		o.Every = defaultEvery
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Copies{member: member, pull: pull, o: o, held: map[trie.MachineID]*held{}, later: map[trie.MachineID]time.Time{}}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.running.Go(c.run)
	c.running.Go(c.watch)
	return c, nil
}

// begin runs do in a goroutine that Close waits for. It returns false if the copies are closed.
func (c *Copies) begin(do func()) bool {
	c.begins.Lock()
	defer c.begins.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.running.Go(do)
	return true
}

// Close stops the copies, and waits for all calls of the member.
func (c *Copies) Close() error {
	c.begins.Lock()
	c.cancel(errClosed)
	c.begins.Unlock()
	c.running.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.held)
	c.old = nil
	if c.shelf == nil {
		return nil
	}
	err := c.shelf.close()
	c.shelf = nil
	return err
}

// Epoch returns the epoch of the last view under which the copies were complete, with
// everything committed before; 0 if there is none yet.
func (c *Copies) Epoch() uint64 { return c.epoch.Load() }

// watch follows every view.
func (c *Copies) watch() {
	for {
		// Changed must be called before View, because otherwise a view may be missed.
		next := c.member.Changed()
		if v := c.member.View(); v != nil {
			c.follow(v)
		}
		select {
		case <-next:
		case <-c.ctx.Done():
			return
		}
	}
}

// run updates the copies in intervals.
func (c *Copies) run() {
	for c.ctx.Err() == nil {
		v := c.member.View()
		switch err := c.round(c.ctx, v); {
		case err == nil && v != nil:
			c.epoch.Store(v.Epoch)
		case err != nil && c.ctx.Err() == nil:
			c.o.Logger.Debug("copies of links are not up to date", "error", err)
		}
		every := c.o.Every
		if v != nil { // because every member calls every other one
			every = max(every, time.Duration(len(v.Members))*every/16)
		}
		timer := time.NewTimer(every)
		select {
		case <-timer.C:
		case <-c.ctx.Done():
			timer.Stop()
		}
	}
}
