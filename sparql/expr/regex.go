// REGEX and REPLACE: the syntax of XPath in terms of package regexp.

package expr

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// REGEX and REPLACE. A regular expression of XPath (XPath functions and operators, section
// 5.6.1, on that of XML Schema) is translated to RE2's syntax, because package regexp matches
// it in time linear in the text. Back-references and repetitions beyond 1000 are errors,
// because RE2 lacks them.

// ErrRegex reports an invalid regular expression; ErrUnsupportedRegex a valid one, if it cannot
// be matched in linear time.
var (
	ErrRegex            = errors.New("malformed regular expression")
	ErrUnsupportedRegex = errors.New("unsupported regular expression")
)

// maxPattern is the greatest size of a pattern in bytes, and maxSteps its size when repetitions
// are written out: a{2}b{1000} has 1002. A step takes about 100 bytes compiled.
const (
	maxPattern = 8192
	maxSteps   = 20_000
)

// pattern is a compiled pattern.
type pattern struct {
	*regexp.Regexp
	steps    int
	literals []*literal // each match has one of them; none if nothing is known
	whole    bool       // the pattern is its only literal
}

// maxWork bounds the steps of a pattern, and stepsAlways, times the bytes of the matched text:
// a few seconds at worst. The limit must be low, because a cancelled query does not interrupt a
// match.
const (
	maxWork     = 1 << 28
	stepsAlways = 16
)

var errWork = limitValue("a long regular expression on a long string")

// mayMatch reports whether a text is not too long.
func (p *pattern) mayMatch(text string) bool {
	return (int64(p.steps)+stepsAlways)*int64(len(text)) <= maxWork
}

// matches reports whether the pattern matches a part of a text.
func (p *pattern) matches(text string) bool {
	if p.literals == nil {
		return p.MatchString(text)
	}
	for _, l := range p.literals {
		switch l.search(text) {
		case present:
			return p.whole || p.MatchString(text)
		case unclear:
			return p.MatchString(text)
		}
	}
	return false
}

// compilePattern translates and compiles a pattern with its flags.
func compilePattern(text, flags string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrUnsupportedRegex, maxPattern)
	}
	translated, err := translatePattern(text, flags)
	if err != nil {
		return nil, err
	}
	p := &pattern{}
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err == nil {
		if p.steps = steps(tree); p.steps > maxSteps {
			return nil, fmt.Errorf("%w: %.100q: its repetitions make more than %d steps", ErrUnsupportedRegex, text, maxSteps)
		}
		p.literals, p.whole = literalsOf(tree)
		p.Regexp, err = regexp.Compile(translated)
	}
	if err != nil {
		kind := ErrRegex
		if strings.Contains(err.Error(), "too large") || strings.Contains(err.Error(), "repeat count") || strings.Contains(err.Error(), "nests too deeply") {
			kind = ErrUnsupportedRegex
		}
		return nil, fmt.Errorf("%w: %q: %w", kind, text, err)
	}
	return p, nil
}

// steps returns about how many instructions a pattern is compiled to. package
// syntax has bounded its depth, and the product of repetitions in each other.
func steps(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n += steps(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpRepeat:
		if re.Max > re.Min {
			n++ // each optional one is a choice
		}
		return n * max(re.Min, re.Max, 1)
	}
	return n + 1
}

// translatePattern returns the pattern in RE2's syntax.
func translatePattern(pattern, flags string) (string, error) {
	if !utf8.ValidString(pattern) {
		return "", fmt.Errorf("%w: invalid UTF-8", ErrRegex)
	}
	// 1. Read the flags.
	var f struct{ dotAll, multi, fold, space, quote bool }
	for _, c := range flags {
		switch c {
		case 's':
			f.dotAll = true
		case 'm':
			f.multi = true
		case 'i':
			f.fold = true
		case 'x':
			f.space = true
		case 'q':
			f.quote = true
		default:
			return "", fmt.Errorf("%w: flag %q (there are s, m, i, x and q)", ErrRegex, c)
		}
	}
	// 2. Flags of both syntaxes are copied. The others change the translation, because RE2
	// lacks them.
	prefix := ""
	if f.fold {
		prefix = "(?i)"
	}
	if f.quote { // takes no other flag but i
		return prefix + regexp.QuoteMeta(pattern), nil
	}
	if f.multi {
		prefix += "(?m)"
	}
	// 3. Translate.
	t := translator{rest: pattern, dotAll: f.dotAll, ignoreSpace: f.space, fold: f.fold}
	if err := t.run(); err != nil {
		return "", fmt.Errorf("%w (pattern %q)", err, pattern)
	}
	return prefix + t.out.String(), nil
}

