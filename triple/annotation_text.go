// The annotations of triples in N-Triples and N-Quads text.

package triple

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
)

// Limits of annotations.
const (
	// MaxAnnotationBytes is the greatest size of the data of one annotation.
	MaxAnnotationBytes = 1 << 20
	// MaxApplicationID is the greatest length of an application id in bytes; the
	// least is 1.
	MaxApplicationID = 255
)

// AnnotationsHeader is the first line, without its end, of a document whose
// statements have annotations:
//
//	#@trefoil-annotations 1
//	<http://a> <http://p> <http://b> . #@ links=AQID other%20id=
//	<http://a> <http://p> <http://c> .
//
// For other programs the header and what stands behind '.' are comments. The
// annotations stand on the line of their triple, so that sort, grep and split keep
// both together:
//
//	annotated  = statement "#@" 1*( 1*WS id "=" data ) *WS    on one line
//	id         = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "%" HEX HEX )
//	data       = *base64    RFC 4648, section 4, with padding
//	WS         = SP / TAB
//
// An id is 1 to [MaxApplicationID] bytes after its %XX are decoded, data up to
// [MaxAnnotationBytes] after base64. A triple may stand on several lines, each with
// some of its annotations. Without the header all comments are just comments.
const AnnotationsHeader = headerBegin + " 1"

// headerBegin is how a header of any version begins.
const headerBegin = "#@trefoil-annotations"

// annotationMark begins the annotations of a statement.
const annotationMark = "#@"

// maxAnnotationsLine is from which size on the annotations of a triple go on in
// another line, so that a line stays below [DefaultMaxLine].
const maxAnnotationsLine = 4 << 20

// ApplicationData is an annotation in text: what an application notes on a triple.
type ApplicationData struct {
	ApplicationID string
	Data          []byte
}

// Check returns what is wrong with an annotation that a store is to keep.
func (a *ApplicationData) Check() error {
	switch {
	case len(a.ApplicationID) == 0 || len(a.ApplicationID) > MaxApplicationID:
		return fmt.Errorf("the application id has %d bytes, not 1 to %d", len(a.ApplicationID), MaxApplicationID)
	case len(a.Data) > MaxAnnotationBytes:
		return fmt.Errorf("the annotation has %d bytes of data, at most %d", len(a.Data), MaxAnnotationBytes)
	}
	return nil
}

// AppendAnnotated appends a statement, as [AppendNQuad] makes it, with the
// annotations of its triple. Very long annotations make it several lines.
func AppendAnnotated(dst, statement []byte, annotations []ApplicationData) []byte {
	line := bytes.TrimSuffix(statement, []byte{'\n'})
	begin := len(dst)
	dst = append(dst, line...)
	for i, a := range annotations {
		if i == 0 || len(dst)-begin-len(line) > maxAnnotationsLine {
			if i > 0 {
				begin = len(dst) + 1
				dst = append(append(dst, '\n'), line...)
			}
			dst = append(append(dst, ' '), annotationMark...)
		}
		dst = appendID(append(dst, ' '), a.ApplicationID)
		dst = base64.StdEncoding.AppendEncode(append(dst, '='), a.Data)
	}
	return append(dst, '\n')
}

const upperHex = "0123456789ABCDEF"

