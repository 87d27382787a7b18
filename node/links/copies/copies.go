package copies

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Member is the member of the cluster that keeps copies.
type Member interface {
	MachineID() trie.MachineID
	// View returns the view that it has adopted; nil where there is none yet.
	View() *view.View
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
	// Copies is how many machines copy what a machine reads.
	Copies int
	// Ranges are what is copied of the ordered space.
	Ranges []triple.Range
	// Empty tells whether there is nothing to be copied at all; nil is no.
	Empty func(ctx context.Context) bool
	// Every is how often copies take in what has changed; 0 is a second.
	Every time.Duration
	// Logger takes what there is to say; nil is nobody.
	Logger *slog.Logger
}

// MaxCopies is the greatest Options.Copies: more machines lost than two may have been all
// that held a triple.
const MaxCopies = 2

const defaultEvery = time.Second

// Copies are those that one machine keeps. Its methods may be called at the same time.
type Copies struct {
	member Member
	pull   Pull
	o      Options

	ctx     context.Context // ends with the copies
	cancel  context.CancelCauseFunc
	running sync.WaitGroup

	epoch atomic.Uint64 // of the last round that went well

	mu    sync.RWMutex // held for writing where coverage changes
	shelf *shelf       // nil until there is something to be copied
	held  map[trie.MachineID]*held
	old   []*held // those that are not kept up to date any more
	last  uint64  // the greatest id of copies
}

// held are the copies of what one machine reads.
type held struct {
	owner   trie.MachineID
	id      uint64    // their rows are on the shelf under it
	covered cover     // guarded by Copies.mu
	until   time.Time // of old ones

	mu sync.Mutex
	// marks are places in the journals: all that came before them is in the copies.
	marks map[trie.MachineID]node.JournalMark
	// members are the machines that may have got what came since, and fewest on how many
	// of them that is at least.
	members map[trie.MachineID]bool
	fewest  int
	// read is up to where journals were read since the copies were made, and changed what
	// was found there: by the lower bound of the range in which something changed, and by
	// the triple's key.
	read    map[trie.MachineID]node.JournalMark
	changed map[string]map[string]Change
}

var errClosed = fmt.Errorf("the copies of links: %w", node.ErrClosed)

