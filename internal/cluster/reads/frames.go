// Frames of rows as bytes; the package comment has the format.

package reads

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/triple"
)

// Kinds of frames.
const (
	frameRows   = 0x00
	frameEnd    = 0x01
	frameMore   = 0x02
	frameBeat   = 0x03
	frameNumber = 0x04
	framePart   = 0x05 // the beginning of a frame that is too long for one message
	frameWhole  = 0x06 // its rest
)

const (
	// frameBytes is about the size of a frame: a frame is sent when it reaches this size.
	frameBytes = 40 << 10
	// partBytes is the maximum size of a message. A row with long terms may exceed it.
	partBytes = 1 << 20
	// maxWhole bounds a frame in parts, because the terms of a triple have up to 64 MiB and a
	// byte of a term may take two in a key.
	maxWhole = 256 << 20
)

// row is one row of an answer, and the index of its range. Its slices are valid until the next step.
type row struct {
	index      int
	key, value []byte
}

// packer packs rows into frames. It writes a frame when it reaches most bytes, or keeps it if most
// is 0. Frames are coded by hand, because with a peer.Coder 1,000 rows took 1.3 times as long to
// encode, and 1.5 times to decode.
type packer struct {
	write func(frame []byte) error
	most  int
	frame []byte
	last  row   // the one before
	sent  int64 // bytes
}