func appendID(dst []byte, id string) []byte {
	for i := range len(id) {
		if c := id[i]; isIDByte(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

// isIDByte reports whether a byte of an id stands for itself: the unreserved ones of
// RFC 3986.
func isIDByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// isHeader reports whether a line is a header, of whatever version.
func isHeader(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte(headerBegin))
	return ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t')
}

// isKnownHeader reports whether a line is [AnnotationsHeader].
func isKnownHeader(line []byte) bool {
	return string(bytes.TrimRight(line, " \t")) == AnnotationsHeader
}

// checkHeader returns what is wrong with a comment that is a header: it is not the
// document's first line, or of a version that is not known. The comment is
// line[start:].
func checkHeader(line []byte, start int, annotated bool) *tokenError {
	switch comment := line[start:]; {
	case !isHeader(comment):
		return nil
	case !isKnownHeader(comment):
		return tokenErrorf(start, "this header of annotations is of another version: this program reads %q", AnnotationsHeader)
	case !annotated:
		return tokenErrorf(start, "the header of annotations must be the first line of the document: those before it would be lost")
	}
	return nil
}

// Annotations decodes the annotations of st, the statement that Next found last;
// nil where it has none. The caller owns them. On an error the whole statement is
// rejected, as in [Block.Next].
func (b *Block) Annotations(st *RawStatement) ([]ApplicationData, *SyntaxError) {
	if !b.annotated || !bytes.HasPrefix(st.comment, []byte(annotationMark)) {
		return nil, nil
	}
	all, err := parseAnnotations(st.comment)
	if err != nil {
		err.at += st.commentAt
		return nil, b.reject(err)
	}
	return all, nil
}

// parseAnnotations reads a comment that begins with the mark. Offsets of errors
// count from its start.
func parseAnnotations(comment []byte) (all []ApplicationData, err *tokenError) {
	i := len(annotationMark)
	for {
		start := skipSpace(comment, i)
		if start == len(comment) {
			break
		}
		if start == i {
			return nil, tokenErrorf(i, "expected a space before an annotation%s", found(comment, i))
		}
		end := start
		for end < len(comment) && comment[end] != ' ' && comment[end] != '\t' {
			end++
		}
		a, err := parseAnnotation(comment[start:end])
		if err == nil && slices.ContainsFunc(all, func(b ApplicationData) bool { return a.ApplicationID == b.ApplicationID }) {
			err = tokenErrorf(0, "two annotations of one application on one line")
		}
		if err != nil {
			err.at += start
			return nil, err
		}
		all = append(all, a)
		i = end
	}
	if len(all) == 0 {
		return nil, tokenErrorf(len(annotationMark), "expected an annotation, id=base64, after '#@'")
	}
	return all, nil
}

// parseAnnotation reads id=data.
func parseAnnotation(text []byte) (a ApplicationData, err *tokenError) {
	eq := bytes.IndexByte(text, '=')
	if eq < 0 {
		return a, tokenErrorf(0, "expected '=' after the application id of an annotation")
	}
	id, err := parseID(text[:eq])
	if err != nil {
		return a, err
	}
	data := text[eq+1:]
	if base64.StdEncoding.DecodedLen(len(data)) > MaxAnnotationBytes+2 {
		return a, tokenErrorf(eq+1, "the annotation has more than %d bytes of data", MaxAnnotationBytes)
	}
	a.ApplicationID, a.Data = id, make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	n, failed := base64.StdEncoding.Strict().Decode(a.Data, data)
	if failed != nil {
		at := len(data)
		if corrupt, ok := failed.(base64.CorruptInputError); ok {
			at = min(int(corrupt), at)
		}
		return a, tokenErrorf(eq+1+at, "the data of an annotation is not base64 with padding")
	}
	a.Data = a.Data[:n]
	if failed := a.Check(); failed != nil {
		return a, tokenErrorf(0, "%v", failed)
	}
	return a, nil
}

func parseID(text []byte) (string, *tokenError) {
	id := make([]byte, 0, min(len(text), MaxApplicationID+1))
	for i := 0; i < len(text) && len(id) <= MaxApplicationID; i++ {
		c := text[i]
		switch {
		case isIDByte(c):
		case c == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]):
			c = unhex(text[i+1])<<4 | unhex(text[i+2])
			i += 2
		default:
			return "", tokenErrorf(i, "expected a letter, a digit, '-', '.', '_', '~' or %%XX in an application id%s", found(text, i))
		}
		id = append(id, c)
	}
	return string(id), nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}
