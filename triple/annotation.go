// Annotations: data of an application on a triple.

package triple

import (
	"bytes"
	"fmt"
)

// Annotation is the value of an annotation row.
type Annotation struct {
	Stamp Stamp
	// On is the stamp of the triple's row at the time of the annotation. If the triple is deleted
	// with a greater stamp than On, the delete removes the annotation too. This holds even if the
	// annotation's own stamp is greater, because its writer had not seen the delete. If On is zero,
	// it is Stamp.
	On Stamp
	// Removed is true if the annotation was removed at Stamp: a tombstone, without data.
	Removed bool
	Data    []byte
}

// Append appends the encoded value: flags, stamp, the stamp On if it differs, and then the data to
// the end.
func (a *Annotation) Append(dst []byte) []byte {
	flags := byte(flagAnnotation)
	if a.Removed {
		flags |= flagTombstone
	}
	second := a.On != (Stamp{}) && a.On != a.Stamp
	if second {
		flags |= flagSecond
	}
	dst = a.Stamp.append(append(dst, flags))
	if second {
		dst = a.On.append(dst)
	}
	if a.Removed {
		return dst
	}
	return append(dst, a.Data...)
}

// AppendAnnotation appends the value of an annotation row of a store without a cluster.
func AppendAnnotation(dst []byte, stamp Stamp, data []byte) []byte {
	return (&Annotation{Stamp: stamp, Data: data}).Append(dst)
}

// DecodeAnnotation decodes the value of an annotation row. a.Data aliases b. a.On is zero only if
// a.Stamp is. The error wraps [ErrCorrupt].
func DecodeAnnotation(b []byte) (a Annotation, err error) {
	if len(b) == 0 || b[0]&flagAnnotation == 0 || b[0]&^(flagAnnotation|flagTombstone|flagSecond) != 0 {
		return a, fmt.Errorf("%w: not an annotation", ErrCorrupt)
	}
	var ok bool
	if a.Stamp, a.On, a.Data, ok = cutStamps(b); !ok || a.On == a.Stamp && a.On != (Stamp{}) {
		return a, fmt.Errorf("%w: bad stamp in an annotation", ErrCorrupt)
	}
	if a.On == (Stamp{}) {
		a.On = a.Stamp
	}
	if a.Removed = b[0]&flagTombstone != 0; a.Removed {
		if len(a.Data) > 0 {
			return a, fmt.Errorf("%w: %d bytes after the tombstone of an annotation", ErrCorrupt, len(a.Data))
		}
		a.Data = nil
	}
	return a, nil
}

// Before reports whether b replaces a under one key. It does if it is on a newer row, or on the
// same row but later.
func (a *Annotation) Before(b *Annotation) bool {
	if a.On != b.On {
		return a.On.Less(b.On)
	}
	return a.Stamp.Less(b.Stamp)
}

// SameRow reports whether the values of two rows of one key are equal, except for the parts that
// may differ between machines.
func SameRow(a, b []byte) bool { return bytes.Equal(Bare(a), Bare(b)) }