// add appends a row. Rows must come in the sequence of their ranges.
func (p *packer) add(r row) error {
	header := uint64(0)
	// 1. The first row of a frame shares nothing, because each frame must be decodable by itself.
	if len(p.frame) == 0 {
		p.frame = append(p.frame, frameRows)
		p.last.index, p.last.key, p.last.value = 0, p.last.key[:0], p.last.value[:0]
	}
	n := commonPrefix(p.last.key, r.key)
	same := bytes.Equal(p.last.value, r.value)
	if same {
		header |= 2
	}
	if r.index != p.last.index {
		header |= 1
	}
	// 2. Append the header, the rest of the key, and the value unless it is the same.
	p.frame = binary.AppendUvarint(p.frame, uint64(n)<<2|header)
	if header&1 != 0 {
		p.frame = binary.AppendUvarint(p.frame, uint64(r.index-p.last.index))
	}
	p.frame = appendBytes(p.frame, r.key[n:])
	if !same {
		p.frame = appendBytes(p.frame, r.value)
		p.last.value = append(p.last.value[:0], r.value...)
	}
	// 3. Keep the row for the next one. It must be copied, because the caller reuses it.
	p.last.index = r.index
	p.last.key = append(p.last.key[:n], r.key[n:]...)
	if p.most > 0 && len(p.frame) >= p.most {
		return p.flush()
	}
	return nil
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// flush writes the frame, in parts if it is too long for one message.
func (p *packer) flush() error {
	if len(p.frame) == 0 {
		return nil
	}
	p.sent += int64(len(p.frame))
	rest := p.frame
	for len(rest) > partBytes {
		if err := p.write(append([]byte{framePart}, rest[:partBytes]...)); err != nil {
			return err
		}
		rest = rest[partBytes:]
	}
	if len(rest) < len(p.frame) {
		rest = append([]byte{frameWhole}, rest...)
	}
	err := p.write(rest)
	if p.frame = p.frame[:0]; cap(p.frame) > partBytes {
		p.frame = nil
	}
	return err
}

// joiner joins the parts of frames.
type joiner struct{ parts []byte }

// join returns a frame, nil if parts are missing. The caller may keep it.
func (j *joiner) join(message []byte) ([]byte, error) {
	if len(message) == 0 {
		return nil, badFrame("empty")
	}
	switch kind := message[0]; {
	case kind == framePart || kind == frameWhole:
		if len(j.parts)+len(message) > maxWhole {
			return nil, badFrame("too long")
		}
		j.parts = append(j.parts, message[1:]...)
		if kind == framePart {
			return nil, nil
		}
		whole := j.parts
		j.parts = nil
		if len(whole) == 0 {
			return nil, badFrame("empty")
		}
		return whole, nil
	case j.parts != nil:
		return nil, badFrame("in parts that do not end")
	}
	return bytes.Clone(message), nil
}

func badFrame(what string) error { return fmt.Errorf("%w: a frame that is %s", peer.ErrMessage, what) }

// unpacker reads the rows of one frame.
type unpacker struct {
	rest []byte
	row  row
	err  error
}

// begin makes the unpacker read a frame of rows. An empty frame has none.
func (u *unpacker) begin(frame []byte) {
	u.rest = frame
	if len(frame) > 0 {
		u.rest = frame[1:]
	}
	u.row = row{key: u.row.key[:0]}
}

func (u *unpacker) empty() bool { return len(u.rest) == 0 && u.err == nil }

// next decodes a row into u.row. It returns false at the end of the frame, and after an error.
func (u *unpacker) next() (bool, error) {
	if len(u.rest) == 0 || u.err != nil {
		return false, u.err
	}
	// 1. Decode. Every length must be checked before it is used, because the frame comes from
	// another machine.
	header, ok := u.uvarint()
	advance := uint64(0)
	if ok && header&1 != 0 {
		advance, ok = u.uvarint()
	}
	n := header >> 2
	if !ok || n > uint64(len(u.row.key)) || advance > maxRanges {
		u.err = badFrame("not of rows")
		return false, u.err
	}
	rest, ok := u.bytes()
	value := u.row.value
	if ok && header&2 == 0 {
		value, ok = u.bytes()
	}
	if !ok {
		u.err = badFrame("cut")
		return false, u.err
	}
	// 2. Nothing of u.row changes before the whole row is decoded.
	u.row.index += int(advance)
	u.row.key = append(u.row.key[:n], rest...)
	u.row.value = value
	return true, nil
}

// errNotRequested is returned if a row is in none of the requested ranges.
var errNotRequested = badFrame("not of what was asked for")

// nextIn returns the next row. It returns an error if the row is in none of ranges.
func (u *unpacker) nextIn(ranges []triple.Range) (row, bool, error) {
	ok, err := u.next()
	if !ok {
		return row{}, false, err
	}
	if u.row.index >= len(ranges) || !ranges[u.row.index].Contains(u.row.key) {
		u.err = errNotRequested
		return row{}, false, u.err
	}
	return u.row, true, nil
}

func (u *unpacker) uvarint() (uint64, bool) {
	if len(u.rest) > 0 && u.rest[0] < 0x80 { // as most are
		n := uint64(u.rest[0])
		u.rest = u.rest[1:]
		return n, true
	}
	n, size := binary.Uvarint(u.rest)
	if size <= 0 {
		return 0, false
	}
	u.rest = u.rest[size:]
	return n, true
}

func (u *unpacker) bytes() ([]byte, bool) {
	n, ok := u.uvarint()
	if !ok || n > uint64(len(u.rest)) {
		return nil, false
	}
	b := u.rest[:n:n]
	u.rest = u.rest[n:]
	return b, true
}

// appendMore appends the frame with the last row of an answer if more rows are left.
func appendMore(dst []byte, r row) []byte {
	dst = binary.AppendUvarint(append(dst, frameMore), uint64(r.index))
	return append(dst, r.key...)
}

// parseMore decodes the frame of appendMore.
func parseMore(frame []byte) (index int, key []byte, err error) {
	n, size := binary.Uvarint(frame[1:])
	if size <= 0 || n > maxRanges {
		return 0, nil, badFrame("not a place")
	}
	return int(n), frame[1+size:], nil
}

// appendRows appends the answer to a call: whether more rows are left, the last row if so, and a
// frame of rows. The frame may be empty.
func appendRows(dst, frame []byte, more bool, last row) []byte {
	if !more {
		return append(append(dst, frameEnd), frame...)
	}
	dst = slices.Grow(dst, len(frame)+len(last.key)+16)
	dst = binary.AppendUvarint(append(dst, frameMore), uint64(last.index))
	return append(appendBytes(dst, last.key), frame...)
}

// parseRows decodes the answer to a call. The result shares memory with it.
func parseRows(answer []byte) (more bool, index int, key, frame []byte, err error) {
	d := peer.NewDecoder(answer)
	switch kind := d.Byte(); {
	case d.Err() != nil:
		return false, 0, nil, nil, d.Err()
	case kind == frameMore:
		more = true
		index, key = int(min(d.Uvarint(), maxRanges)), d.Bytes()
	case kind != frameEnd:
		return false, 0, nil, nil, badFrame("of unknown kind")
	}
	if frame = d.Rest(); len(frame) > 0 && frame[0] != frameRows {
		return false, 0, nil, nil, badFrame("not of rows")
	}
	return more, index, key, frame, d.Err()
}
