// One label of a link, and its bytes as an annotation.

package lists

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Label is an annotation of a link.
type Label struct {
	Weight float64 // 1 by default
	Anchor string  // the text of the link, any bytes
}

// MaxAnchor is the greatest length of an anchor in bytes.
const MaxAnchor = 1 << 20

// labelVersion is the first byte of a label, its format.
const labelVersion = 1

// rawWeight begins a weight of eight more bytes.
const rawWeight = 1

// AppendLabel appends the bytes of one label, which are the annotation of the link's triple:
//
//	+------+-----------------+---------------------+
//	| 0x01 | weight          | the anchor's bytes, |
//	|      | 1 to 9 bytes    |   to the end        |
//	+------+-----------------+---------------------+
//
// If a weight is an integer from 0 to 2^53, it is the uvarint of its double. Otherwise it is the
// byte 1 and its 64 bits, little-endian. So each weight has one form. An anchor is truncated at
// [MaxAnchor].
func AppendLabel(dst []byte, l Label) []byte {
	dst = appendWeight(append(dst, labelVersion), l.Weight)
	return append(dst, l.Anchor[:min(len(l.Anchor), MaxAnchor)]...)
}

// DecodeLabel decodes the whole of b, a label of [AppendLabel]. The result shares no memory with
// b. The error wraps [ErrCorrupt] or [ErrVersion].
func DecodeLabel(b []byte) (Label, error) {
	if len(b) == 0 {
		return Label{}, fmt.Errorf("%w: an empty label", ErrCorrupt)
	}
	if b[0] != labelVersion {
		return Label{}, fmt.Errorf("%w: a label of format %d", ErrVersion, b[0])
	}
	w, n := weight(b[1:])
	if n == 0 {
		return Label{}, fmt.Errorf("%w: the weight of a label", ErrCorrupt)
	}
	anchor := b[1+n:]
	if len(anchor) > MaxAnchor {
		return Label{}, fmt.Errorf("%w: an anchor of %d bytes", ErrCorrupt, len(anchor))
	}
	return Label{Weight: w, Anchor: string(anchor)}, nil
}

// maxInteger is the greatest weight that is kept as an integer.
const maxInteger = 1 << 53

// integral reports whether a weight is kept as an integer. Minus zero is not, because its sign
// would be lost.
func integral(w float64) bool {
	return w >= 0 && w <= maxInteger && w == math.Trunc(w) && !math.Signbit(w)
}

func appendWeight(dst []byte, w float64) []byte {
	if integral(w) {
		return binary.AppendUvarint(dst, uint64(w)*2)
	}
	return binary.LittleEndian.AppendUint64(append(dst, rawWeight), math.Float64bits(w))
}

// weight decodes a weight and returns its length, or 0 if b does not begin with one.
func weight(b []byte) (w float64, n int) {
	if len(b) > 0 && b[0] == rawWeight {
		if len(b) < 9 {
			return 0, 0
		}
		w = math.Float64frombits(binary.LittleEndian.Uint64(b[1:]))
		if integral(w) {
			return 0, 0
		}
		return w, 9
	}
	v, n := binary.Uvarint(b)
	// A longer form of a number ends in a zero byte. It must be rejected, because each weight
	// has one form.
	if n <= 0 || v&1 != 0 || v > 2*maxInteger || n > 1 && b[n-1] == 0 {
		return 0, 0
	}
	return float64(v / 2), n
}
