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
	"github.com/trefoildb/trefoil/recovery"
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
	Empty func(ctx context.Context) (bool, error)
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

	mu sync.Mutex
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
	c := &Copies{member: member, pull: pull, o: o, held: map[trie.MachineID]*held{}, later: map[trie.MachineID]time.Time{}}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.running.Go(c.run)
	if m, ok := member.(interface{ Changed() <-chan struct{} }); ok {
		c.running.Go(func() { c.watch(m.Changed) })
	}
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

// watch looks at every view.
func (c *Copies) watch(changed func() <-chan struct{}) {
	for {
		next := changed()
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

// roundTime bounds how long members are waited for.
const roundTime = 5 * time.Second

// round brings all copies up to date: those of machines that are there.
func (c *Copies) round(ctx context.Context, v *view.View) error {
	if v == nil || len(v.Members) == 0 {
		return nil
	}
	if v.Phase == recovery.Ingest {
		return fmt.Errorf("%w: a bulk load is being taken in", node.ErrUnavailable)
	}
	wanted := c.wanted(v)
	c.follow(v)
	if err := c.retire(v, wanted); err != nil {
		return err
	}
	if len(wanted) == 0 {
		return nil
	}
	if c.shelf == nil && c.o.Empty != nil {
		if empty, err := c.o.Empty(ctx); err != nil || empty {
			return err
		}
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

// missedViews is how many epochs a view may be behind the one that was seen last: a machine
// that comes, is filled and goes, or a range that goes and comes back, takes more.
const missedViews = 3

// follow takes in a view: who may get operations under it, and who reads what was copied.
func (c *Copies) follow(v *view.View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.Epoch <= c.seen {
		return
	}
	missed := c.seen != 0 && v.Epoch > c.seen+missedViews
	c.seen = v.Epoch
	wanted := c.wanted(v)
	for _, h := range c.held {
		h.moved = newCover(append(h.moved, h.covered.without(wanted[h.owner])...))
	}
	for h := range c.each {
		h.views.Lock()
		h.broken = h.broken || missed
		h.follow(v)
		h.views.Unlock()
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

// follow notes who may get operations under a view, and under the next one. It is called
// with h.views.
func (h *held) follow(v *view.View) {
	for i := range v.Members {
		h.members[v.Members[i].ID] = true
	}
	joint := v.Joint()
	h.fewest = min(h.fewest, len(v.Members))
	for _, layout := range []recovery.Layout{joint.Base, joint.Target} {
		machines := layout.Placement.Machines()
		for _, m := range machines {
			h.members[m] = true
		}
		h.fewest = min(h.fewest, len(machines))
	}
}

// keptTime is for how long copies are kept that are not wanted any more, until others
// have made theirs.
const keptTime = 5 * time.Minute

// retire takes what is not wanted any more from copies that are kept up to date, and
// deletes what has been old for long. What a dead machine read stays until others read it.
func (c *Copies) retire(v *view.View, wanted map[trie.MachineID]cover) error {
	now := time.Now()
	for owner, h := range maps.Clone(c.held) { // only this goroutine changes the map
		if h.isBroken() {
			if err := c.discard(h); err != nil {
				return err
			}
			continue
		}
		c.mu.RLock()
		moved := h.moved
		still := wanted[owner].without(moved)
		kept := h.covered.and(still).cutFrom(h.covered)
		gone := h.covered.without(still).cutFrom(h.covered)
		c.mu.RUnlock()
		if len(moved) == 0 && kept.equal(h.covered) && wanted[owner] != nil {
			continue
		}
		var old *held
		if len(gone) > 0 {
			old = h.part(gone, now.Add(keptTime))
		}
		c.mu.Lock()
		if old != nil {
			c.old = append(c.old, old)
		}
		if h.covered, h.moved = kept, h.moved.without(moved); wanted[owner] == nil {
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
		if !h.isBroken() && (now.Before(h.until) || unread(h)) {
			continue
		}
		c.mu.Lock()
		c.old = slices.DeleteFunc(c.old, func(other *held) bool { return other == h })
		gone := h.covered
		h.covered = nil             // whoever has it from before is to find out
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

func (h *held) isBroken() bool {
	h.views.Lock()
	defer h.views.Unlock()
	return h.broken
}

// discard deletes copies that nobody can tell anything by any more.
func (c *Copies) discard(h *held) error {
	c.mu.Lock()
	gone := h.covered
	h.covered = nil
	delete(c.held, h.owner)
	for other := range c.each {
		if other.id == h.id {
			gone = gone.without(other.covered)
		}
	}
	c.mu.Unlock()
	return c.shelf.replace(h.id, gone, nil)
}

// part returns copies of a part of what is covered, as they are.
func (h *held) part(of cover, until time.Time) *held {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.views.Lock()
	defer h.views.Unlock()
	changed := map[string]map[string]Change{}
	for lo, keys := range h.changed {
		changed[lo] = maps.Clone(keys)
	}
	return &held{
		owner: h.owner, id: h.id, covered: of, until: until,
		marks: h.marks, epoch: h.epoch, shown: h.shown, members: maps.Clone(h.members), fewest: h.fewest, broken: h.broken,
		read: maps.Clone(h.read), changed: changed, changes: h.changes,
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

// anewTime is for how long nothing is copied anew of a machine whose journal did not reach
// back, so that one whose journal is too short is not copied all the time.
const anewTime = 10 * time.Second

// update takes in what has changed of what one machine reads, and what is not copied yet.
// marks are the ends of journals before.
func (c *Copies) update(ctx context.Context, v *view.View, owner trie.MachineID, wanted cover, marks map[trie.MachineID]node.JournalMark) error {
	h := c.held[owner]
	if h == nil && time.Now().Before(c.later[owner]) {
		return fmt.Errorf("%w: it was copied a moment ago", node.ErrJournal)
	}
	if h != nil {
		entries, _, err := c.member.Journal(ctx, v.Epoch, owner, h.marks[owner])
		switch {
		case errors.Is(err, node.ErrJournal): // its process has begun again, or it took in a bulk load
			if err := c.discard(h); err != nil {
				return err
			}
			if c.later[owner] = time.Now().Add(anewTime); h.shown == v.Shown() && h.marks[owner].Incarnation == marks[owner].Incarnation {
				return err
			}
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
		h = &held{owner: owner, id: c.last, members: map[trie.MachineID]bool{}}
		h.restart(v, c.member.View(), marks)
		c.mu.Lock()
		if c.seen == v.Epoch {
			c.held[owner] = h
		}
		c.mu.Unlock()
	} else if h.restart(v, c.member.View(), marks); h.isBroken() {
		return fmt.Errorf("%w: a view was missed", node.ErrUnavailable)
	}
	if c.held[owner] != h {
		return fmt.Errorf("%w: another view has come", node.ErrUnavailable)
	}
	for _, r := range wanted.without(h.covered) {
		if err := c.copy(ctx, v, h, r); err != nil {
			return err
		}
	}
	return nil
}

// restart has copies begin at marks that were made under a view; now is the one that is
// adopted meanwhile.
func (h *held) restart(v, now *view.View, marks map[trie.MachineID]node.JournalMark) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.marks, h.read, h.changed, h.changes = marks, maps.Clone(marks), map[string]map[string]Change{}, 0
	h.epoch, h.shown = v.Epoch, v.Shown()
	h.views.Lock()
	defer h.views.Unlock()
	h.members, h.fewest = map[trie.MachineID]bool{}, holders
	h.follow(v)
	h.follow(now)
}
