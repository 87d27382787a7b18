// Tests of the bounds of large pages.

package cell

import (
	"bytes"
	"testing"
)

func TestLargePagesWithin(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct{ first, length, from, bytes uintptr }{
		{0, 0, 0, 0},
		{0, 2*mib - 1, 0, 0},
		{0, 2 * mib, 0, 2 * mib},
		{1, 2 * mib, 2 * mib, 0},
		{1, 4*mib - 1, 2 * mib, 2 * mib},
		{3 * mib, 20 * mib, 4 * mib, 18 * mib},
		{2*mib - 8, 16, 2 * mib, 0},
	} {
		if from, n := largePages(c.first, c.length); from != c.from || n != c.bytes {
			t.Errorf("large pages of %d bytes from %d on: %d from %d on, want %d from %d on", c.length, c.first, n, from, c.bytes, c.from)
		}
	}
}

// The memory must stay unchanged, whether or not the kernel grants the request.
func TestUseLargePages(t *testing.T) {
	for _, size := range []int{0, 1, largePage, 5*largePage + 7} {
		b := bytes.Repeat([]byte("cell"), size/4+1)[:size]
		before := bytes.Clone(b)
		if useLargePages(b); !bytes.Equal(b, before) {
			t.Fatalf("%d bytes have changed", size)
		}
	}
}
