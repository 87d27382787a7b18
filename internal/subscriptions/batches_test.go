// Tests of batches that end within a request.

package subscriptions

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/webhook"
	"github.com/trefoildb/trefoil/triple"
)

// slowDisk needs a millisecond of virtual time for each sync. So the requests of that time share a commit.
func slowDisk() *errorfs.FS {
	return errorfs.Wrap(memdisk.New(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData {
			time.Sleep(time.Millisecond)
		}
		return nil
	}))
}

// TestGroupCommits makes many requests at the same time, which are committed together, in batches that
// hold some requests and a part of the next one. The first try of each message fails. No change is lost,
// whatever a batch ends with.
func TestGroupCommits(t *testing.T) {
	for _, batchBytes := range []int{1, 400, 1000, 3000} {
		t.Run(fmt.Sprint(batchBytes), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) { groupCommits(t, batchBytes) })
		})
	}
}

func groupCommits(t *testing.T, batchBytes int) {
	w := newWorldOn(t, "data", slowDisk())
	tried := map[string]bool{}
	w.receiver.fail = func(m *webhook.Message, _ int) error {
		if tried[m.ID] {
			return nil
		}
		tried[m.ID] = true
		return errors.New("the first try of each message fails")
	}
	w.start(Options{BatchBytes: batchBytes})
	w.put("sub", map[string]string{"p": "p"})
	const rounds, requests, triples = 5, 20, 4
	var want []string
	for round := range rounds {
		var tasks sync.WaitGroup
		for i := range requests {
			first := (round*requests + i) * triples
			var some []triple.Triple
			for n := range triples {
				some = append(some, number("p", first+n))
				want = append(want, fmt.Sprint("add ", first+n))
			}
			tasks.Go(func() { w.add(some...) })
		}
		tasks.Wait()
	}
	w.add(number("p", len(want)))
	want = append(want, fmt.Sprint("add ", len(want)))
	w.until("the last change", func() bool { return slices.Contains(w.receiver.of("sub"), want[len(want)-1]) })
	got := w.receiver.of("sub")
	var missing []string
	for _, line := range want {
		if !slices.Contains(got, line) {
			missing = append(missing, line)
		}
	}
	if len(missing) > 0 {
		t.Errorf("%d of %d changes are lost, the first is %s", len(missing), len(want), missing[0])
	}
}
