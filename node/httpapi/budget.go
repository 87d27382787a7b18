// The memory that requests may hold together: documents on their way in, pages on
// their way out.

package httpapi

import "sync/atomic"

// budget is a number of bytes that requests share.
type budget struct {
	max  int64
	held atomic.Int64
}

func (b *budget) take(n int64) bool {
	if b.held.Add(n) > b.max {
		b.held.Add(-n)
		return false
	}
	return true
}

// account is what one request holds of a budget. It takes grains, so that
// counting costs little. It is for one goroutine.
type account struct {
	budget *budget
	used   int64
	taken  int64 // Invariant: used <= taken
}

const accountGrain = 64 << 10

// grow counts n more bytes. It fails where the budget is spent.
func (a *account) grow(n int64) error {
	a.used += n
	if a.used <= a.taken {
		return nil
	}
	more := (a.used - a.taken + accountGrain - 1) / accountGrain * accountGrain
	if !a.budget.take(more) {
		a.used -= n
		return busyf("other requests hold the memory for documents and pages (%d MiB); try again", a.budget.max>>20)
	}
	a.taken += more
	return nil
}

// release gives all back.
func (a *account) release() {
	a.budget.held.Add(-a.taken)
	a.used, a.taken = 0, 0
}
