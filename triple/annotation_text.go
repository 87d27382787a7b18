// Annotations of triples in N-Triples and N-Quads text.

package triple

import (
	"bytes"
	"encoding/base64"
	"fmt"
)

// Limits of annotations.
const (
	// MaxAnnotationBytes is the largest size of the data of one annotation: content and media type.
	MaxAnnotationBytes = MaxAnnotationContent + len(mediaMark) + 1 + MaxMedia
	// MaxApplicationID is the largest length of an application ID in bytes; the smallest is 1.
	MaxApplicationID = 255
)

// AnnotationsHeader is the first line, without its end, of a document if its statements have
// annotations:
//
//	#@trefoil-annotations 1
//	<http://a> <http://p> <http://b> . #@ links=AQID other%20id=
//	<http://a> <http://p> <http://c> .
//
// For other programs the header and everything after '.' are comments. The annotations are on the
// line of their triple, because sort, grep and split then keep both together:
//
//	annotated  = statement "#@" 1*( 1*WS id "=" data ) *WS    on one line
//	id         = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "%" HEX HEX )
//	data       = *base64    RFC 4648, section 4, with padding
//	WS         = SP / TAB
//
// An ID must have 1 to [MaxApplicationID] bytes after its %XX are decoded, and data up to
// [MaxAnnotationBytes] after base64. A triple may be on several lines, each with some of its
// annotations. If the header is missing, all comments are just comments.
const AnnotationsHeader = headerBegin + " 1"

// headerBegin is the beginning of a header of any version.
const headerBegin = "#@trefoil-annotations"

// annotationMark begins the annotations of a statement.
const annotationMark = "#@"

// maxAnnotationsLine is the size from which the annotations of a triple continue on another line,
// because a line must be shorter than [DefaultMaxLine].
const maxAnnotationsLine = 4 << 20

// ApplicationData is an annotation in text: data of an application on a triple.
type ApplicationData struct {
	ApplicationID string
	Data          []byte
	// Version is the stamp of the write that set the annotation. It is zero in text, and in other
	// places that do not know it.
	Version Stamp
}

// Bytes returns the data of an annotation, or nil if a is nil. Data of an annotation are not nil.
func (a *ApplicationData) Bytes() []byte {
	if a == nil {
		return nil
	}
	return a.Data
}

// Check returns an error if the annotation is too large for a store, or if its ID is empty or too
// long.
func (a *ApplicationData) Check() error {
	switch {
	case len(a.ApplicationID) == 0 || len(a.ApplicationID) > MaxApplicationID:
		return fmt.Errorf("the application id has %d bytes, not 1 to %d", len(a.ApplicationID), MaxApplicationID)
	case len(a.Data) > MaxAnnotationBytes:
		return fmt.Errorf("the annotation has %d bytes of data, at most %d", len(a.Data), MaxAnnotationBytes)
	}
	return nil
}

// AppendAnnotated appends a statement with the annotations of its triple. The statement must be in
// the form of [AppendNQuad]. If the annotations are very long, the result has several lines.
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

// isIDByte reports whether a byte of an ID needs no %XX: the unreserved bytes of RFC 3986.
func isIDByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// isHeader reports whether a line is a header of any version.
func isHeader(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte(headerBegin))
	return ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t')
}

// isKnownHeader reports whether a line is [AnnotationsHeader].
func isKnownHeader(line []byte) bool {
	return string(bytes.TrimRight(line, " \t")) == AnnotationsHeader
}

// checkHeader returns an error if a comment is a misplaced or unknown header. It must be the
// document's first line, and its version must be known. The comment is line[start:].
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

// Annotations decodes the annotations of st, the last statement of Next. It returns nil if there
// are none. The caller owns them. If one is malformed, the whole statement is rejected, as in
// [Block.Next].
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

// parseAnnotations parses a comment; it must begin with the mark. Offsets of errors are from its
// start.
func parseAnnotations(comment []byte) (all []ApplicationData, err *tokenError) {
	i := len(annotationMark)
	seen := map[string]bool{}
	for {
		// 1. Cut off the next annotation. Spaces must separate them.
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
		// 2. Parse it. An application must not annotate twice on one line.
		a, err := parseAnnotation(comment[start:end])
		if err == nil && seen[a.ApplicationID] {
			err = tokenErrorf(0, "two annotations of one application on one line")
		}
		if err != nil {
			err.at += start
			return nil, err
		}
		seen[a.ApplicationID] = true
		all = append(all, a)
		i = end
	}
	if len(all) == 0 {
		return nil, tokenErrorf(len(annotationMark), "expected an annotation, id=base64, after '#@'")
	}
	return all, nil
}

// parseAnnotation parses id=data.
func parseAnnotation(text []byte) (a ApplicationData, err *tokenError) {
	eq := bytes.IndexByte(text, '=')
	if eq < 0 {
		return a, tokenErrorf(0, "expected '=' after the application id of an annotation")
	}
	// 1. Decode the ID, and check the data's length before memory is allocated.
	id, err := parseID(text[:eq])
	if err != nil {
		return a, err
	}
	data := text[eq+1:]
	if base64.StdEncoding.DecodedLen(len(data)) > MaxAnnotationBytes+2 {
		return a, tokenErrorf(eq+1, "the annotation has more than %d bytes of data", MaxAnnotationBytes)
	}
	a.ApplicationID, a.Data = id, make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	// 2. Decode the data. An error is placed at the first bad byte.
	n, failed := base64.StdEncoding.Strict().Decode(a.Data, data)
	if failed != nil {
		at := len(data)
		if corrupt, ok := failed.(base64.CorruptInputError); ok {
			at = min(int(corrupt), at)
		}
		return a, tokenErrorf(eq+1+at, "the data of an annotation is not base64 with padding")
	}
	// 3. Check the sizes again, because DecodedLen is only an upper limit.
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
