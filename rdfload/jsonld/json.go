// JSON values, and the decoder of documents.

package jsonld

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/trefoildb/trefoil/triple"
)

// maxDepth bounds the objects and arrays around a value. The caller must limit the size of a
// document.
const maxDepth = 500

// A JSON value is an object, []any, string, number, bool or nil. It must not change, because
// contexts are shared.

// object is a JSON object: its members in the order of their names, each once.
type object []member

type member struct {
	name  string
	value any
}

// number is a JSON number as written.
type number string

func (o object) find(name string) (at int, found bool) {
	return slices.BinarySearchFunc(o, name, func(m member, name string) int { return strings.Compare(m.name, name) })
}

// get returns the value of a member.
func (o object) get(name string) (value any, ok bool) {
	at, ok := o.find(name)
	if !ok {
		return nil, false
	}
	return o[at].value, true
}

// merge returns the members of both objects. Those of top take precedence.
func (o object) merge(top object) object {
	merged := slices.Clone(top)
	for _, m := range o {
		if _, ok := top.get(m.name); !ok {
			merged = append(merged, m)
		}
	}
	merged.sort()
	return merged
}

func (o object) sort() {
	slices.SortFunc(o, func(a, b member) int { return strings.Compare(a.name, b.name) })
}

// decode returns the JSON value in data. An error is a [*triple.SyntaxError].
func decode(data []byte) (any, error) {
	// 1. Check the bytes first, because then the place of an error is that of a byte.
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
	d := decoder{json: jsontext.NewDecoder(bytes.NewBuffer(data)), names: make(map[string]string)}
	document, err := d.value(0)
	if err == nil {
		if _, err = d.json.ReadToken(); err == io.EOF {
			return document, nil
		}
		err = errors.New("something stands behind the document")
	}
	// 3. Place the error: the decoder's offset is after the last good token.
	at, msg := int(d.json.InputOffset()), err.Error()
	at += len(data[at:]) - len(bytes.TrimLeft(data[at:], " \t\r\n:,"))
	var bad *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		at, msg = len(data), "the document ends within a JSON value"
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &bad):
		msg = fmt.Sprintf("the name %q stands twice in one object", clip(bad.JSONPointer.LastToken()))
	case errors.As(err, &bad):
		at, msg = int(bad.ByteOffset), bad.Err.Error()
	}
	e := failAt(data, at, msg)
	e.Offset += int64(offset)
	return nil, e
}

type decoder struct {
	json  *jsontext.Decoder
	names map[string]string // of members: most of them come again
	stack []member          // of the objects that are not complete
}

// value decodes the next value. depth is the number of objects and arrays around it.
func (d *decoder) value(depth int) (any, error) {
	switch kind := d.json.PeekKind(); kind {
	case '[', '{':
		// They are decoded by recursion, because depth is limited.
		if depth == maxDepth {
			return nil, fmt.Errorf("objects and arrays nested more than %d deep", maxDepth)
		}
		if _, err := d.json.ReadToken(); err != nil {
			return nil, err
		}
		if kind == '[' {
			return d.array(depth + 1)
		}
		return d.object(depth + 1)
	case '"':
		raw, err := d.json.ReadValue()
		if err != nil {
			return nil, err
		}
		return unquote(raw), nil
	case '0':
		raw, err := d.json.ReadValue()
		return number(raw), err
	case 't', 'f':
		_, err := d.json.ReadToken()
		return kind == 't', err
	}
	_, err := d.json.ReadToken()
	return nil, err
}

func (d *decoder) array(depth int) (any, error) {
	array := []any{}
	for d.json.PeekKind() != ']' {
		item, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		array = append(array, item)
	}
	_, err := d.json.ReadToken()
	return array, err
}

func (d *decoder) object(depth int) (any, error) {
	start := len(d.stack)
	sorted := true
	for d.json.PeekKind() != '}' {
		raw, err := d.json.ReadValue()
		if err != nil {
			return nil, err
		}
		// The lookup needs no copy of the bytes.
		name, known := d.names[string(raw)]
		if !known {
			name = unquote(raw)
			d.names[string(raw)] = name
		}
		value, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		sorted = sorted && (len(d.stack) == start || d.stack[len(d.stack)-1].name < name)
		d.stack = append(d.stack, member{name, value})
	}
	result := object(slices.Clone(d.stack[start:]))
	clear(d.stack[start:])
	d.stack = d.stack[:start]
	if !sorted {
		result.sort()
	}
	_, err := d.json.ReadToken()
	return result, err
}

// unquote returns the string of a JSON string, which must be valid.
func unquote(raw jsontext.Value) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // cannot fail, because the decoder read it
	return string(text)
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
