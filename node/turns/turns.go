// The lanes and seats, and who gets what is free.

package turns

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/processors"
)

// Options are the parameters of [New]. The zero value is ready to use.
type Options struct {
	// ShortSlots and LongSlots are how many computations of each lane compute at the
	// same instant; 0 is one for each
	// processor.
	ShortSlots, LongSlots int
	// Seats is how many computations may hold much memory; 0 is 16.
	Seats int
	// Short is how long a computation computes in the short lane at most; 0 is 50 ms.
	Short time.Duration
	// Slice is how long a long computation keeps its slot while others wait; 0 is
	// 20 ms.
	Slice time.Duration
	// Overdue is how many computations may go on at once that lost their slot because
	// they met no checkpoint; 0 is 8.
	Overdue int
}

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	if o.ShortSlots < 0 || o.LongSlots < 0 || o.Seats < 0 || o.Short < 0 || o.Slice < 0 || o.Overdue < 0 {
		return fmt.Errorf("turns: an option is negative: %+v", o)
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.ShortSlots = cmp.Or(o.ShortSlots, processors.Count())
	o.LongSlots = cmp.Or(o.LongSlots, processors.Count())
	o.Seats = cmp.Or(o.Seats, 16)
	o.Short = cmp.Or(o.Short, 50*time.Millisecond)
	o.Slice = cmp.Or(o.Slice, 20*time.Millisecond)
	o.Overdue = cmp.Or(o.Overdue, 8)
	return o
}

const (
	// shortSlice is how long a computation keeps its slot of the short lane while
	// others wait for one.
	shortSlice = 2 * time.Millisecond
	// shortAtMost is how long a computation computes in the short lane if others wait
	// for it: a point query may take some slices on a busy machine.
	shortAtMost = 5 * shortSlice
	// A computation that meets no checkpoint for so many slices of its lane loses its
	// slot to those that wait.
	overdueSlices = 2
	// A deadline is so many times what was computed away, and so far at most.
	deadlineFactor = 4
	maxDeadline    = 10 * time.Second
)

// Kind is what a turn can wait for.
type Kind int

// The kinds.
const (
	Short Kind = iota // a slot of the short lane
	Long              // a slot of the long lane
	Seat              // a seat
	kinds
)

// String returns the kind's name in metrics.
func (k Kind) String() string { return [kinds]string{"short", "long", "seat"}[k] }

// Turns shares slots and seats. Its methods may be called at the same time.
type Turns struct {
	opts    Options
	mu      sync.Mutex
	kinds   [kinds]resource
	clients map[string]*client
	number  uint64 // of the next that waits
	live    int    // turns that were begun and have not ended
	overdue int    // turns that have lost their slot, and met no checkpoint since
}

// resource is what is shared of one kind.
type resource struct {
	free    int
	holders []*Turn     // of its slots; none of seats
	watch   *time.Timer // calls revoke; nil while nobody waits
	waiting []*Turn
	floor   time.Duration // what the client had that was served last: who comes anew begins there
	waits   int64
	waited  time.Duration
	longest time.Duration
}

// client is what the turns of one client have together.
type client struct {
	turns int
	seats int
	had   [kinds]time.Duration // time of slots, as if it had been here always
}

// New returns turns with all slots free.
func New(opts Options) (*Turns, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	s := &Turns{opts: opts, clients: map[string]*client{}}
	s.kinds[Short].free, s.kinds[Long].free, s.kinds[Seat].free = opts.ShortSlots, opts.LongSlots, opts.Seats
	return s, nil
}

// Stats says how many wait for a kind now, and what waits there were.
type Stats struct {
	Waiting int
	Waits   int64
	Waited  time.Duration // of all waits together
	Longest time.Duration
}

// Stats returns the waits of a kind.
func (s *Turns) Stats(k Kind) Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.kinds[k]
	return Stats{len(r.waiting), r.waits, r.waited, r.longest}
}

// Live returns how many turns have begun and not ended, and how many of them have a
// seat.
func (s *Turns) Live() (turns, seated int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live, s.opts.Seats - s.kinds[Seat].free
}

// grant gives what is free of a kind to those that wait. s.mu is held.
func (s *Turns) grant(k Kind) {
	r := &s.kinds[k]
	for r.free > 0 {
		best := -1
		for i, t := range r.waiting {
			if s.may(k, t) && (best < 0 || s.before(k, t, r.waiting[best])) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		t := r.waiting[best]
		r.waiting = slices.Delete(r.waiting, best, best+1)
		s.give(k, t)
		close(t.granted)
	}
}

// give counts one of a kind as the turn's. s.mu is held.
func (s *Turns) give(k Kind, t *Turn) {
	r := &s.kinds[k]
	r.free--
	if k == Seat {
		t.client.seats++
		return
	}
	r.floor = max(r.floor, t.client.had[k])
	t.since = time.Now()
	r.holders = append(r.holders, t)
}

// slice is how long a computation keeps a slot of a lane while others wait for one.
func (s *Turns) slice(k Kind) time.Duration {
	if k == Short {
		return shortSlice
	}
	return s.opts.Slice
}

// revoke takes slots of a lane from computations that have met no checkpoint for long,
// so that those that wait need not wait for them: a step of an operator may take long
// if its values are large, if it writes to a slow disk, or if the machine is busy.
func (s *Turns) revoke(k Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, now := &s.kinds[k], time.Now()
	r.watch = nil
	for i := 0; i < len(r.holders) && len(r.waiting) > 0 && s.overdue < s.opts.Overdue; {
		t := r.holders[i]
		if now.Sub(t.since) < overdueSlices*s.slice(k) {
			i++
			continue
		}
		r.holders = slices.Delete(r.holders, i, i+1)
		t.revoked.Store(true)
		s.overdue++
		r.free++
		s.grant(k)
	}
	s.watchHolders(k)
}

// watchHolders has revoke called while turns wait for a slot of a lane. s.mu is held.
func (s *Turns) watchHolders(k Kind) {
	if r := &s.kinds[k]; k != Seat && r.watch == nil && len(r.waiting) > 0 {
		r.watch = time.AfterFunc(overdueSlices*s.slice(k), func() { s.revoke(k) })
	}
}

// may reports whether a turn may have one of a kind that is free.
func (s *Turns) may(k Kind, t *Turn) bool {
	return k != Seat || t.client.seats < 2*s.kinds[Seat].free
}

// before reports whether a goes before b.
func (s *Turns) before(k Kind, a, b *Turn) bool {
	var c int
	switch k {
	case Short:
		c = cmp.Compare(a.client.had[k], b.client.had[k])
	case Long:
		c = cmp.Or(cmp.Compare(a.client.had[k], b.client.had[k]), a.deadline.Compare(b.deadline))
	case Seat:
		c = cmp.Compare(a.client.seats, b.client.seats)
	}
	return cmp.Or(c, cmp.Compare(a.number, b.number)) < 0
}

// join counts a turn of a client. s.mu is held.
func (s *Turns) join(name string) *client {
	c := s.clients[name]
	if c == nil {
		c = &client{}
		s.clients[name] = c
	}
	c.turns++
	return c
}

func (s *Turns) leave(name string, c *client) {
	if c.turns--; c.turns == 0 {
		delete(s.clients, name)
	}
}
