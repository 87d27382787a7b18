// The bytes that compactions in progress are going to write.

package database

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// One of two compactions ends between the reads of the metrics and of the rewritten bytes. The bytes that it has
// written must not count as written by the other.
func TestCompactionEndsAmidMetrics(t *testing.T) {
	const ended, other = 5 << 20, 3 << 20
	inProgress, written := int64(ended+other), int64(ended)
	reads := 0
	m, rewritten := compacting(func() *pebble.Metrics {
		m := new(pebble.Metrics)
		m.Compact.InProgressBytes = written
		if reads++; reads == 1 {
			inProgress, written = other, 0
		}
		return m
	}, func() int64 { return inProgress })
	if left := rewritten - m.Compact.InProgressBytes; left != other {
		t.Errorf("%d bytes are left to write, want %d", left, other)
	}
}
