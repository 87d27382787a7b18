// The query language: words, phrases, prefixes, fuzzy words, AND, OR and NOT.

package textindex

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrQuery is wrapped by the errors of [Parse], and by those of queries that need too much.
var ErrQuery = errors.New("invalid text query")

// Limits of queries.
const (
	MaxQueryBytes = 64 << 10
	MaxWords      = 1024 // words, phrases, prefixes and fuzzy words of a query
	MaxDepth      = 50   // nested parentheses and NOTs
	MaxSlop       = 1000
	MaxPhrase     = 200 // words of a phrase
	MaxEdits      = 2
	// MaxExpansions bounds the words that all prefixes, fuzzy words and single ideographs of a query stand for in the parts of a call, in
	// all languages together. Each takes some 150 bytes while a segment is searched.
	MaxExpansions = 50_000
	// MaxExpanded bounds the prefixes, fuzzy words and single ideographs of a query, because each needs memory for a window of documents.
	MaxExpanded = 32
)

// Query is a parsed query. It must not be changed.
type Query struct {
	Text   string
	root   node
	leaves []*leaf // in the order of the text
}

// node is *leaf, *allOf, *anyOf or *notOf. A notOf is only an operand of an allOf.
type node interface{ node() }

// leafKind is what a leaf looks for.
type leafKind uint8

const (
	wordLeaf leafKind = iota // words that stand beside each other; one, as a rule
	prefixLeaf
	fuzzyLeaf
	letterLeaf // an ideograph, or a letter of a script without spaces: texts are indexed in pairs of them
)

// leaf is a word, a phrase, a prefix, a fuzzy word or a letter of pairs.
type leaf struct {
	kind  leafKind
	text  string
	slop  int // words that may stand between those of a phrase
	edits int
	index int // in Query.leaves
	// spaceless: the letter is indexed in pairs in all languages.
	spaceless bool
}

// inPairs reports whether texts of a language have the leaf's letter in pairs.
func (l *leaf) inPairs(lang string) bool {
	return l.kind == letterLeaf && (l.spaceless || hasBigrams(lang))
}

// allOf needs every operand, and excludes the operand of a notOf. anyOf needs one or more.
type (
	allOf struct{ of []node }
	anyOf struct{ of []node }
	notOf struct{ of node }
)

func (*leaf) node()  {}
func (*allOf) node() {}
func (*anyOf) node() {}
func (*notOf) node() {}

// Parse parses a query:
//
//	query  = conj { "OR" conj }
//	conj   = unit { [ "AND" ] unit }
//	unit   = ( "NOT" | "-" ) unit | "(" query ")" | word | word "*" | word "~" [ edits ] | phrase [ "~" slop ]
//	phrase = '"' words '"'
//
// Words side by side must all occur. A backslash before a character takes its meaning away. The error
// wraps [ErrQuery], and has the place as a byte of the text.
func Parse(text string) (*Query, error) {
	p := &queryParser{text: text, analyzer: NewAnalyzer(), query: &Query{Text: text}}
	root, err := p.parse()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrQuery, err)
	}
	p.query.root = root
	return p.query, nil
}

type queryParser struct {
	text     string
	at       int
	depth    int
	expanded int
	analyzer *Analyzer
	query    *Query
}

func (p *queryParser) parse() (node, error) {
	switch {
	case len(p.text) > MaxQueryBytes:
		return nil, fmt.Errorf("it has %d bytes, and %d are allowed", len(p.text), MaxQueryBytes)
	case !utf8.ValidString(p.text):
		return nil, errors.New("it is not valid UTF-8")
	}
	root, err := p.disjunction()
	switch {
	case err != nil:
		return nil, err
	case p.at < len(p.text):
		return nil, p.wrong(p.at, "a parenthesis that nothing opens")
	}
	return root, nil
}

// wrong returns an error at a byte of the text.
func (p *queryParser) wrong(at int, format string, args ...any) error {
	return fmt.Errorf("%s at byte %d of the query", fmt.Sprintf(format, args...), at+1)
}

