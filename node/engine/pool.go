// The memory of all queries together.

package engine

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/trefoildb/trefoil/node/turns"
	"github.com/trefoildb/trefoil/sparql"
)

// ErrMemory: all queries together hold the memory that they may have at present, and
// temporary files do not help this one. It is worth to be tried again.
var ErrMemory = errors.New("the memory of all queries is in use")

// pool is the memory of all queries. Half of it is divided: a query with a seat has its
// part of that, whatever the others do. The other half is for who comes first.
type pool struct {
	total int64
	part  int64 // of one seat, and of the update that is carried out
	free  atomic.Int64
	held  atomic.Int64 // by all
}

func newPool(total int64, seats int) *pool {
	p := &pool{total: total, part: total / 2 / int64(seats+1)}
	p.free.Store(total - p.part*int64(seats+1))
	return p
}

// take takes bytes of the half for all, and reports whether it had them.
func (p *pool) take(bytes int64) bool {
	if p.free.Add(-bytes) >= 0 {
		return true
	}
	p.free.Add(bytes)
	return false
}

// reservation is what one query holds of the pool. It belongs to one goroutine.
type reservation struct {
	pool   *pool
	turn   *turns.Turn
	held   int64
	shared int64 // of it, from the half for all
}

// lightBytes is what a query may hold without a seat.
const lightBytes = 2 << 20

// reserve is [exec.Options].Reserve.
func (r *reservation) reserve(bytes int64) error {
	held := r.held + bytes
	if held > lightBytes {
		if err := r.turn.Sit(); err != nil {
			return err
		}
	}
	own := int64(0)
	if r.turn.Seated() {
		own = r.pool.part
	}
	shared := max(held-own, 0)
	switch more := shared - r.shared; {
	case more > 0 && !r.pool.take(more):
		return fmt.Errorf("%w: %w: they hold %d MiB of %d; try again, or ask for less", sparql.ErrMemory, ErrMemory,
			r.pool.held.Load()>>20, r.pool.total>>20)
	case more < 0:
		r.pool.free.Add(-more)
	}
	r.pool.held.Add(bytes)
	r.held, r.shared = held, shared
	return nil
}

// end gives all back.
func (r *reservation) end() {
	r.pool.free.Add(r.shared)
	r.pool.held.Add(-r.held)
	r.held, r.shared = 0, 0
}
