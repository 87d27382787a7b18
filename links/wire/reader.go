// Answers, read as they arrive.

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

// Reader reads one answer. It must be used by one goroutine. The first error stays. It wraps
// [ErrMalformed] or is the error of the underlying reader. If that ends too early, it is
// io.ErrUnexpectedEOF. A value returned after an error is meaningless, so the caller must check
// Err or Close.
type Reader struct {
	r     io.Reader
	b     []byte // bytes read so far
	at    int    // Invariant: 0 <= at <= len(b)
	eof   bool
	err   error
	count int
	last  uid.UID
}

// NewReader begins to read an answer of a kind. count must be the number of items of the request.
// If it is negative, the answer may have any number, and [Reader.Count] returns it.
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

// Count returns the number of items, as given by the answer.
func (r *Reader) Count() int { return r.count }

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// fill reads until n bytes are in the buffer. They must fit into it. If the answer ends before,
// that is an error.
func (r *Reader) fill(n int) {
	r.want(n)
	if r.err == nil && len(r.b)-r.at < n {
		r.err = io.ErrUnexpectedEOF
	}
}

// want is fill without the error at the end.
func (r *Reader) want(n int) {
	if r.err != nil || len(r.b)-r.at >= n {
		return
	}
	// Move the unread bytes to the front, because at least n bytes must fit behind at.
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

// noNumber sets the error if the buffer does not begin with a number. bytes is the number of
// bytes left.
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

// text reads a text of at most most bytes. It is valid until the next call.
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
	// Collect a long text from pieces, because memory may be taken only for data that has
	// arrived.
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
		// 1. Make sure that the next number is in the buffer, unless the answer ends before.
		r.want(maxNumberBytes)
		if r.err != nil {
			return dst
		}
		// 2. This many numbers are complete in the buffer, because none is longer than
		// maxNumberBytes. Near the end one is tried.
		whole := min(n, max(uint64(len(r.b)-r.at)/maxNumberBytes, 1))
		if cap(dst)-len(dst) < int(whole) {
			dst = slices.Grow(dst, max(int(whole), len(dst))) // at least doubled, because lists are mostly appended to lists
		}
		// 3. Read them without a check of the buffer. UIDs must ascend, so no difference may be 0
		// or wrap around.
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

// maxLabelBytes is the maximum length of a label: its format, a weight, and an anchor.
const maxLabelBytes = 1 + 9 + lists.MaxAnchor

// LabelledList appends a list to dst and its labels to labels.
func (r *Reader) LabelledList(dst []uid.UID, labels []links.Label) ([]uid.UID, []links.Label) {
	// The labels follow their list: a form, and if it is 1 one text for each link.
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

// Close reads the end of the answer and returns the first error. Nothing may follow the end.
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
