// Literals that every match of a regular expression contains.

package regex

import (
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// A pattern cannot match a text that lacks a literal of all its matches. The literal is searched
// first, because that takes about a nanosecond for a byte or less, and package regexp some 20.

// literal is a text of a pattern. With fold its ASCII letters stand for both cases; it is then
// of ASCII in lower case.
type literal struct {
	text string
	fold bool
	// beyond: a character outside ASCII is another case of one of its letters: U+017F of s,
	// U+212A of k.
	beyond bool
	skips  [256]uint8 // with fold: how far the search moves on if a byte stands under the last one
}

// presence is the result of a search for a literal.
type presence uint8

const (
	absent presence = iota
	present
	unclear // a character beyond ASCII may be one of its letters
)

// maxLiterals is the greatest number of literals of which a match has one: of alternatives.
const maxLiterals = 4

// maxLiteral is the greatest length of a literal with fold, because skips are bytes.
const maxLiteral = 255

// literalsOf returns literals of which each match of a pattern contains at least one; none if
// nothing is known. With whole, the pattern matches if, and only if, the text contains the only one.
func literalsOf(re *syntax.Regexp) (list []*literal, whole bool) {
	if re.Op == syntax.OpConcat && re.Sub[0].Op == syntax.OpBeginText {
		return nil, false // package regexp looks at the beginning only
	}
	list = required(re)
	whole = re.Op == syntax.OpLiteral && len(list) == 1 && utf8.RuneCountInString(list[0].text) == len(re.Rune)
	return list, whole
}

// required returns literals of which each match of re contains one.
func required(re *syntax.Regexp) []*literal {
	switch re.Op {
	case syntax.OpLiteral:
		return longestRun(re)
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		// Each part has a match: take the part with the longest literals.
		var best []*literal
		for _, sub := range re.Sub {
			if list := required(sub); shortest(list) > shortest(best) {
				best = list
			}
		}
		return best
	case syntax.OpAlternate:
		var all []*literal
		for _, sub := range re.Sub {
			list := required(sub)
			if list == nil || len(all)+len(list) > maxLiterals {
				return nil
			}
			all = append(all, list...)
		}
		return all
	}
	return nil
}

// shortest returns the length of the shortest literal; 0 for none.
func shortest(list []*literal) int {
	least := 0
	for i, l := range list {
		if i == 0 || len(l.text) < least {
			least = len(l.text)
		}
	}
	return least
}

// longestRun returns the longest part of a literal that can be searched for.
func longestRun(re *syntax.Regexp) []*literal {
	fold := re.Flags&syntax.FoldCase != 0
	best, from := re.Rune[:0], 0
	for i := 0; i <= len(re.Rune); i++ {
		// The error character may match an invalid byte. Other cases of letters beyond ASCII have
		// other lengths.
		if i < len(re.Rune) && re.Rune[i] != utf8.RuneError && (!fold || re.Rune[i] < utf8.RuneSelf) && i-from < maxLiteral {
			continue
		}
		if i-from > len(best) {
			best = re.Rune[from:i]
		}
		from = i + 1
	}
	if len(best) == 0 {
		return nil
	}
	l := &literal{text: string(best), fold: fold}
	if fold {
		l.text = strings.ToLower(l.text)
		l.beyond = strings.ContainsAny(l.text, "ks")
		l.fill()
	}
	return []*literal{l}
}

// fill sets the skips of a search by the byte under the last one of the literal (Horspool,
// "Practical fast searching in strings", 1980).
func (l *literal) fill() {
	last := len(l.text) - 1
	for c := range l.skips {
		l.skips[c] = uint8(len(l.text))
	}
	for i := range last {
		c := l.text[i]
		l.skips[c] = uint8(last - i)
		if 'a' <= c && c <= 'z' {
			l.skips[c-'a'+'A'] = uint8(last - i)
		}
	}
}

// search looks for the literal.
func (l *literal) search(text string) presence {
	if !l.fold {
		if strings.Contains(text, l.text) {
			return present
		}
		return absent
	}
	last := len(l.text) - 1
	for end := last; end < len(text); end += int(l.skips[text[end]]) {
		i := last
		for i >= 0 && lower(text[end-last+i]) == l.text[i] {
			i--
		}
		if i < 0 {
			return present
		}
	}
	// The first bytes of U+017F and U+212A.
	if l.beyond && (strings.IndexByte(text, 0xC5) >= 0 || strings.IndexByte(text, 0xE2) >= 0) {
		return unclear
	}
	return absent
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c - 'A' + 'a'
	}
	return c
}
