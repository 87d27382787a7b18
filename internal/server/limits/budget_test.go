// Shares of a budget.

package limits

import (
	"fmt"
	"testing"
)

// TestShares: one client leaves room for others, and for small requests of its own.
func TestShares(t *testing.T) {
	b := &Budget{Max: 12 << 20}
	large := Account{budget: b, client: "a"}
	for large.Grow(1<<20) == nil {
	}
	if b.Held.Load() != 8<<20 {
		t.Errorf("one client got %d of %d bytes", b.Held.Load(), b.Max)
	}
	small, other := Account{budget: b, client: "a"}, Account{budget: b, client: "b"}
	if small.Grow(100<<10) != nil || small.Grow(1<<20) == nil || other.Grow(2<<20) != nil {
		t.Error("no room for a small request of the same client, or for another's; or too much")
	}
	other.Release()
	many := make([]Account, 100)
	for i := range many {
		many[i] = Account{budget: b, client: "a"}
		many[i].Grow(smallBytes) // as far as there is room
	}
	last := Account{budget: b, client: "c"}
	if held := b.clients["a"]; held > b.Max/6*5 {
		t.Errorf("the small requests of one client hold %d of %d bytes", held, b.Max)
	}
	if last.Grow(smallBytes) != nil {
		t.Error("they leave no room for those of another one")
	}
	for i := range many {
		many[i].Release()
	}
	last.Release()
	large.Release()
	small.Release()
	if b.Held.Load() != 0 || len(b.clients) != 0 {
		t.Errorf("%d bytes are held by %d clients", b.Held.Load(), len(b.clients))
	}
}

// TestTinyRequests: however much larger requests hold, there is room for hundreds of tiny
// ones, such as queries of some lines.
func TestTinyRequests(t *testing.T) {
	b := &Budget{Max: 16 << 20}
	for i := 0; ; i++ {
		large := Account{budget: b, client: fmt.Sprint("attacker ", i)}
		if large.Grow(tinyBytes+1) != nil {
			break
		}
	}
	for i := range 400 {
		tiny := Account{budget: b, client: fmt.Sprint("client ", i%100)}
		if err := tiny.Grow(400); err != nil {
			t.Fatalf("tiny request %d: %v", i, err)
		}
	}
}