// disjunction parses conj { "OR" conj }.
func (p *queryParser) disjunction() (node, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > MaxDepth {
		return nil, p.wrong(p.at, "more than %d nested parentheses", MaxDepth)
	}
	// 1. The sides of OR. None may be negative only.
	var of []node
	for {
		begin := p.at
		n, err := p.conjunction()
		if err != nil {
			return nil, err
		}
		if _, negative := n.(*notOf); negative {
			if len(of) > 0 || p.peek("OR") {
				return nil, fmt.Errorf("%w; add a word that must occur there, as in a OR (b NOT c), or exclude from both sides, as in (a OR b) NOT c",
					p.wrong(begin, "nothing but excluded words on a side of OR"))
			}
			return nil, p.wrong(begin, "nothing but excluded words; add a word that must occur")
		}
		of = append(of, n)
		if !p.keyword("OR") {
			break
		}
	}
	// 2. One side is no disjunction.
	if len(of) == 1 {
		return of[0], nil
	}
	return &anyOf{of}, nil
}

// conjunction parses unit { [ "AND" ] unit }. The result is a notOf if it has no other operands.
func (p *queryParser) conjunction() (node, error) {
	// 1. Units, until an OR, a parenthesis or the end.
	var of []node
	positive := false
	for {
		n, err := p.unit()
		if err != nil {
			return nil, err
		}
		if _, negative := n.(*notOf); !negative {
			positive = true
		}
		of = append(of, n)
		if p.keyword("AND") {
			continue
		}
		p.space()
		if p.at == len(p.text) || p.text[p.at] == ')' || p.peek("OR") {
			break
		}
	}
	// 2. One of them must be positive.
	switch {
	case !positive:
		return of[0], nil // an error of the caller
	case len(of) == 1:
		return of[0], nil
	}
	return &allOf{of}, nil
}

func (p *queryParser) space() {
	for p.at < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.at:])
		if !unicode.IsSpace(r) {
			return
		}
		p.at += n
	}
}

// peek reports whether a keyword comes next.
func (p *queryParser) peek(word string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.text[p.at:], word)
	if !ok {
		return false
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || unicode.IsSpace(r) || r == '(' || r == ')' || r == '"'
}

// keyword reads a keyword, if it comes next.
func (p *queryParser) keyword(word string) bool {
	if !p.peek(word) {
		return false
	}
	p.at += len(word)
	return true
}

// unit parses an operand of a conjunction.
func (p *queryParser) unit() (node, error) {
	p.space()
	begin := p.at
	switch {
	case p.at == len(p.text):
		return nil, p.wrong(p.at, "a word is missing")
	case p.peek("AND"):
		return nil, p.wrong(p.at, `a word is missing before "AND" (write \AND for the word)`)
	case p.peek("OR"):
		return nil, p.wrong(p.at, `a word is missing before "OR" (write \OR for the word)`)
	case p.keyword("NOT"), p.sign('-'):
		// Two negations cancel each other.
		p.depth++
		defer func() { p.depth-- }()
		if p.depth > MaxDepth {
			return nil, p.wrong(p.at, "more than %d nested NOTs", MaxDepth)
		}
		n, err := p.unit()
		if err != nil {
			return nil, err
		}
		if inner, twice := n.(*notOf); twice {
			return inner.of, nil
		}
		return &notOf{n}, nil
	case p.sign('('):
		n, err := p.disjunction()
		if err == nil && !p.sign(')') {
			err = p.wrong(begin, "the parenthesis is not closed")
		}
		return n, err
	case p.text[p.at] == ')':
		return nil, p.wrong(p.at, "a word is missing before the parenthesis")
	case p.sign('"'):
		return p.phrase(begin)
	}
	return p.word(begin)
}

// sign reads one character, if it comes next.
func (p *queryParser) sign(c byte) bool {
	p.space()
	if p.at == len(p.text) || p.text[p.at] != c {
		return false
	}
	p.at++
	return true
}

// phrase parses the rest of a phrase.
func (p *queryParser) phrase(begin int) (node, error) {
	var text strings.Builder
	for ; ; p.at++ {
		if p.at == len(p.text) {
			return nil, p.wrong(begin, "the quote is not closed")
		}
		c := p.text[p.at]
		if c == '"' {
			p.at++
			break
		}
		if c == '\\' && p.at+1 < len(p.text) {
			p.at++
			c = p.text[p.at]
		}
		text.WriteByte(c)
	}
	slop, err := p.number(0, MaxSlop, "the words that may stand between those of a phrase")
	if err != nil {
		return nil, err
	}
	return p.leaf(begin, &leaf{kind: wordLeaf, text: text.String(), slop: slop})
}

