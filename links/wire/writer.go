// Answers, written item after item, in pieces of limited size.

package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
)

// pieceBytes is the approximate size of one write of a [Writer].
const pieceBytes = 60 << 10

// Writer writes one answer. It must be used by one goroutine. The first error stays.
type Writer struct {
	w    io.Writer
	kind Kind
	left int // items
	last uid.UID
	b    []byte
	err  error
}

// NewWriter begins an answer of count items.
func NewWriter(w io.Writer, k Kind, count int) *Writer {
	b := appendHead(make([]byte, 0, pieceBytes+4<<10), k)
	return &Writer{w: w, kind: k, left: count, b: binary.AppendUvarint(b, uint64(count))}
}

// flush writes the buffer, unless there was an error, and empties it.
func (w *Writer) flush() {
	if w.err == nil {
		_, w.err = w.w.Write(w.b)
	}
	w.b = w.b[:0]
}

// item begins an item of a kind. It returns false if the kind is wrong or the answer has all its
// items.
func (w *Writer) item(k Kind) bool {
	if w.err == nil && (k != w.kind || w.left == 0) {
		w.err = fmt.Errorf("wire: an item of kind %q in an answer of kind %q, of which %d items are left", byte(k), byte(w.kind), w.left)
	}
	if w.err != nil {
		return false
	}
	w.left--
	if len(w.b) >= pieceBytes {
		w.flush()
	}
	return true
}

// UID writes a UID of an answer of UIDs.
func (w *Writer) UID(u uid.UID) {
	if w.item(UIDs) {
		w.number(zigzag(uint64(u - w.last)))
		w.last = u
	}
}

// Degree writes a degree.
func (w *Writer) Degree(n int) {
	if w.item(Degrees) {
		w.number(uint64(max(n, 0)))
	}
}

// URL writes a URL. It must be "" if the page is unknown.
func (w *Writer) URL(url string) {
	if w.item(URLs) {
		w.text(url)
	}
}

// List writes a list. The UIDs must ascend and the first must not be 0. In an answer of
// [LabelledLists] there must be one label for each link, in others none. It keeps neither slice,
// and returns the answer's first error.
func (w *Writer) List(list []uid.UID, labels []links.Label) error {
	k, want := Lists, 0
	if w.kind == LabelledLists {
		k, want = LabelledLists, len(list)
	}
	if w.err == nil && len(labels) != want {
		w.err = fmt.Errorf("wire: %d labels of %d links in an answer of kind %q", len(labels), len(list), byte(w.kind))
	}
	if !w.item(k) {
		return w.err
	}
	w.list(list)
	if k == LabelledLists {
		w.labels(labels)
	}
	return w.err
}

// labels writes the labels of a list.
func (w *Writer) labels(labels []links.Label) {
	if !cell.Labelled(labels) {
		w.b = append(w.b, 0)
		return
	}
	w.b = append(w.b, 1)
	var label []byte
	for _, l := range labels {
		if l == cell.NoLabel {
			label = label[:0]
		} else {
			label = lists.AppendLabel(label[:0], l)
		}
		w.b = append(binary.AppendUvarint(w.b, uint64(len(label))), label...)
		if len(w.b) >= pieceBytes {
			w.flush()
		}
	}
}

// list writes the differences in pieces, because a list may be longer than the buffer.
func (w *Writer) list(list []uid.UID) {
	w.number(uint64(len(list)))
	last := uid.UID(0)
	for len(list) > 0 && w.err == nil {
		part := list[:min(len(list), 4096)]
		list = list[len(part):]
		w.b = slices.Grow(w.b, maxNumberBytes*len(part))
		b, n := w.b[len(w.b):cap(w.b)], 0
		for _, u := range part {
			if u <= last {
				w.err = fmt.Errorf("wire: %d before %d in a list", last, u)
				return
			}
			n += putNumber(b[n:], uint64(u-last))
			last = u
		}
		if w.b = w.b[:len(w.b)+n]; len(w.b) >= pieceBytes {
			w.flush()
		}
	}
}

func (w *Writer) number(v uint64) { w.b = binary.AppendUvarint(w.b, v) }

func (w *Writer) text(s string) { w.b = append(binary.AppendUvarint(w.b, uint64(len(s))), s...) }

// Err returns the first error.
func (w *Writer) Err() error { return w.err }

// Close ends the answer and writes the rest of it. If items are missing, it returns an error.
func (w *Writer) Close() error {
	if w.err == nil && w.left > 0 {
		w.err = fmt.Errorf("wire: %d items are missing in an answer", w.left)
	}
	w.b = append(w.b, endMark)
	w.flush()
	return w.err
}
