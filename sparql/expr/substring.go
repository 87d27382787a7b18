// Substrings: texts that a string contains if a filter passes it.

package expr

import (
	"regexp/syntax"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr/regex"
)

// Substrings is a necessary condition of a filter: the text of its variable contains one text of each list, if the case
// of letters is ignored.
type Substrings struct {
	Var   *ast.Var
	Texts [][]string
	// Any is set if the filter looks at STR of the variable, so an IRI, a number or a date may pass, too. Else only strings
	// pass.
	Any bool
}

// Contains derives a condition on the text of a single variable from a filter, or one conjunct of it: CONTAINS, STRSTARTS,
// STRENDS and REGEX of the variable, perhaps within STR, LCASE and UCASE, and those between || and &&.
func Contains(e ast.Expr) (Substrings, bool) {
	switch e := e.(type) {
	case *ast.Binary:
		if e.Op != ast.OpAnd && e.Op != ast.OpOr {
			break
		}
		left, ok1 := Contains(e.Left)
		right, ok2 := Contains(e.Right)
		same := ok1 && ok2 && left.Var.Name == right.Var.Name
		switch {
		case e.Op == ast.OpAnd && same:
			return left.And(right), true
		case e.Op == ast.OpAnd && ok1:
			return left, true
		case e.Op == ast.OpAnd:
			return right, ok2
		case same:
			return left.or(right)
		}
	case *ast.Call:
		return containsCall(e)
	}
	return Substrings{}, false
}

// And returns the condition of two filters on one variable.
func (s Substrings) And(other Substrings) Substrings {
	s.Texts = append(append([][]string{}, s.Texts...), other.Texts...)
	s.Texts = s.Texts[:min(len(s.Texts), maxTexts)] // the others say more, and need not be known
	s.Any = s.Any && other.Any
	return s
}

// or returns a condition of one of both.
func (s Substrings) or(other Substrings) (Substrings, bool) {
	list := eitherText(s.Texts, other.Texts)
	return Substrings{Var: s.Var, Texts: [][]string{list}, Any: s.Any || other.Any}, list != nil
}

// Bounds of a condition, because an index has to look for all of it.
const (
	maxTexts        = 16  // lists
	maxAlternatives = 64  // texts of one list
	maxTextRunes    = 256 // characters of a text; of a longer one its beginning must occur
)

// shortened returns the beginning of a long text.
func shortened(text string) string {
	n := 0
	for i := range text {
		if n++; n > maxTextRunes {
			return text[:i]
		}
	}
	return text
}

// eitherText returns texts of which each string has one that meets one of two conditions; nil if they are too many.
func eitherText(a, b [][]string) []string {
	x, y := longestTexts(a), longestTexts(b)
	if x == nil || y == nil || len(x)+len(y) > maxAlternatives {
		return nil
	}
	return append(append([]string{}, x...), y...)
}

// longestTexts returns the list whose shortest text is longest; nil for none.
func longestTexts(lists [][]string) (best []string) {
	most := 0
	for _, list := range lists {
		if len(list) == 0 {
			continue
		}
		least := utf8.RuneCountInString(list[0])
		for _, text := range list[1:] {
			least = min(least, utf8.RuneCountInString(text))
		}
		if least > most {
			best, most = list, least
		}
	}
	return best
}

// containsCall is [Contains] for a function.
func containsCall(e *ast.Call) (s Substrings, ok bool) {
	// 1. The variable.
	switch e.Func {
	case ast.FuncContains, ast.FuncStrStarts, ast.FuncStrEnds, ast.FuncRegex:
	default:
		return s, false
	}
	of := e.Args[0]
	for s.Var == nil {
		switch inner := of.(type) {
		case *ast.Var:
			s.Var = inner
		case *ast.Call:
			switch inner.Func {
			case ast.FuncStr:
				s.Any = true
			case ast.FuncLCase, ast.FuncUCase:
			default:
				return s, false
			}
			of = inner.Args[0]
		default:
			return s, false
		}
	}
	// 2. The texts. Without any the filter says nothing.
	var args []string
	for _, arg := range e.Args[1:] {
		c, ok := constantOf(arg)
		if !ok || !c.isString() {
			return s, false
		}
		args = append(args, c.term.Value())
	}
	if e.Func != ast.FuncRegex {
		s.Texts = [][]string{{shortened(args[0])}}
		return s, args[0] != ""
	}
	flags := ""
	if len(args) == 2 {
		flags = args[1]
	}
	s.Texts = regexTexts(args[0], flags)
	s.Texts = s.Texts[:min(len(s.Texts), maxTexts)]
	return s, len(s.Texts) > 0
}

// regexTexts returns lists of texts of which each match of a pattern contains one, in some case of its letters.
func regexTexts(pattern, flags string) [][]string {
	if len(pattern) > regex.MaxPattern {
		return nil
	}
	translated, err := regex.Translate(pattern, flags)
	if err != nil {
		return nil
	}
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		return nil
	}
	return neededTexts(tree)
}

// neededTexts is regexTexts for a part of a pattern.
func neededTexts(re *syntax.Regexp) (lists [][]string) {
	switch re.Op {
	case syntax.OpLiteral:
		// The error character may match an invalid byte.
		from := 0
		for i := 0; i <= len(re.Rune); i++ {
			if i < len(re.Rune) && re.Rune[i] != utf8.RuneError {
				continue
			}
			if i > from {
				lists = append(lists, []string{shortened(string(re.Rune[from:i]))})
			}
			from = i + 1
		}
		return lists
	case syntax.OpCapture, syntax.OpPlus:
		return neededTexts(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return neededTexts(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			lists = append(lists, neededTexts(sub)...)
		}
		return lists
	case syntax.OpAlternate:
		all := longestTexts(neededTexts(re.Sub[0]))
		for _, sub := range re.Sub[1:] {
			if all = eitherText([][]string{all}, neededTexts(sub)); all == nil {
				return nil
			}
		}
		if all != nil {
			return [][]string{all}
		}
	}
	return nil
}
