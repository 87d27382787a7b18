// The flags of a store.

package target

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFeedRetentionText: what --feed-retention takes.
func TestFeedRetentionText(t *testing.T) {
	for text, want := range map[string]feedRetention{
		"1GiB":       {1 << 30, 0},
		"256MiB,24h": {256 << 20, 24 * time.Hour},
		"1k, 90m":    {1 << 10, 90 * time.Minute},
		"0":          {leastFeed, 0},
		"0,1h":       {leastFeed, time.Hour},
		"":           {},
		"24h":        {},
		"1GiB,":      {},
		"1GiB,-1h":   {},
		"1GiB,0s":    {},
		"1GiB,1h,1h": {},
	} {
		var r feedRetention
		err := r.UnmarshalText([]byte(text))
		if bad := want == (feedRetention{}); bad != (err != nil) || !bad && r != want {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
}

func TestPort(t *testing.T) {
	if got := (&ServerFlags{To: "7888"}).URL(); got != "http://127.0.0.1:7888" {
		t.Error(got)
	}
}
