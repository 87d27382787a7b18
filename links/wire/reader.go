// Answers as they are read: while they come.

package wire

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
)

// Reader reads one answer. It is for one goroutine. The first error stays, and wraps
// [ErrMalformed] or is that of the reader below; io.ErrUnexpectedEOF where that
// ends too early. What is returned beside an error is worth nothing.
type Reader struct {
	r     io.Reader
	b     []byte // what was read
	at    int    // Invariant: 0 <= at <= len(b)
	eof   bool
	err   error
	count int
	last  uid.UID
}

// NewReader begins to read an answer of a kind, and of as many items as were asked
// about; less than 0 is of any number, which [Reader.Count] then tells.
func NewReader(r io.Reader, k Kind, count int) *Reader {
	in := &Reader{r: r, b: make([]byte, 0, 64<<10)}
	in.fill(headBytes)
	if in.err == nil {
		in.err = checkHead(in.b, k)
	}
	if in.err != nil {
		return in
	}
	in.at = headBytes
	n := in.number()
	switch {
	case in.err != nil:
	case n > math.MaxInt || count >= 0 && n != uint64(count):
		in.err = fmt.Errorf("%w: %d items where %d are expected", ErrMalformed, n, count)
	default:
		in.count = int(n)
	}
	return in
}

// Count returns how many items the answer says that it has.
func (r *Reader) Count() int { return r.count }

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// fill reads until n bytes, which fit into the buffer, are there or it is the end;
// fewer than that is an error.
func (r *Reader) fill(n int) {
	r.want(n)
	if r.err == nil && len(r.b)-r.at < n {
		r.err = io.ErrUnexpectedEOF
	}
}

// want is fill without the error.
func (r *Reader) want(n int) {
	if r.err != nil || len(r.b)-r.at >= n {
		return
	}
	r.b = r.b[:copy(r.b[:cap(r.b)], r.b[r.at:])]
	r.at = 0
	for idle := 0; len(r.b) < n && !r.eof; idle++ {
		m, err := r.r.Read(r.b[len(r.b):cap(r.b)])
		r.b = r.b[:len(r.b)+m]
		if m > 0 {
			idle = 0
		}
		switch {
		case errors.Is(err, io.EOF):
			r.eof = true
		case err != nil:
			r.err = err
			return
		case idle > 100:
			r.err = io.ErrNoProgress
			return
		}
	}
}

func (r *Reader) number() uint64 {
	r.want(maxNumberBytes)
	if r.err != nil {
		return 0
	}
	v, n := number(r.b[r.at:])
	if n == 0 {
		r.noNumber(len(r.b) - r.at)
		return 0
	}
	r.at += n
	return v
}

// noNumber says why so many bytes do not begin with a number.
func (r *Reader) noNumber(bytes int) {
	if r.err = io.ErrUnexpectedEOF; bytes >= maxNumberBytes {
		r.err = fmt.Errorf("%w: a number of more than 64 bits", ErrMalformed)
	}
}

// UID reads a UID of an answer of UIDs.
func (r *Reader) UID() uid.UID {
	r.last += uid.UID(unzigzag(r.number()))
	return r.last
}

// Degree reads a degree.
func (r *Reader) Degree() int {
	n := r.number()
	if n > math.MaxInt && r.err == nil {
		r.err = fmt.Errorf("%w: a degree of %d", ErrMalformed, n)
	}
	return int(n)
}

// URL reads a URL.
func (r *Reader) URL() string { return string(r.text(math.MaxInt)) }

// text reads a text of up to most bytes. It is good until the next call.
func (r *Reader) text(most int) []byte {
	n := r.number()
	if r.err == nil && n > uint64(most) {
		r.err = fmt.Errorf("%w: a text of %d bytes", ErrMalformed, n)
	}
	if r.err != nil {
		return nil
	}
	if n <= uint64(cap(r.b)) {
		if r.fill(int(n)); r.err != nil {
			return nil
		}
		r.at += int(n)
		return r.b[r.at-int(n) : r.at : r.at]
	}
	// It is put together from pieces: memory is taken for what has come.
	var long []byte
	for uint64(len(long)) < n {
		if r.fill(1); r.err != nil {
			return nil
		}
		piece := r.b[r.at:min(uint64(len(r.b)), uint64(r.at)+n-uint64(len(long)))]
		long = append(long, piece...)
		r.at += len(piece)
	}
	return long
}

// List appends a list to dst.
func (r *Reader) List(dst []uid.UID) []uid.UID {
	n, last := r.number(), uid.UID(0)
	for n > 0 {
		r.want(maxNumberBytes)
		if r.err != nil {
			return dst
		}
		// So many are whole in the buffer, whatever they are; near the end one is tried.
		whole := min(n, max(uint64(len(r.b)-r.at)/maxNumberBytes, 1))
		if cap(dst)-len(dst) < int(whole) {
			dst = slices.Grow(dst, max(int(whole), len(dst))) // twice as much: it is mostly lists after lists
		}
		b, at := r.b, r.at
		for range whole {
			var d uint64
			size := 1
			if at < len(b) && b[at] < 0x80 {
				d = uint64(b[at])
			} else if d, size = number(b[at:]); size == 0 {
				r.noNumber(len(b) - at)
				return dst
			}
			next := last + uid.UID(d)
			if next <= last {
				r.err = fmt.Errorf("%w: %d and %d more in a list", ErrMalformed, last, d)
				return dst
			}
			at += size
			last = next
			dst = append(dst, last)
		}
		r.at = at
		n -= whole
	}
	return dst
}

// maxLabelBytes is the greatest label: its format, a weight, and an anchor.
const maxLabelBytes = 1 + 9 + lists.MaxAnchor

// LabelledList appends a list and its labels to what is there of both.
func (r *Reader) LabelledList(dst []uid.UID, labels []links.Label) ([]uid.UID, []links.Label) {
	before := len(dst)
	dst = r.List(dst)
	count := len(dst) - before
	some := r.number()
	if r.err == nil && some > 1 {
		r.err = fmt.Errorf("%w: labels of form %d", ErrMalformed, some)
	}
	for range count {
		label := cell.NoLabel
		if some == 1 {
			if text := r.text(maxLabelBytes); len(text) > 0 && r.err == nil {
				var err error
				if label, err = lists.DecodeLabel(text); err != nil {
					r.err = fmt.Errorf("%w: %w", ErrMalformed, err)
				}
			}
		}
		if r.err != nil {
			return dst, labels
		}
		labels = append(labels, label)
	}
	return dst, labels
}

// Close reads the end of the answer, and returns the first error.
func (r *Reader) Close() error {
	if r.fill(1); r.err != nil {
		return r.err
	}
	if r.b[r.at] != endMark {
		r.err = fmt.Errorf("%w: it does not end as one", ErrMalformed)
		return r.err
	}
	r.at++
	if r.want(1); r.err == nil && r.at < len(r.b) {
		r.err = fmt.Errorf("%w: something follows its end", ErrMalformed)
	}
	return r.err
}
