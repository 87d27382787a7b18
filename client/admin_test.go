// Tests of the activity of machines.

package client_test

import (
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/server"
)

// TestActivity: a node alone reports its own activity.
func TestActivity(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	if _, err := c.Admin.Queries(ctx); err != nil {
		t.Fatal(err)
	}
	all, err := c.Admin.Activity(ctx)
	if err != nil || len(all.Members) != 1 || len(all.Absent) != 0 {
		t.Fatalf("%+v: %v", all, err)
	}
	if m := all.Members[0]; m.Seconds <= 0 || m.RequestsInFlight != 1 || m.CompactionDebt == nil || *m.CompactionDebt < 0 {
		t.Errorf("%+v", m)
	}
}
