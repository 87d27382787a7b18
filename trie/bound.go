// Bounds: keys for splits of segments.

package trie

import "encoding/binary"

// Separator returns the shortest key s with a < s <= b: a short bound between two neighbouring
// keys. A nil b is the end of the space (a < s). It returns nil if a >= b, because there is no
// such key. The result is the caller's own.
func Separator(a, b []byte) []byte {
	if b == nil {
		s, _ := afterFFs(a)
		if len(s) == len(a) {
			return append(s, 0)
		}
		return append(s, a[len(s)]+1)
	}
	// Every key between a and b begins with their common prefix. The prefix alone is not greater
	// than a, so one more byte is needed, and b's will do.
	i := commonPrefix(a, b)
	if i == len(b) || i < len(a) && a[i] > b[i] {
		return nil
	}
	return append([]byte(nil), b[:i+1]...)
}

// Midpoint returns a short key m with a < m <= b, about half-way. It sets the common prefix of a
// and b aside and reads the next eight bytes of each, padded by zeros, as a number. m is within
// an eighth of their distance from their mean, in as few bytes as possible. A nil b is the end of
// the space (a < m). If a and b are too close, m is their [Separator]; it may be b itself then.
// Midpoint returns nil if a >= b. The result is the caller's own.
//
// It halves the space, not the data, because the number of keys on either side is not known here.
func Midpoint(a, b []byte) []byte {
	var m []byte
	var x, half uint64 // a as a number, and half its distance from b
	if b == nil {
		// Every key above a begins with a's leading 0xFF bytes, so these are the common prefix.
		// The number of the end is 2^64; it wraps to 0.
		m, x = afterFFs(a)
		half = -x / 2
		if x == 0 {
			half = 1 << 63
		}
	} else {
		i := commonPrefix(a, b)
		if i == len(b) || i < len(a) && a[i] > b[i] {
			return nil
		}
		m = append(m, a[:i]...)
		x = leading(a[i:])
		half = (leading(b[i:]) - x) / 2
	}
	mean := x + half
	// Take the fewest bytes near enough to the mean, because bounds must be short.
	for n := 1; n <= 8; n++ {
		cut := mean &^ (1<<(64-8*n) - 1)
		if cut > x && mean-cut <= half/4 {
			return append(m, binary.BigEndian.AppendUint64(nil, cut)[:n]...)
		}
	}
	return Separator(a, b)
}

// afterFFs returns a copy of the leading 0xFF bytes of a, and the bytes after them as a number.
func afterFFs(a []byte) ([]byte, uint64) {
	i := 0
	for i < len(a) && a[i] == 0xFF {
		i++
	}
	return append(make([]byte, 0, i+8), a[:i]...), leading(a[i:])
}

// leading returns the first eight bytes of b as a number, padded by zeros.
func leading(b []byte) uint64 {
	var first [8]byte
	copy(first[:], b)
	return binary.BigEndian.Uint64(first[:])
}
