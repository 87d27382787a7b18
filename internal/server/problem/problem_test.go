// Which kind an error has that wraps several.

package problem

import (
	"context"
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
)

// TestInnerDeadline: an error that wraps a kind and the deadline of an inner step has that kind. A bare deadline is
// "unavailable" while the request lasts, and nothing is answered only if the request's own context ended.
func TestInnerDeadline(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, inner := range []error{context.DeadlineExceeded, context.Canceled} {
		for _, c := range []struct {
			kind error // nil: none
			want Kind
		}{
			{store.ErrUnavailable, KindUnavailable}, {store.ErrBusy, KindBusy}, {store.ErrUnknown, KindUnknownOutcome}, {store.ErrLost, KindLost},
			{store.ErrCorrupt, KindCorrupt}, {store.ErrNotFound, KindNotFound}, {store.ErrInvalid, KindBadRequest}, {nil, KindUnavailable},
		} {
			err := fmt.Errorf("a step: %w", inner)
			if c.kind != nil {
				err = fmt.Errorf("a step: %w: %w", c.kind, inner)
			}
			e := Ended(t.Context(), As(err))
			if e.Kind != c.want || e.Kind == KindUnavailable && e.RetryAfter == 0 {
				t.Errorf("%v: kind %s, retry after %d s; want %s", err, e.Kind, e.RetryAfter, c.want)
			}
			if e := Ended(t.Context(), As(PartialError(err, 3, 0, "added"))); e.Done != 3 || !e.Begun {
				t.Errorf("%v, behind 3 triples: %+v", err, e)
			}
			if e := Ended(ended, As(err)); c.kind == nil && e.Kind != KindGone {
				t.Errorf("%v, and the client has gone: %s", err, e.Kind)
			}
		}
	}
}
