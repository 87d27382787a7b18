// Tests of the events in logs.

package rig

import (
	"bufio"
	"strings"
	"testing"
	"time"
)

// The lines that a node logs are parsed.
func TestParseEvent(t *testing.T) {
	log := `time=2026-11-21T07:24:35.001Z level=INFO msg="serving d1 at http://127.0.0.1:7333"
time=2026-11-21T07:24:35.764Z level=INFO msg="adopted a view" epoch=14 phase=idle members=3
time=2026-11-21T07:24:35.842Z level=INFO msg="proposing a view" epoch=15 phase=idle members=3 reason="5 segments \"are\" split"
time=2026-11-21T07:24:36.269Z level=INFO msg=backfilled epoch=16 rows=200000 repaired=51351
`
	var found []Event
	for in := bufio.NewScanner(strings.NewReader(log)); in.Scan(); {
		if e, ok := parseEvent(in.Text()); ok {
			found = append(found, e)
		}
	}
	if len(found) != 2 || found[0].What != Adopted || found[0].Number("epoch") != 14 || found[0].Fields["phase"] != "idle" {
		t.Fatalf("found %v", found)
	}
	want := time.Date(2026, 11, 21, 7, 24, 36, 269_000_000, time.UTC)
	if e := found[1]; e.What != Backfilled || !e.At.Equal(want) || e.Number("repaired") != 51351 {
		t.Errorf("found %v", e)
	}
}
