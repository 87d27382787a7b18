// Followers that stand still, in the output of status.

package cluster

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
)

// TestStatusStalled: both forms of the status show a follower that stands still, since when and why.
func TestStatusStalled(t *testing.T) {
	s := client.Status{Members: []client.Member{{ID: "1", State: "up"}}, Stalled: []client.StalledFollower{
		{Follower: "text", Since: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), Error: "a row is damaged"},
	}}
	var lone, cluster bytes.Buffer
	if err := printStatus(&lone, s); err != nil {
		t.Fatal(err)
	}
	s.Cluster = "c"
	if err := printCluster(&cluster, s); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{lone.String(), cluster.String()} {
		if !strings.Contains(out, "text, not current since 2026-11-28T12:00:00Z: a row is damaged\n") {
			t.Error(out)
		}
	}
}
