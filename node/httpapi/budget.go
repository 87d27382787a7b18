// The memory that requests may hold together: documents on their way in, pages on
// their way out; and of its own, the texts of queries.

package httpapi

import (
	"sync"
	"sync/atomic"
)

// budget is a number of bytes that requests share. A client gets more than a small
// request needs only while it holds less than twice what is free: two thirds of all at
// most, so that there is room for others. With small requests it gets five sixths at most.
type budget struct {
	max     int64
	held    atomic.Int64
	mu      sync.Mutex
	clients map[string]int64 // what each holds
}

// smallBytes is what a small request holds at most.
const smallBytes = 256 << 10

// take takes n bytes for a request of a client. small tells that the request holds
// little with them.
func (b *budget) take(client string, n int64, small bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	free := b.max - b.held.Load() - n
	limit := 2 * (free + n)
	if small {
		limit = max(limit, b.max/6*5)
	}
	if free < 0 || b.clients[client]+n > limit {
		return false
	}
	if b.clients == nil {
		b.clients = map[string]int64{}
	}
	b.clients[client] += n
	b.held.Add(n)
	return true
}

func (b *budget) give(client string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held.Add(-n)
	if b.clients[client] -= n; b.clients[client] <= 0 {
		delete(b.clients, client)
	}
}

// account is what one request holds of a budget. It takes grains, so that
// counting costs little. It is for one goroutine.
type account struct {
	budget *budget
	client string
	used   int64
	taken  int64 // Invariant: used <= taken
	most   int64 // that a document may take; 0 is no limit
}

const accountGrain = 64 << 10

// grow counts n more bytes. It fails where the budget is spent.
func (a *account) grow(n int64) error {
	a.used += n
	if a.used <= a.taken {
		return nil
	}
	if a.most > 0 && a.used > a.most {
		return errorf(KindTooLarge, "", "the document unfolds to more than %d bytes in memory; %s", a.most, whatTakesMore)
	}
	more := (a.used - a.taken + accountGrain - 1) / accountGrain * accountGrain
	if !a.budget.take(a.client, more, a.taken+more <= smallBytes) {
		a.used -= n
		return busyf("requests hold the memory for documents and pages (%d MiB), those of one client two thirds of it at most, five sixths with small ones; try again", a.budget.max>>20)
	}
	a.taken += more
	return nil
}

// shrink counts n bytes less, which the account keeps for what is to come.
func (a *account) shrink(n int64) { a.used -= n }

// release gives all back.
func (a *account) release() {
	if a.taken > 0 {
		a.budget.give(a.client, a.taken)
	}
	a.used, a.taken = 0, 0
}
