// Literals of value objects.

package jsonld

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/trefoildb/trefoil/triple"
)

// literal returns the literal of an expanded value object, or the zero Term for null.
func (b *builder) literal(object map[string]any) (triple.Term, error) {
	// 1. A JSON literal is any value.
	datatype, _ := object["@type"].(string)
	if datatype == "@json" {
		text, err := appendCanonical(nil, object["@value"])
		return triple.NewTyped(string(text), triple.RDF+"JSON"), err
	}
	// 2. Others have the datatype of their JSON type, unless @type names one.
	switch value := object["@value"].(type) {
	case nil:
		return triple.Term{}, nil
	case bool:
		if datatype == "" {
			datatype = triple.XSDBoolean
		}
		return triple.NewTyped(strconv.FormatBool(value), datatype), nil
	case json.Number:
		return number(string(value), datatype)
	case float64: // value of a member called @version
		return number(strconv.FormatFloat(value, 'g', -1, 64), datatype)
	case string:
		if language, ok := object["@language"].(string); ok && language != "" {
			if strings.Contains(language, "--") {
				return triple.Term{}, fmt.Errorf("the language tag %q has a base direction, which @direction gives", clip(language))
			}
			if direction, ok := object["@direction"].(string); ok && direction != "" {
				return triple.NewLang(value, language+"--"+direction), nil
			}
			return triple.NewLang(value, language), nil
		}
		return triple.NewTyped(value, datatype), nil
	}
	return triple.Term{}, fmt.Errorf("unexpected %T as a value", object["@value"])
}

// number returns the literal of a JSON number. It is an integer if it has no fraction, is below
// 1e21 and is not coerced to xsd:double. Otherwise it is a double. Both are in the canonical form
// of the recommendation (section 8.6). An integer in integer form keeps its digits, even if a
// float64 cannot hold them.
func number(text, datatype string) (triple.Term, error) {
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
	case float64:
		return appendNumber(dst, value)
	// All numbers are doubles, because the scheme defines only those.
	case json.Number:
		number, err := value.Float64()
		if err != nil {
			return nil, fmt.Errorf("the number %s is beyond a double", clip(string(value)))
		}
		return appendNumber(dst, number)
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
	case map[string]any:
		// Names must be sorted by UTF-16 units, not by code points.
		names := slices.SortedFunc(maps.Keys(value), func(a, b string) int {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		})
		dst = append(dst, '{')
		for i, name := range names {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, name), ':')
			var err error
			if dst, err = appendCanonical(dst, value[name]); err != nil {
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
