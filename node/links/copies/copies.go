package copies

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Member is the member of the cluster that keeps copies.
type Member interface {
	MachineID() trie.MachineID
	// View returns the view that it has adopted; nil where there is none yet.
	View() *view.View
	// Changed returns a channel that is closed when another view is adopted.
	Changed() <-chan struct{}
	// MayAnswer, JournalEnd and Journal are those of cluster.Node.
	MayAnswer(epoch uint64) error
	JournalEnd(ctx context.Context, epoch uint64, of trie.MachineID) (node.JournalMark, error)
	Journal(ctx context.Context, epoch uint64, of trie.MachineID, after node.JournalMark) (entries []node.JournalEntry, next node.JournalMark, err error)
}

// Pull has the machine that reads some ranges, which ascend, make rows of what it reads
// in them under the view of an epoch. It may end within a range: all of those before done
// are made then, and of that one what is before rest, nil for nothing. Where all are
// made, done is how many there are.
type Pull func(ctx context.Context, epoch uint64, owner trie.MachineID, ranges []triple.Range) (rows []Row, done int, rest []byte, err error)

// Options are those of [Open].
type Options struct {
	// FS and Dir are where copies are kept. What is in Dir is deleted.
	FS  vfs.FS
	Dir string
	// Copies is how many machines copy what a machine reads, up to MaxCopies. 0 follows
	// the view: one less than the copies of a triple, so that both bear as many losses.
	Copies int
	// Ranges are what is copied of the ordered space.
	Ranges []triple.Range
	// Empty reports whether there is nothing to be copied at all; nil is no.
	Empty func(ctx context.Context) (bool, error)
	// Every is how often copies take in what has changed; 0 is a second.
	Every time.Duration
	// Logger takes what there is to say; nil is nobody.
	Logger *slog.Logger
}

// MaxCopies is the greatest Options.Copies. If more machines are lost, they may have been
// all that held a triple.
const MaxCopies = recovery.MaxCopies - 1

const defaultEvery = time.Second

// Copies are those that one machine keeps. Its methods may be called at the same time.
type Copies struct {
	member Member
	pull   Pull
	o      Options

	ctx     context.Context // ends with the copies
	cancel  context.CancelCauseFunc
	running sync.WaitGroup // what Close waits for: nothing begins once ctx has ended
	begins  sync.Mutex

	epoch atomic.Uint64 // of the last round that went well

	mu    sync.RWMutex // held for writing where coverage changes
	shelf *shelf       // nil until there is something to be copied
	held  map[trie.MachineID]*held
	old   []*held // those that are not kept up to date any more
	last  uint64  // the greatest id of copies
	seen  uint64  // the epoch of the last view
	// later is until when nothing is copied anew of a machine whose journal did not reach
	// back. Only the goroutine of run uses it.
	later map[trie.MachineID]time.Time
}

// held are the copies of what one machine reads.
type held struct {
	owner   trie.MachineID
	id      uint64    // their rows are on the shelf under it
	covered cover     // guarded by Copies.mu
	until   time.Time // of old ones

	views sync.Mutex // guards what views have told
	// members are the machines that may have got what came since, and fewest on how many
	// of them that is at least.
	members map[trie.MachineID]bool
	fewest  int
	// broken says that a view was missed: nobody knows who got what under it.
	broken bool

	// moved is what this machine saw others read since; guarded by Copies.mu.
	moved cover

	// busy holds a token while somebody uses what follows, who may wait for others meanwhile.
	busy chan struct{}
	// marks are places in the journals: all that came before them is in the copies. They
	// were made under the view of an epoch, in which so many bulk loads showed.
	marks map[trie.MachineID]node.JournalMark
	epoch uint64
	shown int
	// read is up to where journals were read since the copies were made, and changed what
	// was found there: by the lower bound of the range in which something changed, and by
	// the triple's key.
	read    map[trie.MachineID]node.JournalMark
	changed map[string]map[string]Change
	changes int // how many there are
	// gathered is which time the journals were read last, and enough of them, and gatheredIn
	// under the view of which epoch; gathers is how many times that was begun.
	gathered, gatheredIn uint64

	gathers atomic.Uint64
}

// lock waits until nobody else uses what busy guards; unlock is to be called.
func (h *held) lock(ctx context.Context) error {
	select {
	case h.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *held) unlock() { <-h.busy }

var errClosed = fmt.Errorf("the copies of links: %w", node.ErrClosed)

// Open begins to keep copies; close them before the member.
func Open(member Member, pull Pull, o Options) (*Copies, error) {
	if o.Copies < 0 || o.Copies > MaxCopies || o.Every < 0 {
		return nil, fmt.Errorf("%w: %d copies every %s", node.ErrInvalid, o.Copies, o.Every)
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

// begin does something beside, which Close waits for; false says that the copies are
// closed.
func (c *Copies) begin(do func()) bool {
	c.begins.Lock()
	defer c.begins.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.running.Go(do)
	return true
}

// Close ends the copies, and waits for all that is asked of the member.
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

// Epoch returns the epoch of the last view under which all that is to be copied was, with
// all that was settled before; 0 is none yet.
func (c *Copies) Epoch() uint64 { return c.epoch.Load() }

// watch looks at every view.
func (c *Copies) watch() {
	for {
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

// run takes in what has changed, again and again.
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
		if v != nil { // all members ask all
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
