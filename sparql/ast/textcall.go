// Text search, written as predicates of a literal.

package ast

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// TextNamespace begins the IRIs of the predicates of text search. As a predicate of a pattern, an IRI with this
// beginning is always one of them.
const TextNamespace = "urn:trefoil:text:"

// The predicates of text search, without the namespace.
const (
	TextMatches   = "matches"   // a query
	TextScore     = "score"     // a variable for the score
	TextSnippet   = "snippet"   // a variable for a part of the literal
	TextLanguage  = "language"  // a range of language tags
	TextPredicate = "predicate" // a predicate whose literals are searched
	TextScan      = "scan"      // true allows a search without an index
)

// TextPredicates returns the IRIs of all predicates.
func TextPredicates() []string {
	all := []string{TextMatches, TextScore, TextSnippet, TextLanguage, TextPredicate, TextScan}
	for i := range all {
		all[i] = TextNamespace + all[i]
	}
	return all
}

// TextCall is a search: the literals that match a query, such as
// ?literal text:matches "graph" ; text:score ?score .
type TextCall struct {
	Pos
	Literal Node // a variable
	// Query is the text of the query. If it is "" and QueryVar is set, that variable has no value yet: Bind gives it one.
	Query    string
	QueryVar string
	// Score and Snippet are variables, or zero.
	Score, Snippet Node
	Language       *string
	Predicates     []string
	Scan           bool
}

func (*TextCall) pattern() {}

// Results returns the variables that the search computes beside the literal.
func (c *TextCall) Results() (list []Node) {
	for _, n := range []Node{c.Score, c.Snippet} {
		if n.IsVar() {
			list = append(list, n)
		}
	}
	return list
}

// Matches reports whether text:matches is set.
func (c *TextCall) Matches() bool { return c.Query != "" || c.QueryVar != "" }

// FindTextPredicate returns the name of a predicate of text search. is is false if the IRI is not in
// [TextNamespace]. The error lists the predicates.
func FindTextPredicate(iri string) (name string, is bool, err error) {
	name, is = strings.CutPrefix(iri, TextNamespace)
	if !is {
		return "", false, nil
	}
	if slices.Contains(TextPredicates(), iri) {
		return name, true, nil
	}
	return "", true, fmt.Errorf("there is no predicate <%s> of text search. They are %s", iri, strings.Join(TextPredicates(), ", "))
}

// Set sets what a triple with a predicate of text search says. An error says what is wrong and what is expected.
func (c *TextCall) Set(name string, object Node) error {
	text := func() (string, error) {
		if object.IsVar() || object.Term.Datatype() != triple.XSDString {
			return "", fmt.Errorf("text:%s needs a string, such as %q", name, map[string]string{TextMatches: "graph AND store", TextLanguage: "en"}[name])
		}
		return object.Term.Value(), nil
	}
	// 1. What has a term as its object.
	switch name {
	case TextMatches:
		if c.Matches() {
			return fmt.Errorf("?%s has two text:matches; put both queries into one, with AND between", c.Literal.Var)
		}
		if object.IsVar() && object.Var != c.Literal.Var {
			c.QueryVar = object.Var
			return nil
		}
		var err error
		if c.Query, err = text(); err == nil && c.Query == "" {
			err = fmt.Errorf("text:matches has an empty query; expected words to search for")
		}
		return err
	case TextLanguage:
		if c.Language != nil {
			return fmt.Errorf("text:language occurs twice for one literal; it is one range of language tags")
		}
		lang, err := text()
		c.Language = &lang
		return err
	case TextPredicate:
		if object.IsVar() || object.Term.Kind() != triple.IRI {
			return fmt.Errorf("text:predicate needs an IRI: an indexed predicate")
		}
		c.Predicates = append(c.Predicates, object.Term.Value())
		return nil
	case TextScan:
		if object.IsVar() || object.Term != triple.NewTyped("true", triple.XSDBoolean) {
			return fmt.Errorf("text:scan needs true: without it only the index is searched")
		}
		c.Scan = true
		return nil
	}
	// 2. The score and the snippet have a variable.
	if !object.IsVar() || object.Var == c.Literal.Var {
		return fmt.Errorf("text:%s needs another variable than the literal's", name)
	}
	at := &c.Score
	if name == TextSnippet {
		at = &c.Snippet
	}
	if at.IsVar() {
		return fmt.Errorf("?%s has two text:%s", c.Literal.Var, name)
	}
	*at = object
	if c.Score.Var == c.Snippet.Var {
		return fmt.Errorf("text:score and text:snippet need different variables")
	}
	return nil
}
