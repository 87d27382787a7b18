// Character classes of XPath's regular expressions.

package regex

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Character classes of XML Schema regular expressions, as sets of code points:
// RE2 has neither subtraction ([a-z-[aeiou]]) nor \i and \c, and its \d, \s and
// \w are of ASCII only.

// RuneSet holds ranges lo, hi, lo, hi, ... in any order until it is normal.
type RuneSet []rune

func (s *RuneSet) add(lo, hi rune) { *s = append(*s, lo, hi) }

// normal returns the set's ranges in order, without overlap.
func (s RuneSet) normal() RuneSet {
	type span struct{ lo, hi rune }
	spans := make([]span, 0, len(s)/2)
	for i := 0; i < len(s); i += 2 {
		spans = append(spans, span{s[i], s[i+1]})
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.lo - b.lo) })
	var out RuneSet
	for _, sp := range spans {
		if n := len(out); n > 0 && sp.lo <= out[n-1]+1 {
			out[n-1] = max(out[n-1], sp.hi)
			continue
		}
		out.add(sp.lo, sp.hi)
	}
	return out
}

func (s RuneSet) complement() RuneSet {
	var out RuneSet
	from := rune(0)
	for i, n := 0, s.normal(); i < len(n); i += 2 {
		if n[i] > from {
			out.add(from, n[i]-1)
		}
		from = n[i+1] + 1
	}
	if from <= unicode.MaxRune {
		out.add(from, unicode.MaxRune)
	}
	return out
}

// minus returns the runes of s without those of t.
func (s RuneSet) minus(t RuneSet) RuneSet {
	return append(s.complement(), t...).complement()
}

// text returns the set as a class of RE2.
func (s RuneSet) text() string {
	n := s.normal()
	if len(n) == 0 {
		return `[^\x{0}-\x{10FFFF}]`
	}
	var b strings.Builder
	b.WriteByte('[')
	for i := 0; i < len(n); i += 2 {
		fmt.Fprintf(&b, `\x{%X}`, n[i])
		if n[i+1] > n[i] {
			fmt.Fprintf(&b, `-\x{%X}`, n[i+1])
		}
	}
	b.WriteByte(']')
	return b.String()
}

// WithCases returns the set with the case variants of its runes.
func (s RuneSet) WithCases() RuneSet {
	n := s.normal()
	out := slices.Clone(n)
	add := func(lo, hi rune) {
		for r := lo; r <= hi; r++ {
			for v := unicode.SimpleFold(r); v != r; v = unicode.SimpleFold(v) {
				out.add(v, v)
			}
		}
	}
	for i := 0; i < len(n); i += 2 {
		for _, cases := range unicode.CaseRanges { // all with variants are there, but one
			add(max(n[i], rune(cases.Lo)), min(n[i+1], rune(cases.Hi)))
		}
		add(max(n[i], 'ß'), min(n[i+1], 'ß'))
	}
	return out
}

// set returns a set as it stands in the translation. The flag i must be resolved before,
// because RE2 would fold too much. It would fold a complement, so [^a] has "a" because it has
// "A". It would fold escapes such as \p{Lu} too, but i must not change these (XPath functions
// 3.1, section 5.6.2).
func (t *translator) set(s RuneSet) string {
	if t.fold {
		return "(?-i:" + s.text() + ")"
	}
	return s.text()
}

