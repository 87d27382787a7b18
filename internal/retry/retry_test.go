// Tests of the pauses.

package retry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoff(t *testing.T) {
	b := Backoff{First: 10 * time.Millisecond, Last: 50 * time.Millisecond}
	for range 2 {
		for i, most := range []time.Duration{10, 20, 40, 50, 50} {
			most *= time.Millisecond
			if d := b.Next(); d < most/2 || d > most {
				t.Errorf("pause %d is %s, not %s to %s", i, d, most/2, most)
			}
		}
		b.Reset()
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		// The end of the context, and a closed channel, end the wait at once.
		failed := errors.New("failed")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(failed)
		early := make(chan struct{})
		began = time.Now()
		if err := Sleep(ctx, time.Minute); err != failed {
			t.Errorf("%v, not the cause", err)
		}
		close(early)
		if err := SleepUntil(t.Context(), time.Minute, early); err != nil || time.Since(began) != 0 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
