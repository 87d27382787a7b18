// A server that goes away while it is watched.

package rdf

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/cli/console"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWatchOutage: a server that was there has minutes to come back, another one has seconds.
func TestWatchOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := outage{Env: &console.Env{Stderr: t.Output()}}
		for range firstRetries {
			if err := o.sleep(t.Context(), time.Second); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.sleep(t.Context(), time.Second); !errors.Is(err, errNoServer) {
			t.Error(err)
		}
		o.end()
		for range watchRetries {
			if err := o.sleep(t.Context(), 10*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := o.sleep(ended, time.Hour); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
