// Checkers of isolation: a bank with a constant sum, and a set that only grows, like the
// list-append workload of Elle (Kingsbury and Alvaro, VLDB 2020) with sets for lists.

package oracle

import (
	"fmt"
	"slices"
	"sync"
)

// Bank is a number of accounts with a constant sum, whatever is transferred.
type Bank struct {
	Accounts int
	Total    int64
}

// Check returns an error if the balances of one state are wrong. balances are by account. Each
// account must have exactly one, and their sum must be the total.
func (b Bank) Check(balances map[int][]int64) error {
	sum := int64(0)
	for account := range b.Accounts {
		if n := len(balances[account]); n != 1 {
			return fmt.Errorf("account %d has %d balances: %v", account, n, balances[account])
		}
		sum += balances[account][0]
	}
	if len(balances) != b.Accounts || sum != b.Total {
		return fmt.Errorf("%d accounts hold %d, it is %d that hold %d", len(balances), sum, b.Accounts, b.Total)
	}
	return nil
}

// GrowingSet records adds to a set without deletes, and complete reads of it. It is safe for
// concurrent use. The zero value is an empty history.
type GrowingSet struct {
	mu      sync.Mutex
	clock   int64
	invoked map[string]int64
	acked   map[string]int64
	reads   []setRead
}

type setRead struct {
	began, ended int64
	seen         map[string]bool
	state        bool
}

func (h *GrowingSet) tick() int64 {
	h.clock++
	return h.clock
}

// Invoke records the begin of the add of an element. Each element must be added once.
func (h *GrowingSet) Invoke(element string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.invoked == nil {
		h.invoked, h.acked = map[string]int64{}, map[string]int64{}
	}
	h.invoked[element] = h.tick()
}

// Acknowledge records that the add of an element was acknowledged.
func (h *GrowingSet) Acknowledge(element string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acked[element] = h.tick()
}

// Begin records the begin of a read, and returns the argument for Read.
func (h *GrowingSet) Begin() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tick()
}

// Read records the result of a read that has ended. If state is true, it must be that of one state.
func (h *GrowingSet) Read(began int64, seen []string, state bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := setRead{began: began, ended: h.tick(), seen: map[string]bool{}, state: state}
	for _, element := range seen {
		r.seen[element] = true
	}
	h.reads = append(h.reads, r)
}

// Check returns an error unless each element is linearizable: if it was acknowledged, every later
// read has it; if it was seen, it stays; and it is not seen before its add began. Of any two
// reads of one state each, one must have all elements of the other.
func (h *GrowingSet) Check() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	// 1. Each read against the adds.
	for _, r := range h.reads {
		for element, at := range h.acked {
			if at < r.began && !r.seen[element] {
				return fmt.Errorf("%s was acknowledged at %d, and a read from %d to %d lacks it", element, at, r.began, r.ended)
			}
		}
		for element := range r.seen {
			if at, ok := h.invoked[element]; !ok || at > r.ended {
				return fmt.Errorf("a read from %d to %d has %s, which was not added before", r.began, r.ended, element)
			}
		}
	}
	// 2. Each pair of reads: by time, and if they are of states by inclusion.
	for i, a := range h.reads {
		for _, b := range h.reads[i+1:] {
			onlyA, onlyB := leastMissing(a.seen, b.seen), leastMissing(b.seen, a.seen)
			switch {
			case a.ended < b.began && onlyA != "":
				return fmt.Errorf("a read that ended at %d has %s, and one that began at %d lacks it", a.ended, onlyA, b.began)
			case b.ended < a.began && onlyB != "":
				return fmt.Errorf("a read that ended at %d has %s, and one that began at %d lacks it", b.ended, onlyB, a.began)
			case a.state && b.state && onlyA != "" && onlyB != "":
				return fmt.Errorf("reads %d-%d and %d-%d are of no order of states: %s is in the first alone, %s in the second", a.began, a.ended, b.began, b.ended, onlyA, onlyB)
			}
		}
	}
	return nil
}

// leastMissing returns the least element of a that b lacks; "" if there is none.
func leastMissing(a, b map[string]bool) string {
	var all []string
	for element := range a {
		if !b[element] {
			all = append(all, element)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return slices.Min(all)
}
