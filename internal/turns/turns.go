// The lanes and seats, and the order of the waiting turns.

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
	// ShortSlots and LongSlots are the numbers of computations that compute at once in each lane; 0
	// is one for each processor.
	ShortSlots, LongSlots int
	// Seats is the number of computations that may hold much memory; 0 is 16.
	Seats int
	// Short is the most time of a computation in the short lane; 0 is 50 ms.
	Short time.Duration
	// Slice is the time that a long computation keeps its slot if others wait; 0 is 20 ms.
	Slice time.Duration
	// Overdue is the number of computations that may go on without a slot. They lost it because
	// they met no checkpoint. 0 is 8.
	Overdue int
}

// Validate returns an error if an option is negative.
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
	// shortSlice is the time that a computation keeps its slot of the short lane if others wait for
	// one.
	shortSlice = 2 * time.Millisecond
	// shortAtMost is the most time of a computation in the short lane if others wait. A point query
	// may take some slices if the machine is busy.
	shortAtMost = 5 * shortSlice
	// overdueSlices is a number of slices of a lane. If a computation meets no checkpoint for that
	// time and others wait, it loses its slot.
	overdueSlices = 2
	// freshSlots is the number of slots of the short lane that go to the turns with the fewest slices
	// before one goes to the client with the least time.
	freshSlots = 3
	// A deadline is deadlineFactor times the computed time away, at most maxDeadline.
	deadlineFactor = 4
	maxDeadline    = 10 * time.Second
)

// Kind is a kind of resource: a slot of a lane, or a seat.
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

// Turns shares slots and seats. It is safe for concurrent use.
type Turns struct {
	opts    Options
	mu      sync.Mutex
	kinds   [kinds]resource
	clients map[string]*client
	number  uint64 // of the next waiting turn
	fresh   int    // slots of the short lane since the last one that was granted by shares alone
	live    int    // turns that have begun and not ended
	overdue int    // turns without their slot that have met no checkpoint since
}

// resource is the state of one kind.
type resource struct {
	free    int
	holders []*Turn     // of its slots; empty for seats
	watch   *time.Timer // calls revoke; nil if no turn waits
	waiting []*Turn
	floor   time.Duration // time of the last served client; a new client begins with it
	waits   int64
	waited  time.Duration
	longest time.Duration
}

// client is the sum over the turns of one client.
type client struct {
	turns int
	seats int
	had   [kinds]time.Duration // time with slots, as if it had always been here
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

// Stats are the number of waiting turns of a kind, and its waits so far.
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

// Live returns the number of turns that have begun and not ended, and the number of them with a
// seat.
func (s *Turns) Live() (turns, seated int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live, s.opts.Seats - s.kinds[Seat].free
}

// grant gives free slots or seats of a kind to waiting turns. s.mu must be held.
func (s *Turns) grant(k Kind) {
	r := &s.kinds[k]
	for r.free > 0 {
		best := -1
		for i, t := range r.waiting {
			if s.may(k, t) && (best < 0 || s.isBefore(k, t, r.waiting[best])) {
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

// give counts one of a kind as the turn's. s.mu must be held.
func (s *Turns) give(k Kind, t *Turn) {
	r := &s.kinds[k]
	r.free--
	if k == Seat {
		t.client.seats++
		return
	}
	// A slot that goes to the fewest slices may go to the client with the most time, behind which no
	// new client must begin.
	if k == Long || s.fresh == freshSlots {
		r.floor = max(r.floor, t.client.had[k])
	}
	if k == Short {
		s.fresh = (s.fresh + 1) % (freshSlots + 1)
	}
	t.since = time.Now()
	r.holders = append(r.holders, t)
}

// slice returns the time that a computation keeps a slot of a lane if others wait for one.
func (s *Turns) slice(k Kind) time.Duration {
	if k == Short {
		return shortSlice
	}
	return s.opts.Slice
}

// revoke takes slots of a lane from computations that met no checkpoint for overdueSlices, and
// grants them to waiting turns. A step of an operator may take that long if its values are large,
// if it writes to a slow disk, or if the machine is busy.
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

// watchHolders starts the timer of revoke if turns wait for a slot of a lane. s.mu must be held.
func (s *Turns) watchHolders(k Kind) {
	if r := &s.kinds[k]; k != Seat && r.watch == nil && len(r.waiting) > 0 {
		r.watch = time.AfterFunc(overdueSlices*s.slice(k), func() { s.revoke(k) })
	}
}

// may reports whether a turn may have a free one of a kind.
func (s *Turns) may(k Kind, t *Turn) bool {
	return k != Seat || t.client.seats < 2*s.kinds[Seat].free
}

// isBefore reports whether a goes before b.
func (s *Turns) isBefore(k Kind, a, b *Turn) bool {
	var c int
	switch k {
	case Short:
		if s.fresh < freshSlots {
			c = cmp.Compare(a.used/shortSlice, b.used/shortSlice)
		}
		c = cmp.Or(c, cmp.Compare(a.client.had[k], b.client.had[k]))
	case Long:
		c = cmp.Or(cmp.Compare(a.client.had[k], b.client.had[k]), a.deadline.Compare(b.deadline))
	case Seat:
		c = cmp.Compare(a.client.seats, b.client.seats)
	}
	return cmp.Or(c, cmp.Compare(a.number, b.number)) < 0
}

// join counts a turn of a client. s.mu must be held.
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
