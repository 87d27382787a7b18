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
	a = bounded(a)
	// 2. Put each target of the shorter list behind the lower ones of a. Counting and copying
	// have no branch, because it would be mispredicted too often.
	out = out[:len(out)+copyLen]
	i, k, common := 0, 0, uint64(0)
	for _, v := range b {
		v := uint64(v)
		n := copyLen
		for n == copyLen {
			n = copyLower((*[copyLen]uint32)(out[k:]), (*[copyLen]uint32)(a[i:]), v)
			i += n
			k += n
		}
		common |= (uint64(a[i]) ^ v - 1) >> 63 // 1 if they are equal
		out[k] = uint32(v)
		k++
	}
	for ; i < n; i, k = i+copyLen, k+copyLen {
		copyTargets((*[copyLen]uint32)(out[k:]), (*[copyLen]uint32)(a[i:]))
	}
	return common == 0
}

// bounded returns an ascending list with copyLen targets more that are above all others.
func bounded(list []uint32) []uint32 {
	n := len(list)
	list = list[:n+copyLen]
	*(*[copyLen]uint32)(list[n:]) = [copyLen]uint32{above, above, above, above, above, above, above, above}
	return list
}

// mergeRuns is mergeInto for runs, which must ascend, and a list.
func mergeRuns(out, list []uint32, runs []run) bool {
	n := len(list)
	list = bounded(list)
	out = out[:len(out)+copyLen]
	i, k := 0, 0
	for _, r := range runs {
		n := copyLen
		for n == copyLen {
			n = copyLower((*[copyLen]uint32)(out[k:]), (*[copyLen]uint32)(list[i:]), uint64(r.first))
			i += n
			k += n
		}
		if list[i]-r.first < r.n {
			return false
		}
		for j := range out[k : k+int(r.n)] {
			out[k+j] = r.first + uint32(j)
		}
		k += int(r.n)
	}
	for ; i < n; i, k = i+copyLen, k+copyLen {
		copyTargets((*[copyLen]uint32)(out[k:]), (*[copyLen]uint32)(list[i:]))
	}
	return true
}

// copyLower is copyTargets, and returns how many targets are below v.
func copyLower(to, from *[copyLen]uint32, v uint64) int {
	x, y := uint64(from[0]), uint64(from[1])
	to[0], to[1] = uint32(x), uint32(y)
	n := (x-v)>>63 + (y-v)>>63
	x, y = uint64(from[2]), uint64(from[3])
	to[2], to[3] = uint32(x), uint32(y)
	n += (x-v)>>63 + (y-v)>>63
	x, y = uint64(from[4]), uint64(from[5])
	to[4], to[5] = uint32(x), uint32(y)
	n += (x-v)>>63 + (y-v)>>63
	x, y = uint64(from[6]), uint64(from[7])
	to[6], to[7] = uint32(x), uint32(y)
	return int(n + (x-v)>>63 + (y-v)>>63)
}

// copyTargets copies one by one, because a copy of all at once waits for stores of single
// targets, and calls a function.
func copyTargets(to, from *[copyLen]uint32) {
	a, b, c, d := from[0], from[1], from[2], from[3]
	to[0], to[1], to[2], to[3] = a, b, c, d
	a, b, c, d = from[4], from[5], from[6], from[7]
	to[4], to[5], to[6], to[7] = a, b, c, d
}

// above is above all targets.
const above = math.MaxUint32
