// The memory budget of requests: for documents on their way in and pages on their way out, and a
// separate one for the texts of queries.

package limits

import (
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/server/problem"
)

// Budget is a number of bytes for all requests. It is safe for concurrent use. A client may take
// more than a small request needs only if it holds less than twice the free bytes. So it gets at
// most two thirds of all, because others must have room. If its requests are small, it gets at most
// five sixths. The last eighth is for tiny requests, such as most queries.
type Budget struct {
	Max     int64
	Held    atomic.Int64
	mu      sync.Mutex
	clients map[string]int64 // bytes held by each client
}

// The limits of small and tiny requests.
const (
	smallBytes = 256 << 10
	tinyBytes  = 16 << 10
)

// Take takes n bytes for a request of a client. all is the sum of the request's bytes, with these
// n. It returns false if the budget or the client's share is spent.
func (b *Budget) Take(client string, n, all int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	free := b.Max - b.Held.Load() - n
	limit := 2 * (free + n)
	if all <= smallBytes {
		limit = max(limit, b.Max/6*5)
	}
	if all > tinyBytes {
		free -= b.Max / 8
	}
	if free < 0 || b.clients[client]+n > limit {
		return false
	}
	if b.clients == nil {
		b.clients = map[string]int64{}
	}
	b.clients[client] += n
	b.Held.Add(n)
	return true
}

func (b *Budget) Give(client string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Held.Add(-n)
	if b.clients[client] -= n; b.clients[client] <= 0 {
		delete(b.clients, client)
	}
}

// Account is the part of a budget for one request. It takes grains, because counting each byte
// would cost too much. The first grains are small, because most requests are small. It must be used
// by one goroutine only.
type Account struct {
	budget *Budget
	client string
	Used   int64
	taken  int64 // Invariant: Used <= taken
	Most   int64 // limit for one document; 0 is no limit
}

func NewAccount(b *Budget, r *http.Request) *Account { return &Account{budget: b, client: ClientOf(r)} }

const (
	firstGrain = 4 << 10
	mostGrain  = 16 << 10
)

// Grow counts n more bytes. It fails if the budget is spent or Most is exceeded.
func (a *Account) Grow(n int64) error {
	a.Used += n
	if a.Used <= a.taken {
		return nil
	}
	if a.Most > 0 && a.Used > a.Most {
		return problem.Errorf(problem.KindTooLarge, "", "the document unfolds to more than %d bytes in memory; %s", a.Most, LoadHint)
	}
	grain := min(max(a.taken, firstGrain), mostGrain)
	more := (a.Used - a.taken + grain - 1) / grain * grain
	if !a.budget.Take(a.client, more, a.taken+more) {
		a.Used -= n
		return problem.Busyf("requests hold the memory for documents and pages (%d MiB), those of one client two thirds of it at most, five sixths with small ones, and an eighth is for requests of up to 16 KiB; try again", a.budget.Max>>20)
	}
	a.taken += more
	return nil
}

// Shrink counts n bytes less. The account keeps them for later growth.
func (a *Account) Shrink(n int64) { a.Used -= n }

// Release returns all bytes to the budget.
func (a *Account) Release() {
	if a.taken > 0 {
		a.budget.Give(a.client, a.taken)
	}
	a.Used, a.taken = 0, 0
}

const LoadHint = "POST /load takes documents of any size"
