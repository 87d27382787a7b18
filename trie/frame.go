// The frame of encoded tries and placements: magic, version, checksum.

package trie

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// Faults of an encoding. Test with errors.Is.
var (
	// ErrCorrupt is wrapped by the errors of [Parse], [ParsePlacement] and [Trie.Check] if bytes,
	// or a structure, break a rule.
	ErrCorrupt = errors.New("corrupt")

	// ErrVersion is wrapped instead for an encoding of another version, such
	// as a newer program writes: it need not be damaged.
	ErrVersion = errors.New("unknown format version")
)

const (
	magicLen    = 4
	checksumLen = 8
)

// A format is the common frame of both encodings: magic, version, a body, and the checksum of
// everything before it.
type format struct {
	magic   string // magicLen bytes
	version byte
}

var (
	trieFormat      = format{"tfTR", 1}
	placementFormat = format{"tfPL", 1}
)

// begin appends the head of an encoding to b.
func (f format) begin(b []byte) []byte {
	return append(append(b, f.magic...), f.version)
}

// seal appends the checksum of the encoding from b[start] on.
func (f format) seal(b []byte, start int) []byte {
	return binary.BigEndian.AppendUint64(b, xxhash.Sum64(b[start:]))
}

// open checks the frame of b and returns a reader of the body.
func (f format) open(b []byte) (*reader, error) {
	r := &reader{buf: b}
	if len(b) < magicLen+1+checksumLen {
		r.fail(len(b), "ends inside the frame of magic, version and checksum")
		return nil, r.err
	}
	if !bytes.HasPrefix(b, []byte(f.magic)) {
		r.fail(0, "magic is %q, not %q", b[:magicLen], f.magic)
		return nil, r.err
	}
	if b[magicLen] != f.version {
		return nil, fmt.Errorf("byte %d: %w %d, this program knows %d", magicLen, ErrVersion, b[magicLen], f.version)
	}
	end := len(b) - checksumLen
	if sum := xxhash.Sum64(b[:end]); sum != binary.BigEndian.Uint64(b[end:]) {
		r.fail(end, "checksum is %016x, the bytes before it give %016x", b[end:], sum)
		return nil, r.err
	}
	r.buf, r.off = b[:end], magicLen+1
	return r, nil
}

// A reader takes an encoding apart. The first error stays in err, and every method returns zero
// values from then on, so a loop may check it once a round. A length must not cause an allocation
// before it is compared with the rest of buf.
type reader struct {
	buf []byte
	off int // of the next byte, from the start of the encoding
	err error
}

// fail sets the error unless there is one. It wraps ErrCorrupt.
func (r *reader) fail(off int, what string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("byte %d: %s: %w", off, fmt.Sprintf(what, args...), ErrCorrupt)
	}
}

func (r *reader) left() int { return len(r.buf) - r.off }

// uvarint reads a number in its shortest form. It must be at most limit.
func (r *reader) uvarint(what string, limit uint64) uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.buf[r.off:])
	switch {
	case n == 0:
		r.fail(r.off, "ends inside %s", what)
	case n < 0:
		r.fail(r.off, "%s is over 64 bits", what)
	case n > 1 && r.buf[r.off+n-1] == 0:
		r.fail(r.off, "%s is not in its shortest form", what)
	case v > limit:
		r.fail(r.off, "%s is %d, over %d", what, v, limit)
	default:
		r.off += n
		return v
	}
	return 0
}

// count reads how many elements of at least elementBytes each follow.
func (r *reader) count(what string, elementBytes, limit int) int {
	off := r.off
	n := int(r.uvarint(what, uint64(limit)))
	if r.err == nil && n == 0 {
		r.fail(off, "%s is 0", what)
	}
	if r.err == nil && n > r.left()/elementBytes {
		r.fail(off, "%s is %d, for which %d bytes are too few", what, n, r.left())
	}
	if r.err != nil {
		return 0
	}
	return n
}

// bytes returns the next n bytes. They are a part of buf.
func (r *reader) bytes(what string, n int) []byte {
	if r.err != nil {
		return nil
	}
	if n > r.left() {
		r.fail(r.off, "%s has %d bytes, only %d are left", what, n, r.left())
		return nil
	}
	r.off += n
	return r.buf[r.off-n : r.off]
}

// end expects the end of the body.
func (r *reader) end() {
	if r.err == nil && r.left() > 0 {
		r.fail(r.off, "%d bytes behind the last element", r.left())
	}
}
