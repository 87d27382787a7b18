// The JSON decoder; it rejects documents with too deep or too many definitions.

package jsonld

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// Limits of a document. The caller must limit its size.
const (
	maxDepth = 500
	// maxTerms bounds the members of all contexts in a document, including nested ones. It is
	// necessary because the library resolves a definition by recursion if it refers to another.
	maxTerms = 50_000
	// maxWork bounds contexts times terms, because each context copies the one around it.
	maxWork = 50_000_000
)

// decode returns the JSON document in data: maps, slices, strings, json.Numbers, booleans and nil.
// An error is a [*triple.SyntaxError].
func decode(data []byte) (any, error) {
	// 1. Check the bytes first, because the decoder would replace bad ones silently.
	if bad := invalidUTF8(data); bad >= 0 {
		return nil, failAt(data, bad, fmt.Sprintf("invalid UTF-8 (byte 0x%02X)", data[bad]))
	}
	offset := len(data)
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	offset -= len(data)
	if bad := loneSurrogate(data); bad >= 0 {
		return nil, failAt(data, bad, "escape of an unpaired surrogate, which is no character")
	}
	// 2. Decode one value. Nothing may follow it.
	d := decoder{json: json.NewDecoder(bytes.NewReader(data))}
	d.json.UseNumber()
	document, err := d.value(0)
	if err == nil {
		switch _, more := d.json.Token(); more {
		case io.EOF:
			return document, nil
		default:
			err = errors.New("something stands behind the document")
		}
	}
	// 3. Place the error: the decoder's offset is after the last good token.
	at, msg := int(d.json.InputOffset()), err.Error()
	at += len(data[at:]) - len(bytes.TrimLeft(data[at:], " \t\r\n:,"))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		at, msg = len(data), "the document ends within a JSON value"
	}
	e := failAt(data, at, msg)
	e.Offset += int64(offset)
	return nil, e
}

type decoder struct{ json *json.Decoder }

// value decodes the next value. depth is the number of objects and arrays around it.
func (d *decoder) value(depth int) (any, error) {
	token, err := d.json.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if depth++; depth > maxDepth {
		return nil, fmt.Errorf("objects and arrays nested more than %d deep", maxDepth)
	}
	// Arrays and objects are decoded by recursion, because depth is limited.
	if delim == '[' {
		array := []any{}
		for d.json.More() {
			item, err := d.value(depth)
			if err != nil {
				return nil, err
			}
			array = append(array, item)
		}
		_, err = d.json.Token()
		return array, err
	}
	object := make(map[string]any)
	for d.json.More() {
		token, err := d.json.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("expected the name of a member, found %v", token)
		}
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("the name %q stands twice in one object", clip(name))
		}
		if object[name], err = d.value(depth); err != nil {
			return nil, err
		}
		// The library panics unless the version is a float64.
		if number, ok := object[name].(json.Number); ok && name == "@version" {
			if object[name], err = number.Float64(); err != nil {
				return nil, err
			}
		}
	}
	_, err = d.json.Token()
	return object, err
}

// failAt returns the error at a byte of data. It counts lines from 1; a line ends at LF, CR LF or a
// bare CR.
func failAt(data []byte, at int, msg string) *triple.SyntaxError {
	e := &triple.SyntaxError{Line: 1, Offset: int64(at), Msg: msg}
	start := 0
	for i, c := range data[:at] {
		if c == '\n' || c == '\r' && (i+1 == len(data) || data[i+1] != '\n') {
			e.Line++
			start = i + 1
		}
	}
	e.Column = utf8.RuneCount(data[start:at]) + 1
	return e
}

// invalidUTF8 returns the index of the first byte of invalid UTF-8, or -1.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// loneSurrogate returns the index of the first \u escape of an unpaired surrogate, or -1. It may
// search all of the data, because backslashes are only in strings.
func loneSurrogate(data []byte) int {
	for i := 0; ; {
		k := bytes.IndexByte(data[i:], '\\')
		if k < 0 {
			return -1
		}
		i += k
		switch unit := escapedUnit(data[i:]); {
		case unit >= 0xD800 && unit < 0xDC00:
			if low := escapedUnit(data[i+6:]); low < 0xDC00 || low > 0xDFFF {
				return i
			}
			i += 12
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return i
		default:
			i = min(i+2, len(data))
		}
	}
}

// escapedUnit returns the UTF-16 unit of the \uXXXX at the start of b, or -1.
func escapedUnit(b []byte) int {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	unit := 0
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = (c | 0x20) - 'a' + 10
		default:
			return -1
		}
		unit = unit<<4 | int(c)
	}
	return unit
}

// checkContexts returns an error if the document's contexts would take the library too long or too
// deep. It also rejects a document that is neither an object nor an array.
func checkContexts(document any) error {
	switch document.(type) {
	case map[string]any, []any:
	default:
		return errors.New("a JSON-LD document is an object or an array")
	}
	var c contextCount
	c.count(document, false)
	if c.scoped {
		c.contexts = c.objects
	}
	switch {
	case c.terms > maxTerms:
		return fmt.Errorf("contexts of %d definitions together; at most %d are supported", c.terms, maxTerms)
	case c.contexts*c.terms > maxWork:
		return fmt.Errorf("%d contexts of %d definitions together are too many to process; use one at the top", c.contexts, c.terms)
	}
	return nil
}

type contextCount struct {
	objects, contexts, terms int
	scoped                   bool // there is a context within a context
}

func (c *contextCount) count(value any, inContext bool) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			c.count(item, inContext)
		}
	case map[string]any:
		c.objects++
		if inContext {
			c.terms += len(value)
		}
		for name, item := range value {
			if name == "@context" {
				c.contexts++
				c.scoped = c.scoped || inContext
			}
			c.count(item, inContext || name == "@context")
		}
	}
}

// clip shortens a string for a message to about 80 bytes.
func clip(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > limit-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}