// number parses "~" and a number, if they come next. A "~" alone stands for 1.
func (p *queryParser) number(missing, most int, what string) (int, error) {
	if p.at == len(p.text) || p.text[p.at] != '~' {
		return missing, nil
	}
	begin := p.at
	p.at++
	digits := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	if digits == p.at {
		return 1, nil
	}
	n, err := strconv.Atoi(p.text[digits:p.at])
	if err != nil || n > most {
		return 0, p.wrong(begin, "%q: the number of %s must be 0 to %d", p.text[begin:p.at], what, most)
	}
	return n, nil
}

// word parses a word, a prefix or a fuzzy word.
func (p *queryParser) word(begin int) (node, error) {
	// 1. Read to a space, a parenthesis, a quote, a star or a tilde.
	var text strings.Builder
	for p.at < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.at:])
		if unicode.IsSpace(r) || strings.ContainsRune(`()"*~`, r) {
			break
		}
		if r == '\\' && p.at+1 < len(p.text) {
			p.at++
			r, n = utf8.DecodeRuneInString(p.text[p.at:])
		}
		text.WriteRune(r)
		p.at += n
	}
	l := &leaf{kind: wordLeaf, text: text.String()}
	// 2. Read what makes it more than a word.
	switch {
	case p.at < len(p.text) && p.text[p.at] == '*':
		l.kind = prefixLeaf
		p.at++
		if l.text == "" {
			return nil, p.wrong(begin, "a * needs the beginning of a word before it, as in grap*")
		}
	case p.at < len(p.text) && p.text[p.at] == '~':
		edits, err := p.number(0, MaxEdits, "edits of a fuzzy word")
		if err != nil {
			return nil, err
		}
		if l.text == "" {
			return nil, p.wrong(begin, "a ~ needs a word or a phrase before it, as in graph~1")
		}
		if edits > 0 {
			l.kind, l.edits = fuzzyLeaf, edits
		}
	}
	if p.at < len(p.text) {
		if r, _ := utf8.DecodeRuneInString(p.text[p.at:]); !unicode.IsSpace(r) && r != '(' && r != ')' && r != '"' {
			return nil, p.wrong(p.at, "%q stands within a word; write \\%c for the character itself", r, r)
		}
	}
	return p.leaf(begin, l)
}

// leaf checks and adds a leaf.
func (p *queryParser) leaf(begin int, l *leaf) (node, error) {
	words := 0
	p.analyzer.Words("", []byte(l.text), func(Word) bool { words++; return words <= MaxPhrase })
	switch {
	case words == 0:
		return nil, p.wrong(begin, "%q has no letter or digit", l.text)
	case words > MaxPhrase:
		return nil, p.wrong(begin, "more than %d words in a phrase", MaxPhrase)
	case len(p.query.leaves) == MaxWords:
		return nil, fmt.Errorf("it has more than %d words; split it into several queries", MaxWords)
	}
	// A prefix, a fuzzy word or a letter of pairs stands for many words.
	if l.kind == wordLeaf && p.analyzer.inPairs("zh", l.text) {
		l.kind, l.spaceless = letterLeaf, p.analyzer.inPairs("", l.text)
	}
	if l.kind != wordLeaf {
		if words > 1 {
			return nil, p.wrong(begin, "%q is more than one word, so it cannot be a prefix or fuzzy", l.text)
		}
		if p.expanded++; p.expanded > MaxExpanded {
			return nil, fmt.Errorf("it has more than %d prefixes, fuzzy words and single ideographs; split it into several queries", MaxExpanded)
		}
	}
	if l.kind == fuzzyLeaf && utf8.RuneCountInString(p.analyzer.Normalize(l.text)) <= l.edits {
		return nil, p.wrong(begin, "%q is so short that %d edits make any word of it", l.text, l.edits)
	}
	l.index = len(p.query.leaves)
	p.query.leaves = append(p.query.leaves, l)
	return l, nil
}
