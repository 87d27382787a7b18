// Helpers: endless input, and a trefoil with limits.

package cli

import (
	"io"
	"strings"
	"testing"
)

// endless is a reader of many bytes that are nowhere in memory.
type endless struct {
	unit []byte
	left int64
	at   int // in the unit
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && e.left > 0 {
		k := copy(p[n:], e.unit[e.at:])
		e.at = (e.at + k) % len(e.unit)
		n += k
		e.left -= int64(k)
	}
	return n, nil
}

// trefoilLimited runs a command and fails the test where it took more memory
// than maxBytes at its peak.
func trefoilLimited(t *testing.T, maxBytes int64, stdin io.Reader, args ...string) outcome {
	t.Helper()
	p := start(t, stdin, args...)
	out := p.wait(t)
	if peak, ok := peakMemory(p); ok && peak > maxBytes {
		t.Errorf("trefoil %s took %d MiB, allowed are %d MiB", strings.Join(args, " "), peak>>20, maxBytes>>20)
	}
	return out
}
