// The syntax of XPath in terms of package regexp.

package regex

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Translate returns the pattern in RE2's syntax.
func Translate(pattern, flags string) (string, error) {
	if !utf8.ValidString(pattern) {
		return "", fmt.Errorf("%w: invalid UTF-8", ErrMalformed)
	}
	// 1. An unknown flag is an error, because the pattern would match something else.
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
			return "", fmt.Errorf("%w: flag %q (there are s, m, i, x and q)", ErrMalformed, c)
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
			return fmt.Errorf("%w: %q without its beginning", ErrMalformed, c)
		case '{':
			if err := t.repetition(); err != nil {
				return err
			}
		case '(':
			t.out.WriteByte('(')
			if strings.HasPrefix(t.rest, "?") {
				if !strings.HasPrefix(t.rest, "?:") {
					return fmt.Errorf("%w: after ( only ?: may follow", ErrMalformed)
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
	if !ok || least == "" || strings.Trim(least+greatest, "0123456789") != "" {
		return fmt.Errorf("%w: braces that are no {n}, {n,} or {n,m}", ErrMalformed)
	}
	for _, n := range []string{least, greatest} {
		if v, err := strconv.Atoi(n); n != "" && (err != nil || v > 1000) {
			return fmt.Errorf("%w: a repetition beyond 1000", ErrUnsupported)
		}
	}
	t.out.WriteString("{" + body + "}")
	t.rest = rest
	return nil
}

// escape translates an escape outside of a class.
func (t *translator) escape() error {
	if t.rest != "" && t.rest[0] >= '1' && t.rest[0] <= '9' {
		return fmt.Errorf("%w: back-reference \\%c: patterns are matched in linear time, which back-references do not allow", ErrUnsupported, t.rest[0])
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
