// Merges of ascending lists for the codec Reference, without mispredicted branches.

package lists

import "math"

// copyLen is how many targets are copied at once, even if fewer are needed: the processor
// mispredicts the end of a short loop.
const copyLen = 8

// mergeInto fills out with two ascending lists of its length together. It returns false if they
// have a common target. All must have room for copyLen more targets, which it overwrites.
func mergeInto(out, a, b []uint32) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	// 1. Targets behind a must be above all others, because a is read by copyLen targets.
	n := len(a)
	a = a[:n+copyLen]
	*(*[copyLen]uint32)(a[n:]) = [copyLen]uint32{above, above, above, above, above, above, above, above}
	// 2. Put each target of the shorter list behind the lower ones of a. Counting and copying
	// have no branch, because it would be mispredicted too often.
	out = out[:len(out)+copyLen]
	i, k, common := 0, 0, false
	for _, v := range b {
		for {
			from := (*[copyLen]uint32)(a[i:])
			*(*[copyLen]uint32)(out[k:]) = *from
			n := countLower(from, uint64(v))
			i += n
			k += n
			if n < copyLen {
				break
			}
		}
		common = common || a[i] == v
		out[k] = v
		k++
	}
	for ; i < n; i, k = i+copyLen, k+copyLen {
		*(*[copyLen]uint32)(out[k:]) = *(*[copyLen]uint32)(a[i:])
	}
	return !common
}

// countLower returns how many targets are below v.
func countLower(t *[copyLen]uint32, v uint64) int {
	return int((uint64(t[0])-v)>>63 + (uint64(t[1])-v)>>63 + (uint64(t[2])-v)>>63 + (uint64(t[3])-v)>>63 +
		(uint64(t[4])-v)>>63 + (uint64(t[5])-v)>>63 + (uint64(t[6])-v)>>63 + (uint64(t[7])-v)>>63)
}

// above is above all targets.
const above = math.MaxUint32
