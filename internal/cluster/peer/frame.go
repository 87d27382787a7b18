// Frames of a stream (see the package comment), and bodies of a known length.

package peer

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// MaxBody is the default limit of the body of a request, and of the answer to a call. A triple
// has up to 64 MiB of terms, and a row in flight has them twice. Such a row must fit, because its
// sender would repeat it for ever.
const MaxBody = 136 << 20

// MaxFrame is the greatest frame of a stream, in bytes.
const MaxFrame = 16 << 20

const (
	frameData  = 'd'
	frameEnd   = 'e'
	frameError = 'x'
)

// piece is how much is read or written under one deadline, and how much memory
// a length that somebody claims is good for before its bytes arrive.
const piece = 1 << 20

func writeFrame(w io.Writer, kind byte, content []byte) error {
	var head [1 + binary.MaxVarintLen64]byte
	head[0] = kind
	n := 1 + binary.PutUvarint(head[1:], uint64(len(content)))
	if _, err := w.Write(head[:n]); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

// readFrame reads a frame into buf, or into more memory if buf is too small. The error is io.EOF
// only if r ends before the frame.
func readFrame(r *bufio.Reader, buf []byte) (kind byte, content []byte, err error) {
	if kind, err = r.ReadByte(); err != nil {
		return 0, buf, err
	}
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return 0, buf, noEOF(err)
	}
	limit := uint64(0)
	switch kind {
	case frameData:
		limit = MaxFrame
	case frameError:
		limit = maxFailure
	case frameEnd:
	default:
		return 0, buf, fmt.Errorf("a frame of unknown kind %q", kind)
	}
	if n > limit {
		return 0, buf, fmt.Errorf("a frame of kind %q and %d bytes, above the limit of %d", kind, n, limit)
	}
	content, err = readWhole(r, buf[:0], int(n), func(int) error { return nil })
	return kind, content, err
}

// firstPiece is how many bytes are allocated before any byte arrives.
const firstPiece = 64 << 10

// readWhole appends the next n bytes of r to buf and calls before ahead of every
// piece, with its length. The error is never io.EOF.
func readWhole(r io.Reader, buf []byte, n int, before func(length int) error) ([]byte, error) {
	for n > 0 {
		// A piece must be no longer than everything before it, because memory must be bounded by
		// the received bytes, not by the announced ones.
		have := len(buf)
		take := min(n, piece, max(firstPiece, have, cap(buf)-have))
		if err := before(take); err != nil {
			return buf, err
		}
		buf = slices.Grow(buf, take)[:have+take]
		if _, err := io.ReadFull(r, buf[have:]); err != nil {
			return buf[:have], noEOF(err)
		}
		n -= take
	}
	return buf, nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
