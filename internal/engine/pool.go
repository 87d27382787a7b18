// The memory of all queries together.

package engine

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/sparql"
)

// ErrMemory is the error if all queries together hold their memory, and temporary files do not help
// this one. A client may try again.
var ErrMemory = errors.New("the memory of all queries is in use")

// pool is the memory of all queries. Half of it is divided among the seats, so a query with a seat
// always has its part. The other half is shared: the first to take it gets it.
type pool struct {
	total int64
	part  int64 // of one seat, and of the running update
	free  atomic.Int64
	held  atomic.Int64 // sum over all queries
}

func newPool(total int64, seats int) *pool {
	p := &pool{total: total, part: total / 2 / int64(seats+1)}
	p.free.Store(total - p.part*int64(seats+1))
	return p
}

// take takes bytes of the shared half, and reports whether they were free.
func (p *pool) take(bytes int64) bool {
	if p.free.Add(-bytes) >= 0 {
		return true
	}
	p.free.Add(bytes)
	return false
}

// reservation is the part of the pool held by one query. It must be used by one goroutine only.
type reservation struct {
	pool   *pool
	turn   *turns.Turn // nil: no seat, so all comes from the shared half
	held   int64
	shared int64         // part of held from the shared half
	report *atomic.Int64 // gets held; may be nil
}

// lightBytes is the most that a query may hold without a seat.
const lightBytes = 2 << 20

// reserve implements [exec.Options].Reserve. It may wait for a seat, and fails if the pool is
// spent.
func (r *reservation) reserve(bytes int64) error {
	held := r.held + bytes
	if held > lightBytes && r.turn != nil {
		if err := r.turn.Sit(); err != nil {
			return err
		}
	}
	shared := r.beyondPart(held)
	if more := shared - r.shared; more > 0 && !r.pool.take(more) {
		// The shared half is spent. A query without a seat still has the part of one.
		if r.turn == nil || r.turn.Seated() {
			return r.spent()
		}
		if err := r.turn.Sit(); err != nil {
			return err
		}
		if shared = r.beyondPart(held); shared > r.shared && !r.pool.take(shared-r.shared) {
			return r.spent()
		}
	}
	if less := r.shared - shared; less > 0 {
		r.pool.free.Add(less)
	}
	r.pool.held.Add(bytes)
	r.held, r.shared = held, shared
	if r.report != nil {
		r.report.Store(held)
	}
	return nil
}

// beyondPart returns how many of the held bytes are of the shared half.
func (r *reservation) beyondPart(held int64) int64 {
	if r.turn != nil && r.turn.Seated() {
		return max(held-r.pool.part, 0)
	}
	return held
}

func (r *reservation) spent() error {
	return fmt.Errorf("%w: %w: they hold %d MiB of %d; try again, or ask for less", sparql.ErrMemory, ErrMemory,
		r.pool.held.Load()>>20, r.pool.total>>20)
}

// end returns all bytes to the pool.
func (r *reservation) end() {
	r.pool.free.Add(r.shared)
	r.pool.held.Add(-r.held)
	r.held, r.shared = 0, 0
}
