// Tests of the answers to messages of a backfill.

package backfill

import (
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/throttle"
)

func TestParsePause(t *testing.T) {
	if pause, err := parsePause([]byte{0x90, 0x4e}); err != nil || pause != 10*time.Millisecond {
		t.Errorf("%v, %v", pause, err)
	}
	long := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}
	if pause, err := parsePause(long); err != nil || pause != throttle.MaxPause {
		t.Errorf("%v, %v", pause, err)
	}
	for _, wrong := range [][]byte{nil, {0x80}, {1, 1}} {
		if _, err := parsePause(wrong); err == nil {
			t.Errorf("% X is taken", wrong)
		}
	}
}
