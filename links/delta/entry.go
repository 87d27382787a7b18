// Entry: the changes at one key, their bytes, and how a newer entry covers an older one.

package delta

import (
	"encoding/binary"
	"slices"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
)

// rawLabel is a label in the format of lists.AppendLabel, which is never empty. nil is no label.
type rawLabel = []byte

// entry holds the changes at one key in one direction. If it is whole, it replaces the list by
// adds. Otherwise it removes deletes from the list and then inserts adds.
//
// Invariants: adds and deletes ascend strictly and have no UID in common; a whole entry has no
// deletes; labels is empty or as long as adds.
type entry struct {
	whole   bool
	adds    []uid.UID
	labels  []rawLabel
	deletes []uid.UID
}

// reset empties e and keeps its memory.
func (e *entry) reset() {
	clear(e.labels)
	e.whole, e.adds, e.labels, e.deletes = false, e.adds[:0], e.labels[:0], e.deletes[:0]
}

// changes returns the number of links that e adds and deletes.
func (e *entry) changes() int { return len(e.adds) + len(e.deletes) }

// label returns the label of the i-th add.
func (e *entry) label(i int) rawLabel {
	if len(e.labels) == 0 {
		return nil
	}
	return e.labels[i]
}

// append appends an add. Labels are kept only from the first one on, because most entries have
// none.
func (e *entry) append(target uid.UID, label rawLabel) {
	if label != nil && len(e.labels) < len(e.adds) {
		e.labels = append(e.labels, make([]rawLabel, len(e.adds)-len(e.labels))...)
	}
	if label != nil || len(e.labels) > 0 {
		e.labels = append(e.labels, label)
	}
	e.adds = append(e.adds, target)
}

// cover sets e to the effect of older and then newer. e must be neither of them. It shares the
// labels of both.
func (e *entry) cover(older, newer *entry) {
	e.reset()
	e.whole = older.whole || newer.whole
	o, n := walk{entry: older}, walk{entry: newer}
	if newer.whole {
		o.entry = new(entry)
	}
	for n.advance() {
		for o.advance() && o.target() < n.target() {
			o.moveTo(e)
		}
		if o.advance() && o.target() == n.target() {
			o.skip()
		}
		n.moveTo(e)
	}
	for o.advance() {
		o.moveTo(e)
	}
}

// walk iterates over the adds and deletes of an entry by ascending targets.
type walk struct {
	*entry
	add, delete int // the next ones
}

func (w *walk) advance() bool { return w.add < len(w.adds) || w.delete < len(w.deletes) }

// isAdd reports whether the next one is an add. There must be a next one.
func (w *walk) isAdd() bool {
	return w.delete == len(w.deletes) || w.add < len(w.adds) && w.adds[w.add] < w.deletes[w.delete]
}

func (w *walk) target() uid.UID {
	if w.isAdd() {
		return w.adds[w.add]
	}
	return w.deletes[w.delete]
}

func (w *walk) skip() {
	if w.isAdd() {
		w.add++
	} else {
		w.delete++
	}
}

// moveTo appends the next one to e. It drops a delete if e is whole.
func (w *walk) moveTo(e *entry) {
	switch {
	case w.isAdd():
		e.append(w.adds[w.add], w.label(w.add))
	case !e.whole:
		e.deletes = append(e.deletes, w.deletes[w.delete])
	}
	w.skip()
}

// The bits of an entry's head below the number of its adds.
const (
	headWhole = 1 << iota
	headDeletes
	headLabels
	headShift = iota
)

// appendEntry appends the body of an entry of key. The package comment draws its format.
func appendEntry(dst []byte, key uid.UID, e *entry) []byte {
	head := uint64(len(e.adds)) << headShift
	if e.whole {
		head |= headWhole
	}
	if len(e.deletes) > 0 {
		head |= headDeletes
	}
	labelled := slices.ContainsFunc(e.labels, func(l rawLabel) bool { return l != nil })
	if labelled {
		head |= headLabels
	}
	dst = binary.AppendUvarint(dst, head)
	if len(e.deletes) > 0 {
		dst = binary.AppendUvarint(dst, uint64(len(e.deletes)))
	}
	dst = appendTargets(dst, key, e.adds)
	dst = appendTargets(dst, key, e.deletes)
	if labelled {
		for _, label := range e.labels {
			dst = binary.AppendUvarint(dst, uint64(len(label)))
			dst = append(dst, label...)
		}
	}
	return dst
}

