// Tests of the owners of subscriptions.

package subscriptions

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
)

// TestOwnerRace lets callers create, change and delete one name at the same time. No caller may change
// what another one has, whatever the order.
func TestOwnerRace(t *testing.T) {
	w := newWorld(t)
	for round := range 10 {
		name := fmt.Sprint("sub", round)
		// 1. Each caller creates the name. One of them gets it.
		const callers = 8
		var tasks sync.WaitGroup
		errs := make([]error, callers)
		for i := range callers {
			tasks.Go(func() {
				_, errs[i] = w.registry.Put(t.Context(), Caller{Owner: fmt.Sprint(i)}, Definition{Name: name, URL: fmt.Sprint("https://ex/", i)}, "")
			})
		}
		tasks.Wait()
		s, err := w.registry.Get(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for i, err := range errs {
			mine := fmt.Sprint(i) == s.Owner
			if mine && err != nil || !mine && !errors.Is(err, ErrForbidden) {
				t.Errorf("%d: %v; the owner is %s", i, err, s.Owner)
			}
		}
		if s.URL != "https://ex/"+s.Owner {
			t.Errorf("the owner is %s, the URL %s", s.Owner, s.URL)
		}
		// 2. The others may do nothing to it.
		other := Caller{Owner: "other"}
		for what, err := range map[string]error{
			"delete":  w.registry.Delete(t.Context(), other, name),
			"advance": w.registry.Advance(t.Context(), other, name, "0"),
		} {
			if !errors.Is(err, ErrForbidden) {
				t.Errorf("%s: %v", what, err)
			}
		}
		// 3. Operators change it while its owner does: the owner stays. Some may
		// have conflicted with the others in all of their tries.
		for i := range callers {
			tasks.Go(func() {
				by := Caller{Owner: s.Owner}
				if i%2 == 0 {
					by = Caller{All: true, Owner: "operators"}
				}
				_, errs[i] = w.registry.Put(t.Context(), by, Definition{Name: name, URL: "https://ex/new"}, "0")
			})
		}
		tasks.Wait()
		for i, err := range errs {
			if err != nil && !errors.Is(err, store.ErrConflict) {
				t.Errorf("%d: %v", i, err)
			}
		}
		if now, err := w.registry.Get(t.Context(), name); err != nil || now.Owner != s.Owner || now.URL != "https://ex/new" {
			t.Error(now, err)
		}
	}
}
