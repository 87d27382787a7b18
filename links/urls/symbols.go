// The dictionary: frequent byte sequences of the suffixes, each with a code. Without a dictionary
// a unit is a byte.

package urls

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

const (
	// symbolBytes is the maximum length of a symbol, because it must fit a register.
	symbolBytes = 8
	// maxCodeBits is the maximum width of a code.
	maxCodeBits = 16
)

// symbols are the symbols of a table, by their codes. The first 256 are the single bytes, because
// any suffix must be writable. The zero value has none: a unit is a byte then.
type symbols struct {
	width uint   // bits of a code; 0 if a unit is a byte
	lens  []byte // of each symbol, 1 to symbolBytes
	text  []byte // symbolBytes for each symbol, filled up with zeros
}

// bytes returns the number of bytes for a number of units.
func (s *symbols) bytes(units int) int {
	if s.width == 0 {
		return units
	}
	return (units*int(s.width) + 7) >> 3
}

// code reads the code at a bit of b. b must have 8 bytes from there on.
func (s *symbols) code(b []byte, bit int) int {
	return int(binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & (1<<s.width - 1))
}

// decode appends the bytes of units to dst, limit bytes at most, and returns it. It stops at the
// end of the block. It may write up to 7 bytes into dst's capacity behind the result.
func (s *symbols) decode(dst, body []byte, u span, limit int) []byte {
	// 1. Without symbols the units are the bytes.
	end := len(body) - readAhead
	if s.width == 0 {
		at := u.base + u.first
		if n := min(u.units, limit, end-at); n > 0 {
			dst = append(dst, body[at:at+n]...)
		}
		return dst
	}
	// 2. Decode code after code. A code beyond the symbols is damage and ends the loop.
	bit := u.base<<3 + u.first*int(s.width)
	for units := u.units; units > 0 && limit > 0 && bit+int(s.width) <= end<<3; units-- {
		code := s.code(body, bit)
		if code >= len(s.lens) {
			break
		}
		bit += int(s.width)
		size := min(int(s.lens[code]), limit)
		limit -= size
		text := s.text[code*symbolBytes : code*symbolBytes+symbolBytes]
		// Copy 8 bytes if there is room, because a copy of fixed size is fast.
		if n := len(dst); cap(dst)-n >= symbolBytes {
			dst = dst[:n+symbolBytes]
			copy(dst[n:], text)
			dst = dst[:n+size]
		} else {
			dst = append(dst, text[:size]...)
		}
	}
	return dst
}

// match compares the bytes of units with want. It returns the length of the common prefix and the
// order of the two. The order is 0 if they are equal.
func (s *symbols) match(body []byte, u span, want []byte) (common, order int) {
	// 1. Without symbols the units are the bytes.
	end := len(body) - readAhead
	if s.width == 0 {
		at := u.base + u.first
		size := max(min(u.units, end-at), 0)
		if size == 0 {
			return 0, -min(len(want), 1)
		}
		have := body[at : at+size]
		common = commonPrefix(have, want)
		switch {
		case common == len(want):
			return common, min(size-common, 1)
		case common == size || have[common] < want[common]:
			return common, -1
		}
		return common, 1
	}
	// 2. Compare symbol after symbol, without writing the text. load fills up with zeros, so a
	// match beyond the end of want must be cut off.
	bit := u.base<<3 + u.first*int(s.width)
	for units := u.units; units > 0 && bit+int(s.width) <= end<<3; units-- {
		code := s.code(body, bit)
		if code >= len(s.lens) {
			break
		}
		bit += int(s.width)
		size := int(s.lens[code])
		have, next := binary.LittleEndian.Uint64(s.text[code*symbolBytes:]), load(want[common:])
		same := min(bits.TrailingZeros64(have^next)>>3, size)
		if common+same >= len(want) && (same < size || common+same > len(want)) {
			return len(want), 1
		}
		common += same
		if same < size {
			if byte(have>>(8*same)) < want[common] {
				return common, -1
			}
			return common, 1
		}
	}
	// 3. All units are equal to the front of want.
	if common == len(want) {
		return common, 0
	}
	return common, -1
}

// load returns the first 8 bytes of b as a number, the first byte lowest. Missing bytes are 0.
func load(b []byte) (v uint64) {
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// appendTo appends the symbols to dst.
func (s *symbols) appendTo(dst []byte) []byte {
	if s.width == 0 {
		return dst
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(s.lens)))
	dst = append(dst, s.lens...)
	dst = append(dst, make([]byte, -len(s.lens)&7)...)
	return append(dst, s.text...)
}

// open reads the symbols at the front of b and returns the bytes behind them. s.width must be the
// width of a code.
func (s *symbols) open(b []byte) (rest []byte, err error) {
	if s.width == 0 {
		return b, nil
	}
	if s.width > maxCodeBits {
		return nil, fmt.Errorf("codes of %d bits, at most %d", s.width, maxCodeBits)
	}
	// Check the count before it is used as a size, because b may be damaged. A length above 8
	// would make decode slice beyond a symbol.
	if len(b) < 8 {
		return nil, fmt.Errorf("%d bytes, no count", len(b))
	}
	count := binary.LittleEndian.Uint64(b)
	if count < 256 || count > 1<<s.width {
		return nil, fmt.Errorf("%d symbols for codes of %d bits", count, s.width)
	}
	b = b[8:]
	padded := (int(count) + 7) &^ 7
	size := padded + int(count)*symbolBytes
	if len(b) < size {
		return nil, fmt.Errorf("%d symbols in %d bytes", count, len(b))
	}
	s.lens, s.text = b[:count], b[padded:size]
	for _, n := range s.lens {
		if n == 0 || n > symbolBytes {
			return nil, errors.New("a symbol without bytes, or with more than 8")
		}
	}
	return b[size:], nil
}
