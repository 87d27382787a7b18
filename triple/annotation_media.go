// Media types of annotations.

package triple

import (
	"fmt"
	"mime"
	"strings"
)

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
