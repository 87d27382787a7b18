// A compiled pattern, and whether it matches a text.

package regex

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// ErrMalformed reports an invalid regular expression; ErrUnsupported a valid one, if it cannot
// be matched in linear time.
var (
	ErrMalformed   = errors.New("malformed regular expression")
	ErrUnsupported = errors.New("unsupported regular expression")
)

// MaxPattern is the greatest size of a pattern in bytes, and MaxSteps its size when repetitions
// are written out: a{2}b{1000} has 1002. A step takes about 100 bytes compiled.
const (
	MaxPattern = 8192
	MaxSteps   = 20_000
)

// Pattern is a compiled pattern.
type Pattern struct {
	*regexp.Regexp
	Steps    int
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

// MayMatch reports whether a text is not too long.
func (p *Pattern) MayMatch(text string) bool {
	return (int64(p.Steps)+stepsAlways)*int64(len(text)) <= maxWork
}

// Matches reports whether the pattern matches a part of a text.
func (p *Pattern) Matches(text string) bool {
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

// Compile translates and compiles a pattern with its flags.
func Compile(text, flags string) (*Pattern, error) {
	if len(text) > MaxPattern {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrUnsupported, MaxPattern)
	}
	translated, err := Translate(text, flags)
	if err != nil {
		return nil, err
	}
	p := &Pattern{}
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err == nil {
		if p.Steps = steps(tree); p.Steps > MaxSteps {
			return nil, fmt.Errorf("%w: %.100q: its repetitions make more than %d steps", ErrUnsupported, text, MaxSteps)
		}
		p.literals, p.whole = literalsOf(tree)
		p.Regexp, err = regexp.Compile(translated)
	}
	if err != nil {
		kind := ErrMalformed
		if strings.Contains(err.Error(), "too large") || strings.Contains(err.Error(), "repeat count") || strings.Contains(err.Error(), "nests too deeply") {
			kind = ErrUnsupported
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
