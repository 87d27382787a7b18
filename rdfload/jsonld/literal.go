// Literals of value objects.

package jsonld

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/trefoildb/trefoil/triple"
)

// term returns the literal of a value object, or the zero Term for null.
func (l *literal) term() (triple.Term, error) {
	// 1. A JSON literal is any value.
	if l.typ == "@json" {
		text, err := appendCanonical(nil, l.value)
		return triple.NewTyped(string(text), triple.RDF+"JSON"), err
	}
	// 2. Others have the datatype of their JSON type, unless @type names one.
	switch value := l.value.(type) {
	case bool:
		return triple.NewTyped(strconv.FormatBool(value), cmp.Or(l.typ, triple.XSDBoolean)), nil
	case number:
		return value.term(l.typ)
	case string:
		switch {
		case l.language == "":
			return triple.NewTyped(value, l.typ), nil
		case strings.Contains(l.language, "--"):
			return triple.Term{}, fmt.Errorf("the language tag %q has a base direction, which @direction gives", clip(l.language))
		case l.direction != "":
			return triple.NewLang(value, l.language+"--"+l.direction), nil
		}
		return triple.NewLang(value, l.language), nil
	}
	return triple.Term{}, nil
}

// term returns the literal of a JSON number. It is an integer if it has no fraction, is below
// 1e21 and is not coerced to xsd:double. Otherwise it is a double. Both are in the canonical form
// of the recommendation (section 8.6). An integer in integer form keeps its digits, even if a
// float64 cannot hold them.
func (n number) term(datatype string) (triple.Term, error) {
	text := string(n)
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return triple.Term{}, fmt.Errorf("the number %s is beyond xsd:double", clip(text))
	}
	if value == math.Trunc(value) && math.Abs(value) < 1e21 && datatype != triple.XSDDouble {
		if strings.ContainsAny(text, ".eE") {
			text = strconv.FormatFloat(value, 'f', 0, 64)
		}
		if text == "-0" {
			text = "0"
		}
		if datatype == "" {
			datatype = triple.XSDInteger
		}
		return triple.NewTyped(text, datatype), nil
	}
	if datatype == "" {
		datatype = triple.XSDDouble
	}
	text = trailingZeros.ReplaceAllString(fmt.Sprintf("%1.15E", value), "${1}E${2}${3}")
	return triple.NewTyped(text, datatype), nil
}

// trailingZeros matches the parts that the canonical form of a double lacks: zeros at the
// mantissa's end except one after the point, '+', and zeros before the exponent.
var trailingZeros = regexp.MustCompile(`(\d)0*E\+?(-)?0*(\d)`)

// appendCanonical appends a JSON value by the JSON Canonicalization Scheme, RFC 8785.
func appendCanonical(dst []byte, value any) ([]byte, error) {
	switch value := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, value), nil
	case string:
		return appendString(dst, value), nil
	// All numbers are doubles, because the scheme defines only those.
	case number:
		double, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return nil, fmt.Errorf("the number %s is beyond a double", clip(string(value)))
		}
		return appendNumber(dst, double)
	case []any:
		dst = append(dst, '[')
		for i, item := range value {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendCanonical(dst, item); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case object:
		// Names must be sorted by UTF-16 units, not by code points.
		sorted := slices.SortedFunc(slices.Values(value), func(a, b member) int {
			return slices.Compare(utf16.Encode([]rune(a.name)), utf16.Encode([]rune(b.name)))
		})
		dst = append(dst, '{')
		for i, m := range sorted {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, m.name), ':')
			var err error
			if dst, err = appendCanonical(dst, m.value); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	}
	return nil, fmt.Errorf("unexpected %T in a JSON literal", value)
}

// appendNumber appends a number in the form of ECMAScript. It must be finite.
func appendNumber(dst []byte, value float64) ([]byte, error) {
	if value == 0 {
		return append(dst, '0'), nil // also for -0
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, errors.New("a number of a JSON literal is not finite")
	}
	return append(dst, text...), nil
}

// appendString appends a string with only the escapes that JSON needs.
func appendString(dst []byte, s string) []byte {
	const short = "btn\x00fr" // letters of escapes, from U+0008
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= '\b' && c <= '\r' && c != '\v':
			dst = append(dst, '\\', short[c-'\b'])
		case c < ' ':
			dst = fmt.Appendf(dst, "\\u%04x", c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