func tableSet(tables ...*unicode.RangeTable) RuneSet {
	var s RuneSet
	for _, table := range tables {
		for _, r := range table.R16 {
			s.addStrided(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range table.R32 {
			s.addStrided(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return s
}

func (s *RuneSet) addStrided(lo, hi, stride rune) {
	if stride == 1 {
		s.add(lo, hi)
		return
	}
	for r := lo; r <= hi; r += stride {
		s.add(r, r)
	}
}

// maxClassDepth bounds how deep subtractions nest.
const maxClassDepth = 20

// class reads a class expression after its "[".
func (t *translator) class(depth int) (RuneSet, error) {
	if depth > maxClassDepth {
		return nil, fmt.Errorf("%w: classes nested deeper than %d", ErrUnsupported, maxClassDepth)
	}
	// 1. A class may begin with a negation.
	negative := strings.HasPrefix(t.rest, "^")
	if negative {
		t.rest = t.rest[1:]
	}
	var set, chars RuneSet // of escapes; characters and ranges
	// 2. Read its parts, up to a bracket or a subtraction. A bracket at the beginning is a
	// character.
	for first := true; ; first = false {
		if t.rest == "" {
			return nil, fmt.Errorf("%w: a class without its end", ErrMalformed)
		}
		if strings.HasPrefix(t.rest, "]") && !first {
			t.rest = t.rest[1:]
			return t.union(set, chars, negative), nil
		}
		if strings.HasPrefix(t.rest, "-[") && !first {
			t.rest = t.rest[2:]
			minus, err := t.class(depth + 1)
			if err != nil {
				return nil, err
			}
			if !strings.HasPrefix(t.rest, "]") {
				return nil, fmt.Errorf("%w: a subtraction is not the last of its class", ErrMalformed)
			}
			t.rest = t.rest[1:]
			return t.union(set, chars, negative).minus(minus), nil
		}
		if err := t.classPart(&set, &chars); err != nil {
			return nil, err
		}
	}
}

// union returns the runes of a class before its subtraction. The flag i adds to its characters
// and ranges their case variants, before a negation.
func (t *translator) union(set, chars RuneSet, negative bool) RuneSet {
	if t.fold {
		chars = chars.WithCases()
	}
	set = append(set, chars...)
	if negative {
		return set.complement()
	}
	return set
}

// classPart reads a character, a range or an escape.
func (t *translator) classPart(set, chars *RuneSet) error {
	lo, many, err := t.classChar()
	if err != nil {
		return err
	}
	if many != nil {
		*set = append(*set, many...)
		return nil
	}
	if !strings.HasPrefix(t.rest, "-") || strings.HasPrefix(t.rest, "-]") || strings.HasPrefix(t.rest, "-[") {
		chars.add(lo, lo)
		return nil
	}
	t.rest = t.rest[1:]
	hi, many, err := t.classChar()
	if err != nil {
		return err
	}
	if many != nil || hi < lo {
		return fmt.Errorf("%w: a range that goes down, or to a class", ErrMalformed)
	}
	chars.add(lo, hi)
	return nil
}

func (t *translator) classChar() (rune, RuneSet, error) {
	if t.rest == "" {
		return 0, nil, fmt.Errorf("%w: a class without its end", ErrMalformed)
	}
	switch c := t.next(); c {
	case '\\':
		set, r, err := t.classEscape()
		return r, set, err
	case '[', ']':
		return 0, nil, fmt.Errorf("%w: %q in a class is written \\%c", ErrMalformed, c, c)
	default:
		return c, nil, nil
	}
}

// classEscape reads an escape after its backslash: a character or a set.
func (t *translator) classEscape() (RuneSet, rune, error) {
	if t.rest == "" {
		return nil, 0, fmt.Errorf("%w: a backslash at the end", ErrMalformed)
	}
	c := t.next()
	// An escape names a character or a set. If its letter is upper case, it names the
	// complement.
	switch c {
	case 'n':
		return nil, '\n', nil
	case 'r':
		return nil, '\r', nil
	case 't':
		return nil, '\t', nil
	case 'p', 'P':
		set, err := t.property()
		if c == 'P' {
			set = set.complement()
		}
		return set, 0, err
	}
	if strings.ContainsRune(`\|.-^?*+{}()[]$`, c) {
		return nil, c, nil
	}
	if make, ok := multiEscapes[unicode.ToLower(c)]; ok {
		set := make()
		if unicode.IsUpper(c) {
			set = set.complement()
		}
		return set, 0, nil
	}
	return nil, 0, fmt.Errorf(`%w: \%c is no escape`, ErrMalformed, c)
}

// multiEscapes holds the sets of \s, \d, \w, \i and \c; capitals are their complements.
var multiEscapes = map[rune]func() RuneSet{
	's': func() RuneSet { return RuneSet{' ', ' ', '\t', '\n', '\r', '\r'} },
	'd': func() RuneSet { return tableSet(unicode.Nd) },
	'w': func() RuneSet {
		return append(tableSet(unicode.P, unicode.Z, unicode.C), unassigned()...).complement()
	},
	'i': func() RuneSet { return nameStart },
	'c': func() RuneSet { return append(slices.Clone(nameStart), nameRest...) },
}

// nameStart and nameRest are NameStartChar of XML 1.0, fifth edition, and the rest of NameChar.
var (
	nameStart = RuneSet{':', ':', 'A', 'Z', '_', '_', 'a', 'z', 0xC0, 0xD6, 0xD8, 0xF6, 0xF8, 0x2FF, 0x370, 0x37D, 0x37F, 0x1FFF,
		0x200C, 0x200D, 0x2070, 0x218F, 0x2C00, 0x2FEF, 0x3001, 0xD7FF, 0xF900, 0xFDCF, 0xFDF0, 0xFFFD, 0x10000, 0xEFFFF}
	nameRest = RuneSet{'-', '-', '.', '.', '0', '9', 0xB7, 0xB7, 0x300, 0x36F, 0x203F, 0x2040}
)

// unassigned returns the code points without a category: Cn.
func unassigned() RuneSet {
	return tableSet(unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.C).complement()
}

// property reads {L}, {Lu}, ... or {IsBlock} after \p.
func (t *translator) property() (RuneSet, error) {
	name, rest, ok := strings.Cut(t.rest, "}")
	if !ok || !strings.HasPrefix(name, "{") {
		return nil, fmt.Errorf("%w: \\p without {...}", ErrMalformed)
	}
	name = name[1:]
	t.rest = rest
	if name == "Cn" {
		return unassigned(), nil
	}
	if block, ok := strings.CutPrefix(name, "Is"); ok {
		if b, ok := unicodeBlocks[block]; ok {
			return RuneSet{b[0], b[1]}, nil
		}
		return nil, fmt.Errorf("%w: the block %s is not known here", ErrUnsupported, block)
	}
	if table, ok := unicode.Categories[name]; ok && len(name) <= 2 {
		set := tableSet(table)
		if name == "C" {
			set = append(set, unassigned()...)
		}
		return set, nil
	}
	return nil, fmt.Errorf("%w: no category %q", ErrMalformed, name)
}

// unicodeBlocks holds the blocks in practical use.
var unicodeBlocks = map[string][2]rune{
	"BasicLatin": {0, 0x7F}, "Latin-1Supplement": {0x80, 0xFF}, "LatinExtended-A": {0x100, 0x17F}, "LatinExtended-B": {0x180, 0x24F},
	"IPAExtensions": {0x250, 0x2AF}, "SpacingModifierLetters": {0x2B0, 0x2FF}, "CombiningDiacriticalMarks": {0x300, 0x36F},
	"Greek": {0x370, 0x3FF}, "GreekandCoptic": {0x370, 0x3FF}, "Cyrillic": {0x400, 0x4FF}, "Armenian": {0x530, 0x58F}, "Hebrew": {0x590, 0x5FF},
	"Arabic": {0x600, 0x6FF}, "Devanagari": {0x900, 0x97F}, "Bengali": {0x980, 0x9FF}, "Tamil": {0xB80, 0xBFF}, "Thai": {0xE00, 0xE7F},
	"Tibetan": {0xF00, 0xFFF}, "Georgian": {0x10A0, 0x10FF}, "HangulJamo": {0x1100, 0x11FF}, "Ethiopic": {0x1200, 0x137F}, "Khmer": {0x1780, 0x17FF},
	"Mongolian": {0x1800, 0x18AF}, "LatinExtendedAdditional": {0x1E00, 0x1EFF}, "GreekExtended": {0x1F00, 0x1FFF}, "GeneralPunctuation": {0x2000, 0x206F},
	"SuperscriptsandSubscripts": {0x2070, 0x209F}, "CurrencySymbols": {0x20A0, 0x20CF}, "LetterlikeSymbols": {0x2100, 0x214F}, "NumberForms": {0x2150, 0x218F},
	"Arrows": {0x2190, 0x21FF}, "MathematicalOperators": {0x2200, 0x22FF}, "BoxDrawing": {0x2500, 0x257F}, "GeometricShapes": {0x25A0, 0x25FF},
	"MiscellaneousSymbols": {0x2600, 0x26FF}, "Dingbats": {0x2700, 0x27BF}, "CJKSymbolsandPunctuation": {0x3000, 0x303F}, "Hiragana": {0x3040, 0x309F},
	"Katakana": {0x30A0, 0x30FF}, "Bopomofo": {0x3100, 0x312F}, "CJKUnifiedIdeographs": {0x4E00, 0x9FFF}, "HangulSyllables": {0xAC00, 0xD7A3},
	"PrivateUse": {0xE000, 0xF8FF}, "CJKCompatibilityIdeographs": {0xF900, 0xFAFF}, "HalfwidthandFullwidthForms": {0xFF00, 0xFFEF},
}
