// REGEX and REPLACE.

package expr

import (
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/sparql/expr/regex"
	"github.com/trefoildb/trefoil/triple"
)

var errWork = limitValue("a long regular expression on a long string")

// regexFunction is REGEX, with the pattern compiled already if it is constant.
func regexFunction(constant *regex.Pattern) function {
	return func(env *Env, args []Value) Value {
		if !args[0].isString() {
			return errType
		}
		re, failed := constant, Value{}
		if re == nil {
			if re, failed = env.pattern(args[1:]); re == nil {
				return failed
			}
		}
		text := args[0].term.Value()
		if !re.MayMatch(text) {
			return errWork
		}
		return FromBool(re.Matches(text))
	}
}

// replaceFunction is REPLACE.
func replaceFunction(constant *regex.Pattern) function {
	return func(env *Env, args []Value) Value {
		replacement, ok := asSimple(args[2])
		if !args[0].isString() || !ok {
			return errType
		}
		re, failed := constant, Value{}
		flags := args[3:]
		if re == nil {
			if re, failed = env.pattern(append(args[1:2:2], flags...)); re == nil {
				return failed
			}
		}
		literal := len(flags) == 1 && strings.ContainsRune(flags[0].term.Value(), 'q')
		text, failure := replaceAll(re, args[0].term.Value(), replacement, literal)
		if failure.kind == Error {
			return failure
		}
		return fromLike(text, args[0])
	}
}

// maxMatchInts bounds the count of match indices, and with it the time: half a second.
const maxMatchInts = 1 << 20

var errMatches = limitValue("REPLACE finds too many matches in one string")

// replaceAll is fn:replace.
func replaceAll(re *regex.Pattern, text, replacement string, literal bool) (string, Value) {
	// 1. XPath forbids a pattern if it matches the empty text. Work must be limited before it
	// begins.
	if re.MatchString("") {
		return "", errorValue("REPLACE with a pattern that matches the empty string")
	}
	if !re.MayMatch(text) {
		return "", errWork
	}
	pieces := []piece{{text: replacement, group: -1}}
	if !literal {
		var err error
		if pieces, err = parseReplacement(replacement, re.NumSubexp()); err != nil {
			return "", errorValue(err.Error())
		}
	}
	if !re.Matches(text) {
		return text, Value{}
	}
	// 2. Find all matches, unless there are too many to hold.
	limit := maxMatchInts / (2*re.NumSubexp() + 2)
	matches := re.FindAllStringSubmatchIndex(text, limit+1)
	switch {
	case len(matches) > limit:
		return "", errMatches
	}
	// 3. Put the result together. A group without a match is empty.
	b := make([]byte, 0, len(text))
	last := 0
	for _, m := range matches {
		b = append(b, text[last:m[0]]...)
		for _, p := range pieces {
			switch {
			case p.group < 0:
				b = append(b, p.text...)
			case m[2*p.group] >= 0:
				b = append(b, text[m[2*p.group]:m[2*p.group+1]]...)
			}
		}
		last = m[1]
		if len(b) > triple.MaxTermBytes {
			return "", errLength
		}
	}
	b = append(b, text[last:]...)
	if len(b) > triple.MaxTermBytes {
		return "", errLength
	}
	return string(b), Value{}
}

// piece is a part of a replacement: text, or the number of a group.
type piece struct {
	text  string
	group int // -1 for text
}

// parseReplacement reads $N, \$ and \\. A digit belongs to $N only if a group has such a
// number. If a group is missing, it is empty.
func parseReplacement(s string, groups int) ([]piece, error) {
	var pieces []piece
	var text []byte
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			// A backslash must escape another one or a $, because in XPath all other uses are
			// errors.
			if i++; i == len(s) || s[i] != '\\' && s[i] != '$' {
				return nil, fmt.Errorf(`%w: in a replacement \ stands before \ or $ only`, regex.ErrMalformed)
			}
			text = append(text, s[i])
		case '$':
			if i++; i == len(s) || s[i] < '0' || s[i] > '9' {
				return nil, fmt.Errorf("%w: in a replacement a digit follows $", regex.ErrMalformed)
			}
			// A further digit belongs to the group only if a group has such a number.
			group := int(s[i] - '0')
			for i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9' && group*10+int(s[i+1]-'0') <= groups {
				i++
				group = group*10 + int(s[i]-'0')
			}
			pieces = append(pieces, piece{text: string(text), group: -1})
			text = text[:0]
			if group <= groups {
				pieces = append(pieces, piece{group: group})
			}
		default:
			text = append(text, s[i])
		}
	}
	return append(pieces, piece{text: string(text), group: -1}), nil
}
