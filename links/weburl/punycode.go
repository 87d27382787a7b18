// The ASCII form of a label: punycode, after its letters become lower-case.

package weburl

import (
	"math"
	"unicode/utf8"
)

// maxLabel is the maximum length of a label with an ASCII form, in bytes of its Unicode form. DNS
// allows 63 in the ASCII form. The limit is needed because the encoder goes over a label once for
// each of its characters.
const maxLabel = 255

// The parameters of punycode, RFC 3492, section 5.
const (
	punyBase        = 36
	punyTMin        = 1
	punyTMax        = 26
	punySkew        = 38
	punyDamp        = 700
	punyInitialBias = 72
	punyInitialN    = 128
)

// appendASCIILabel appends a label in ASCII form. If it has none, it appends the label as it is.
func appendASCIILabel(dst, label []byte) []byte {
	ascii := true
	for _, c := range label {
		ascii = ascii && c < utf8.RuneSelf
	}
	if ascii || len(label) > maxLabel || !utf8.Valid(label) {
		return append(dst, label...)
	}
	var runes [maxLabel]rune
	n := 0
	for _, r := range string(label) {
		runes[n] = lower(r)
		n++
	}
	return appendPunycode(append(dst, "xn--"...), runes[:n])
}

// appendPunycode appends the punycode of a label: RFC 3492, section 6.3.
func appendPunycode(dst []byte, label []rune) []byte {
	basic := 0
	// 1. Basic characters come first, then a delimiter if there are any.
	for _, r := range label {
		if r < utf8.RuneSelf {
			dst = append(dst, byte(r))
			basic++
		}
	}
	if basic > 0 {
		dst = append(dst, '-')
	}
	// 2. Encode the others as deltas. A label has at most 255 characters below 2^21, so delta
	// stays below 2^30.
	n, delta, bias := rune(punyInitialN), 0, punyInitialBias
	// Each pass encodes all occurrences of the next higher character. Invariant: done characters
	// below n are encoded, and delta counts the positions since the last one.
	for done := basic; done < len(label); {
		next := rune(math.MaxInt32)
		for _, r := range label {
			if r >= n {
				next = min(next, r)
			}
		}
		delta += int(next-n) * (done + 1)
		n = next
		for _, r := range label {
			if r < n {
				delta++
			}
			if r != n {
				continue
			}
			dst = appendPunyNumber(dst, delta, bias)
			bias = punyAdapt(delta, done+1, done == basic)
			delta = 0
			done++
		}
		delta++
		n++
	}
	return dst
}

// appendPunyNumber appends delta as a number of variable length.
func appendPunyNumber(dst []byte, delta, bias int) []byte {
	const digits = "abcdefghijklmnopqrstuvwxyz0123456789"
	for k := punyBase; ; k += punyBase {
		threshold := min(max(k-bias, punyTMin), punyTMax)
		if delta < threshold {
			return append(dst, digits[delta])
		}
		delta -= threshold
		dst = append(dst, digits[threshold+delta%(punyBase-threshold)])
		delta /= punyBase - threshold
	}
}

// punyAdapt returns the bias after a delta: RFC 3492, section 6.1.
func punyAdapt(delta, points int, first bool) int {
	if first {
		delta /= punyDamp
	} else {
		delta /= 2
	}
	delta += delta / points
	k := 0
	for ; delta > (punyBase-punyTMin)*punyTMax/2; k += punyBase {
		delta /= punyBase - punyTMin
	}
	return k + (punyBase-punyTMin+1)*delta/(delta+punySkew)
}

// lower returns the lower-case letter of an upper-case one of ASCII, Latin-1, Latin Extended-A,
// Greek and Cyrillic. It returns any other r as it is. The tables of Unicode are not used,
// because host keys must never change.
func lower(r rune) rune {
	// The ranges follow the blocks of Unicode. U+00D7, U+0130 and U+03A2 are left out, because
	// they are no letters with a lower case at that distance.
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 0x20
	case r < 0xc0:
		return r
	case r <= 0xde && r != 0xd7: // Latin-1
		return r + 0x20
	case 0x100 <= r && r <= 0x137 && r != 0x130, 0x14a <= r && r <= 0x177: // Latin Extended-A
		return r | 1
	case 0x139 <= r && r <= 0x148, 0x179 <= r && r <= 0x17e:
		return r + r&1
	case r == 0x178:
		return 0xff
	case 0x391 <= r && r <= 0x3ab && r != 0x3a2: // Greek
		return r + 0x20
	case r == 0x386:
		return 0x3ac
	case 0x388 <= r && r <= 0x38a:
		return r + 0x25
	case r == 0x38c:
		return 0x3cc
	case r == 0x38e, r == 0x38f:
		return r + 0x3f
	case 0x410 <= r && r <= 0x42f: // Cyrillic
		return r + 0x20
	case 0x400 <= r && r <= 0x40f:
		return r + 0x50
	}
	return r
}
