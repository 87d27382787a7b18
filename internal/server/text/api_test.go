// Tests of the errors of a search.

package text

import (
	"errors"
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/internal/textsearch"
)

// TestErrors: each error of the index has a kind that clients know, and keeps its message.
func TestErrors(t *testing.T) {
	for err, want := range map[error]problem.Kind{
		textsearch.ErrTooSlow:    problem.KindQueryLimit,
		textsearch.ErrTooLarge:   problem.KindTextMemory,
		textsearch.ErrBuilding:   problem.KindLoading,
		textsearch.ErrNotIndexed: problem.KindNotIndexed,
		textsearch.ErrInvalid:    problem.KindBadParameter,
		textindex.ErrQuery:       problem.KindBadParameter,
		store.ErrNotFound:        problem.KindNotFound,
	} {
		wrapped := fmt.Errorf("%w: the remedy", err)
		var e *problem.Error
		if got := textError(wrapped); !errors.As(got, &e) || e.Kind != want || e.Message != wrapped.Error() {
			t.Errorf("%v becomes %#v, want %s", wrapped, got, want)
		}
	}
	if other := errors.New("other"); textError(other) != other || textError(nil) != nil {
		t.Error("an error of another kind changes")
	}
}