// translator walks over a pattern. RE2 itself checks how parentheses and
// quantifiers stand.
type translator struct {
	rest                string
	out                 strings.Builder
	dotAll, ignoreSpace bool
	fold                bool // the flag i
}

func (t *translator) next() rune {
	r, size := utf8.DecodeRuneInString(t.rest)
	t.rest = t.rest[size:]
	return r
}

func (t *translator) run() error {
	for t.rest != "" {
		// Common syntax is copied. A construct is an error if package regexp lacks it, because
		// a pattern must not match something else.
		switch c := t.next(); c {
		case ' ', '\t', '\n', '\r':
			if !t.ignoreSpace {
				t.out.WriteRune(c)
			}
		case '.':
			if t.dotAll {
				t.out.WriteString(`(?s:.)`)
			} else {
				t.out.WriteString(`[^\n\r]`)
			}
		case '\\':
			if err := t.escape(); err != nil {
				return err
			}
		case '[':
			set, err := t.class(0)
			if err != nil {
				return err
			}
			t.out.WriteString(t.set(set))
		case ']', '}':
			return fmt.Errorf("%w: %q without its beginning", ErrRegex, c)
		case '{':
			if err := t.repetition(); err != nil {
				return err
			}
		case '(':
			t.out.WriteByte('(')
			if strings.HasPrefix(t.rest, "?") {
				if !strings.HasPrefix(t.rest, "?:") {
					return fmt.Errorf("%w: after ( only ?: may follow", ErrRegex)
				}
				t.out.WriteString("?:")
				t.rest = t.rest[2:]
			}
		default: // | ) ^ $ * + ? and ordinary characters mean the same
			t.out.WriteRune(c)
		}
	}
	return nil
}

// repetition reads {n}, {n,} or {n,m}: RE2 takes other braces as text.
func (t *translator) repetition() error {
	body, rest, ok := strings.Cut(t.rest, "}")
	least, greatest, _ := strings.Cut(body, ",")
	if !ok || least == "" || !allDigits(least) || !allDigits(greatest) {
		return fmt.Errorf("%w: braces that are no {n}, {n,} or {n,m}", ErrRegex)
	}
	for _, n := range []string{least, greatest} {
		if v, err := strconv.Atoi(n); n != "" && (err != nil || v > 1000) {
			return fmt.Errorf("%w: a repetition beyond 1000", ErrUnsupportedRegex)
		}
	}
	t.out.WriteString("{" + body + "}")
	t.rest = rest
	return nil
}

// escape translates an escape outside of a class.
func (t *translator) escape() error {
	if t.rest != "" && t.rest[0] >= '1' && t.rest[0] <= '9' {
		return fmt.Errorf("%w: back-reference \\%c: patterns are matched in linear time, which back-references do not allow", ErrUnsupportedRegex, t.rest[0])
	}
	set, c, err := t.classEscape()
	switch {
	case err != nil:
		return err
	case set != nil:
		t.out.WriteString(t.set(set))
	default:
		t.out.WriteString(regexp.QuoteMeta(string(c)))
	}
	return nil
}

// regexFunction is REGEX, with the pattern compiled already if it is constant.
func regexFunction(constant *pattern) function {
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
		if !re.mayMatch(text) {
			return errWork
		}
		return FromBool(re.matches(text))
	}
}

// replaceFunction is REPLACE.
func replaceFunction(constant *pattern) function {
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
func replaceAll(re *pattern, text, replacement string, literal bool) (string, Value) {
	// 1. XPath forbids a pattern if it matches the empty text. Work must be limited before it
	// begins.
	if re.MatchString("") {
		return "", errorValue("REPLACE with a pattern that matches the empty string")
	}
	if !re.mayMatch(text) {
		return "", errWork
	}
	// 2. Parse the replacement.
	pieces := []piece{{text: replacement, group: -1}}
	if !literal {
		var err error
		if pieces, err = parseReplacement(replacement, re.NumSubexp()); err != nil {
			return "", errorValue(err.Error())
		}
	}
	if !re.matches(text) {
		return text, Value{}
	}
	// 3. Find all matches, unless there are too many to hold.
	limit := maxMatchInts / (2*re.NumSubexp() + 2)
	matches := re.FindAllStringSubmatchIndex(text, limit+1)
	switch {
	case len(matches) > limit:
		return "", errMatches
	}
	// 4. Put the result together. A group without a match is empty.
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
				return nil, fmt.Errorf(`%w: in a replacement \ stands before \ or $ only`, ErrRegex)
			}
			text = append(text, s[i])
		case '$':
			if i++; i == len(s) || s[i] < '0' || s[i] > '9' {
				return nil, fmt.Errorf("%w: in a replacement a digit follows $", ErrRegex)
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