func appendTargets(dst []byte, key uid.UID, targets []uid.UID) []byte {
	for i, target := range targets {
		if i == 0 {
			dst = binary.AppendVarint(dst, int64(target-key))
		} else {
			dst = binary.AppendUvarint(dst, uint64(target-targets[i-1])-1)
		}
	}
	return dst
}

// readEntry decodes the body b into e and reports whether b is valid. The labels are parts of b.
// It allocates memory by the length of b only, because the numbers in b may be wrong.
func readEntry(b []byte, key uid.UID, e *entry) bool {
	e.reset()
	// 1. Decode the head. A whole entry must have no deletes.
	head, n := uvarint(b)
	if n <= 0 {
		return false
	}
	b = b[n:]
	e.whole = head&headWhole != 0
	deletes := uint64(0)
	if head&headDeletes != 0 {
		if deletes, n = uvarint(b); n <= 0 || deletes == 0 || e.whole {
			return false
		}
		b = b[n:]
	}
	// 2. Decode the targets. Each takes a byte at least, so readTargets can bound its memory.
	var ok bool
	if e.adds, b, ok = readTargets(e.adds, b, key, head>>headShift); !ok {
		return false
	}
	if e.deletes, b, ok = readTargets(e.deletes, b, key, deletes); !ok {
		return false
	}
	// 3. Decode the labels. No byte may be left.
	if head&headLabels == 0 {
		return len(b) == 0
	}
	for range e.adds {
		length, n := uvarint(b)
		if n <= 0 || length > uint64(len(b)-n) {
			return false
		}
		var label rawLabel
		if length > 0 {
			label = b[n : n+int(length) : n+int(length)]
		}
		e.labels, b = append(e.labels, label), b[n+int(length):]
	}
	return len(b) == 0
}

// readTargets appends count UIDs from the start of b, and returns the rest of b. ok is false if
// the UIDs do not ascend or one is 0.
func readTargets(dst []uid.UID, b []byte, key uid.UID, count uint64) (_ []uid.UID, rest []byte, ok bool) {
	if count == 0 {
		return dst, b, true
	}
	// The count must be checked before memory is allocated by it.
	if count > uint64(len(b)) {
		return dst, b, false
	}
	// 1. Decode the first target, relative to the key.
	first, n := binary.Varint(b)
	if n <= 0 {
		return dst, b, false
	}
	b = b[n:]
	last := key + uid.UID(first)
	if last == 0 {
		return dst, b, false
	}
	// 2. Decode the gaps. A sum that overflows would not ascend, so the check finds it.
	dst = slices.Grow(dst, int(count))
	dst = append(dst, last)
	for range count - 1 {
		gap, n := uvarint(b)
		next := last + uid.UID(gap) + 1
		if n <= 0 || next <= last {
			return dst, b, false
		}
		b = b[n:]
		dst = append(dst, next)
		last = next
	}
	return dst, b, true
}

// disjoint reports whether two ascending lists have no UID in common.
func disjoint(a, b []uid.UID) bool {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			return false
		}
	}
	return true
}

// labelsAreSound reports whether every label can be decoded.
func (e *entry) labelsAreSound() bool {
	for _, raw := range e.labels {
		if raw == nil {
			continue
		}
		if _, err := lists.DecodeLabel(raw); err != nil {
			return false
		}
	}
	return true
}

// decodeLabel returns the label encoded in raw.
func decodeLabel(raw rawLabel) cell.Label {
	if raw == nil {
		return cell.NoLabel
	}
	label, err := lists.DecodeLabel(raw)
	if err != nil {
		return cell.NoLabel // impossible in an opened row
	}
	return label
}
