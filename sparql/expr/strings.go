// Functions on strings.

package expr

import (
	"math"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/trefoildb/trefoil/triple"
)

// Functions on strings (section 17.4.3). A function gets its arguments bound and
// without errors, and none of it keeps the slice.

var (
	errLang   = errorValue("strings of languages that do not go together")
	errLength = limitValue("a string longer than 16 MiB")
)

// asSimple returns the text of an xsd:string.
func asSimple(v Value) (string, bool) { return v.term.Value(), v.kind == String }

// compatible returns true if the arguments are compatible (section 17.4.3.1.2), else an
// error.
func compatible(a, b Value) Value {
	switch {
	case !a.isString() || !b.isString():
		return errType
	case b.kind == String:
		return trueValue
	case a.kind == LangString && a.term.LangDir() == b.term.LangDir():
		return trueValue
	}
	return errLang
}

func strLen(_ *Env, args []Value) Value {
	if !args[0].isString() {
		return errType
	}
	return FromInt(int64(utf8.RuneCountInString(args[0].term.Value())))
}

// subStr takes numbers of any type, as fn:substring does: positions are rounded.
func subStr(_ *Env, args []Value) Value {
	source, start := args[0], args[1].Parsed()
	if !source.isString() || !start.isNumeric() {
		return errType
	}
	from := roundFloat(start.double())
	until := math.Inf(1)
	if len(args) == 3 {
		length := args[2].Parsed()
		if !length.isNumeric() {
			return errType
		}
		until = from + roundFloat(length.double())
	}
	text := source.term.Value()
	if !(until > 1 && from < until) { // NaN too
		return fromLike("", source)
	}
	return fromLike(cutRunes(text, from, until), source)
}

// cutRunes returns the code points of text at positions from 1 with
// from <= position < until.
func cutRunes(text string, from, until float64) string {
	begin, end, position := len(text), len(text), 1.0
	for i := range text {
		if position >= from && begin == len(text) {
			begin = i
		}
		if position >= until {
			end = i
			break
		}
		position++
	}
	if begin > end {
		return ""
	}
	return text[begin:end]
}

// changeCase makes UCASE or LCASE. A Caser has a state: each call makes its own.
func changeCase(ascii func(string) string, full func() cases.Caser) function {
	return func(_ *Env, args []Value) Value {
		v := args[0]
		if !v.isString() {
			return errType
		}
		text := v.term.Value()
		if isASCII(text) {
			return fromLike(ascii(text), v)
		}
		if text = full().String(text); len(text) > triple.MaxTermBytes {
			return errLength
		}
		return fromLike(text, v)
	}
}

var (
	upperCase = changeCase(strings.ToUpper, func() cases.Caser { return cases.Upper(language.Und) })
	lowerCase = changeCase(strings.ToLower, func() cases.Caser { return cases.Lower(language.Und, cases.HandleFinalSigma(false)) })
)

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// stringTest makes a function of two compatible strings.
func stringTest(test func(s, t string) bool) function {
	return func(_ *Env, args []Value) Value {
		if ok := compatible(args[0], args[1]); ok.kind == Error {
			return ok
		}
		return FromBool(test(args[0].term.Value(), args[1].term.Value()))
	}
}

func strBefore(_ *Env, args []Value) Value {
	return cutAt(args, func(before, _ string) string { return before })
}

func strAfter(_ *Env, args []Value) Value {
	return cutAt(args, func(_, after string) string { return after })
}

func cutAt(args []Value, part func(before, after string) string) Value {
	if ok := compatible(args[0], args[1]); ok.kind == Error {
		return ok
	}
	before, after, found := strings.Cut(args[0].term.Value(), args[1].term.Value())
	if !found {
		return FromString("")
	}
	return fromLike(part(before, after), args[0])
}

// encodeForURI escapes all but unreserved characters (fn:encode-for-uri).
func encodeForURI(_ *Env, args []Value) Value {
	if !args[0].isString() {
		return errType
	}
	const hex = "0123456789ABCDEF"
	text := args[0].term.Value()
	b := make([]byte, 0, len(text))
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.~", c) >= 0 {
			b = append(b, c)
			continue
		}
		b = append(b, '%', hex[c>>4], hex[c&15])
	}
	if len(b) > triple.MaxTermBytes {
		return errLength
	}
	return FromString(string(b))
}

// concat keeps the language and direction if all arguments have them.
func concat(_ *Env, args []Value) Value {
	length := 0
	oneLang := len(args) > 0
	for _, v := range args {
		if !v.isString() {
			return errType
		}
		length += len(v.term.Value())
		oneLang = oneLang && v.kind == LangString && v.term.LangDir() == args[0].term.LangDir()
	}
	if length > triple.MaxTermBytes {
		return errLength
	}
	var b strings.Builder
	b.Grow(length)
	for _, v := range args {
		b.WriteString(v.term.Value())
	}
	if oneLang {
		return fromLike(b.String(), args[0])
	}
	return FromString(b.String())
}

// langMatches is basic filtering (RFC 4647, section 3.3.1).
func langMatches(_ *Env, args []Value) Value {
	tag, ok1 := asSimple(args[0])
	language, ok2 := asSimple(args[1])
	if !ok1 || !ok2 {
		return errType
	}
	if language == "*" {
		return FromBool(tag != "")
	}
	n := len(language)
	return FromBool(len(tag) >= n && strings.EqualFold(tag[:n], language) && (len(tag) == n || tag[n] == '-') && n > 0)
}