// Open begins to keep copies; close them before the member.
func Open(member Member, pull Pull, o Options) (*Copies, error) {
	if o.Copies < 1 || o.Copies > MaxCopies || o.Every < 0 {
		return nil, fmt.Errorf("%w: %d copies every %s", node.ErrInvalid, o.Copies, o.Every)
	}
	if o.Every == 0 {
		o.Every = defaultEvery
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Copies{member: member, pull: pull, o: o, held: map[trie.MachineID]*held{}}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.running.Go(c.run)
	return c, nil
}

// Close ends the copies.
func (c *Copies) Close() error {
	c.cancel(errClosed)
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

// roundTime bounds how long members are waited for.
const roundTime = 5 * time.Second

// round brings all copies up to date: those of machines that are there.
func (c *Copies) round(ctx context.Context, v *view.View) error {
	if v == nil || len(v.Members) == 0 {
		return nil
	}
	wanted := c.wanted(v)
	c.follow(v)
	if err := c.retire(v, wanted); err != nil {
		return err
	}
	if len(wanted) == 0 || c.shelf == nil && c.o.Empty != nil && c.o.Empty(ctx) {
		return nil
	}
	if c.shelf == nil {
		s, err := openShelf(c.o.FS, c.o.Dir)
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.shelf = s
		c.mu.Unlock()
	}
	marks, err := c.ends(ctx, v)
	if err != nil {
		return err
	}
	var all error
	for owner, ranges := range wanted {
		if err := c.update(ctx, v, owner, ranges, marks); err != nil {
			all = errors.Join(all, fmt.Errorf("copy what machine %s reads: %w", owner, err))
		}
	}
	return all
}

// wanted returns what this machine ought to copy, by who reads it.
func (c *Copies) wanted(v *view.View) map[trie.MachineID]cover {
	self := c.member.MachineID()
	mine := map[trie.MachineID]bool{}
	parts := map[trie.MachineID][]triple.Range{}
	joint := v.Joint()
	for _, asked := range c.o.Ranges {
		for s := range joint.Reads().Trie.Range(asked.Lo, asked.Hi) {
			owner, live := joint.ReaderOf(s)
			if !live || v.Find(owner) == nil {
				continue
			}
			if _, ok := mine[owner]; !ok {
				mine[owner] = slices.Contains(Holders(v, owner, c.o.Copies), self)
			}
			if mine[owner] {
				parts[owner] = append(parts[owner], asked.Intersect(triple.Range{Lo: s.Lo, Hi: s.Hi}))
			}
		}
	}
	wanted := map[trie.MachineID]cover{}
	for owner, ranges := range parts {
		wanted[owner] = newCover(ranges)
	}
	return wanted
}

// Holders returns the members that copy what a machine reads, or read while it was a
// member, in the order in which they are to be asked.
func Holders(v *view.View, owner trie.MachineID, copies int) []trie.MachineID {
	ids := make([]trie.MachineID, 0, len(v.Members))
	for i := range v.Members {
		ids = append(ids, v.Members[i].ID)
	}
	var holders []trie.MachineID
	for m := range trie.NewRing(ids...).After(owner) {
		if len(holders) == copies {
			break
		}
		if m != owner {
			holders = append(holders, m)
		}
	}
	return holders
}

// follow notes who may get operations under a view.
func (c *Copies) follow(v *view.View) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for h := range c.each {
		h.mu.Lock()
		h.follow(v)
		h.mu.Unlock()
	}
}

// each goes through all copies, those that are kept up to date first. It is called with
// c.mu.
func (c *Copies) each(do func(*held) bool) {
	for _, h := range c.held {
		if !do(h) {
			return
		}
	}
	for _, h := range slices.Backward(c.old) {
		if !do(h) {
			return
		}
	}
}

// holders is on how many machines a triple is, where there are as many (package
// recovery).
const holders = 3

// follow notes who may get operations under a view. It is called with h.mu.
func (h *held) follow(v *view.View) {
	for i := range v.Members {
		h.members[v.Members[i].ID] = true
	}
	joint := v.Joint()
	for _, m := range joint.Base.Placement.Machines() {
		h.members[m] = true
	}
	h.fewest = min(h.fewest, len(v.Members), len(joint.Base.Placement.Machines()))
}

// keptTime is for how long copies are kept that are not wanted any more, until others
// have made theirs.
const keptTime = time.Minute

// retire takes what is not wanted any more from copies that are kept up to date, and
// deletes what has been old for long. What a dead machine read stays until others read it.
func (c *Copies) retire(v *view.View, wanted map[trie.MachineID]cover) error {
	now := time.Now()
	for owner, h := range maps.Clone(c.held) { // only this goroutine changes the map
		kept := h.covered.and(wanted[owner]).cutFrom(h.covered)
		if kept.equal(h.covered) && wanted[owner] != nil {
			continue
		}
		c.mu.Lock()
		if gone := h.covered.without(wanted[owner]).cutFrom(h.covered); len(gone) > 0 {
			c.old = append(c.old, h.part(gone, now.Add(keptTime)))
		}
		if h.covered = kept; wanted[owner] == nil {
			delete(c.held, owner)
		}
		c.mu.Unlock()
	}
	joint := v.Joint()
	unread := func(h *held) bool {
		for _, r := range h.covered {
			for s := range joint.Reads().Trie.Range(r.Lo, r.Hi) {
				if _, live := joint.ReaderOf(s); !live {
					return true
				}
			}
		}
		return false
	}
	for _, h := range slices.Clone(c.old) {
		if now.Before(h.until) || unread(h) {
			continue
		}
		c.mu.Lock()
		c.old = slices.DeleteFunc(c.old, func(other *held) bool { return other == h })
		gone := h.covered
		for other := range c.each { // what has come back
			if other.id == h.id {
				gone = gone.without(other.covered)
			}
		}
		c.mu.Unlock()
		if err := c.shelf.replace(h.id, gone, nil); err != nil {
			return err
		}
	}
	return nil
}

// part returns copies of a part of what is covered, as they are.
func (h *held) part(of cover, until time.Time) *held {
	h.mu.Lock()
	defer h.mu.Unlock()
	changed := map[string]map[string]Change{}
	for lo, keys := range h.changed {
		changed[lo] = maps.Clone(keys)
	}
	return &held{
		owner: h.owner, id: h.id, covered: of, until: until,
		marks: h.marks, members: maps.Clone(h.members), fewest: h.fewest, read: maps.Clone(h.read), changed: changed,
	}
}

// drop deletes a part of what is covered.
func (c *Copies) drop(h *held, gone cover) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.covered = h.covered.without(gone)
	return c.shelf.replace(h.id, gone, nil)
}

// ends returns the ends of all members' journals.
func (c *Copies) ends(ctx context.Context, v *view.View) (map[trie.MachineID]node.JournalMark, error) {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	marks := make([]node.JournalMark, len(v.Members))
	errs := make([]error, len(v.Members))
	var asking sync.WaitGroup
	for i := range v.Members {
		asking.Go(func() { marks[i], errs[i] = c.member.JournalEnd(ctx, v.Epoch, v.Members[i].ID) })
	}
	asking.Wait()
	all := map[trie.MachineID]node.JournalMark{}
	for i := range v.Members {
		all[v.Members[i].ID] = marks[i]
	}
	return all, errors.Join(errs...)
}

// update takes in what has changed of what one machine reads, and what is not copied yet.
// marks are the ends of journals before.
func (c *Copies) update(ctx context.Context, v *view.View, owner trie.MachineID, wanted cover, marks map[trie.MachineID]node.JournalMark) error {
	h := c.held[owner]
	if h != nil {
		entries, _, err := c.member.Journal(ctx, v.Epoch, owner, h.marks[owner])
		switch {
		case errors.Is(err, node.ErrJournal): // its process has begun again, or it took in a bulk load
			c.mu.Lock()
			c.old = append(c.old, h.part(h.covered, time.Now().Add(keptTime)))
			delete(c.held, owner)
			c.mu.Unlock()
			h = nil
		case err != nil:
			return err
		default:
			if err := c.refresh(ctx, v, h, entries); err != nil {
				return err
			}
		}
	}
	if h == nil {
		c.last++
		h = &held{owner: owner, id: c.last}
		c.mu.Lock()
		c.held[owner] = h
		c.mu.Unlock()
	}
	h.mu.Lock()
	h.marks, h.read, h.changed = marks, maps.Clone(marks), map[string]map[string]Change{}
	h.members, h.fewest = map[trie.MachineID]bool{}, holders
	h.follow(v)
	h.mu.Unlock()
	for _, r := range wanted.without(h.covered) {
		if err := c.copy(ctx, v, h, r); err != nil {
			return err
		}
	}
	return nil
}
