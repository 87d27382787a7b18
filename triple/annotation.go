// Annotations: data of an application on a triple, and its media type.

package triple

import (
	"bytes"
	"fmt"
	"mime"
	"strings"
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

// DefaultMedia is the media type of data that has none.
const DefaultMedia = "application/octet-stream"

// Limits of annotations with a media type.
const (
	// MaxAnnotationContent is the largest size of an annotation's content in bytes.
	MaxAnnotationContent = 1 << 20
	// MaxMedia is the largest length of a media type in bytes.
	MaxMedia = 255
)

// mediaMark begins data with a media type. No text begins so, because it is not UTF-8.
const mediaMark = "\xfftm1"

// AppendMedia appends the data of an annotation: its content with its media type.
//
//	data = content                                    DefaultMedia
//	     | 0xFF "tm1" length-of-type type content     length in one byte
//
// [CutMedia] reverses it. Content of DefaultMedia that begins with the mark gets a type, too.
// Data that a program has set without a media type are content of DefaultMedia.
func AppendMedia(dst []byte, media string, content []byte) ([]byte, error) {
	if media == "" {
		media = DefaultMedia
	}
	if err := CheckMedia(media); err != nil {
		return dst, err
	}
	if len(content) > MaxAnnotationContent {
		return dst, fmt.Errorf("the annotation has %d bytes of content, at most %d", len(content), MaxAnnotationContent)
	}
	return appendMedia(dst, media, content), nil
}

// appendMedia is [AppendMedia] of checked content.
func appendMedia(dst []byte, media string, content []byte) []byte {
	if media != DefaultMedia || strings.HasPrefix(string(content[:min(len(content), len(mediaMark))]), mediaMark) {
		dst = append(append(append(dst, mediaMark...), byte(len(media))), media...)
	}
	return append(dst, content...)
}

// annotationOf returns an annotation of its parts; media "" is [DefaultMedia]. Data that a program
// has set without a media type may be longer than content may be.
func annotationOf(id, media string, content []byte) (a ApplicationData, err error) {
	if media == "" {
		media = DefaultMedia
	}
	if err := CheckMedia(media); err != nil {
		return a, err
	}
	a = ApplicationData{ApplicationID: id, Data: appendMedia([]byte{}, media, content)}
	return a, a.Check()
}

// CutMedia returns the media type and the content of an annotation's data. content aliases data.
func CutMedia(data []byte) (media string, content []byte) {
	rest, ok := strings.CutPrefix(string(data[:min(len(data), len(mediaMark)+1+MaxMedia)]), mediaMark)
	if !ok || len(rest) == 0 || len(rest) < 1+int(rest[0]) || CheckMedia(rest[1:1+int(rest[0])]) != nil {
		return DefaultMedia, data
	}
	n := int(rest[0])
	return rest[1 : 1+n], data[len(mediaMark)+1+n:]
}

// CheckMedia returns an error if a text is not a media type with optional parameters (RFC 9110,
// section 8.3.1) of at most [MaxMedia] bytes.
func CheckMedia(media string) error {
	if len(media) > MaxMedia {
		return fmt.Errorf("the media type has %d bytes, at most %d", len(media), MaxMedia)
	}
	for _, c := range []byte(media) {
		if c < ' ' || c > '~' {
			return fmt.Errorf("%q is not a media type such as text/plain: it has a byte that is not printable ASCII", media)
		}
	}
	full, _, err := mime.ParseMediaType(media)
	if err != nil || !strings.Contains(full, "/") {
		return fmt.Errorf("%q is not a media type such as text/plain", media)
	}
	return nil
}
