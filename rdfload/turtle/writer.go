// The writer of Turtle and TriG.

package turtle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// ErrNamedGraph means that a triple is in a named graph, but the writer's syntax is Turtle.
var ErrNamedGraph = errors.New("the syntax has no named graphs; write N-Quads or TriG")

// WriterOptions are the options for writing a document. The zero value writes Turtle without
// prefixes.
type WriterOptions struct {
	TriG bool
	// Annotations begins the document with [triple.AnnotationsHeader], for [Writer.WriteAnnotated].
	// It requires TriG.
	Annotations bool
	// Prefixes maps prefixes, without ':', to absolute IRIs. Those that are used are declared: at the
	// document's start if its first 32 KiB use them, else before the first statement that does.
	Prefixes map[string]string
}

// Validate returns an error if an option is invalid. A prefix must consist of ASCII letters,
// digits, '_' and '-', and start with a letter, or be empty.
func (o WriterOptions) Validate() error {
	if o.Annotations && !o.TriG {
		return errors.New("annotations need TriG: Turtle has no graph for them")
	}
	for _, name := range slices.Sorted(maps.Keys(o.Prefixes)) {
		for i := range len(name) {
			if class := ascii[name[i]]; class&cName == 0 || i == 0 && class&cLetter == 0 {
				return fmt.Errorf("prefix %q: use ASCII letters, digits, '_' and '-', and a letter first", name)
			}
		}
		if err := triple.CheckIRI(o.Prefixes[name]); err != nil {
			return fmt.Errorf("prefix %q: %w", name, err)
		}
	}
	return nil
}

// Writer writes Turtle or TriG as a stream, in the given order. Consecutive triples are joined by
// ';' if their subjects are equal, and by ',' if their predicates are equal too. The writer
// remembers only the last triple. If [triple.Triple.Check] rejects a triple, the document is
// malformed. Only one goroutine may use a Writer.
type Writer struct {
	w       *bufio.Writer
	opts    WriterOptions
	names   map[string]*prefix // by namespace IRI
	lengths []int              // of the namespaces, longest first
	used    []*prefix          // by line, and not declared yet

	// start is the beginning of the document until its prefixes are known; nil later. first are the
	// prefixes that it uses.
	start []byte
	first []*prefix

	last    triple.Triple
	open    bool // a statement has not ended
	inGraph bool // a block has not ended
	line    []byte
	err     error
}

// maxStart is the length of the beginning that is held back. The io.Writer gets blocks of more bytes.
const maxStart = 32 << 10

// prefix is a prefix of a document.
type prefix struct {
	name, iri string // the name has its ':'
	declared  bool
}

// NewWriter returns a writer to w. The caller must Close it; if w fails, the next Write or Close returns
// its error.
func NewWriter(w io.Writer, opts WriterOptions) (*Writer, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	t := &Writer{w: bufio.NewWriterSize(w, 64<<10), opts: opts, names: make(map[string]*prefix), start: []byte{}}
	if opts.Annotations {
		if _, err := t.w.WriteString(triple.AnnotationsHeader + "\n"); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(opts.Prefixes)) {
		namespace := opts.Prefixes[name]
		if t.names[namespace] == nil {
			t.names[namespace] = &prefix{name: name + ":", iri: namespace}
			t.lengths = append(t.lengths, len(namespace))
		}
	}
	slices.Sort(t.lengths)
	t.lengths = slices.Compact(t.lengths)
	slices.Reverse(t.lengths)
	return t, nil
}

// Write writes one triple. A triple of a named graph needs TriG, else the error is ErrNamedGraph.
func (t *Writer) Write(tr triple.Triple) error {
	if t.err != nil {
		return t.err
	}
	if !t.opts.TriG && !tr.Graph.IsZero() {
		return ErrNamedGraph
	}
	last, open, inGraph := t.last, t.open, t.inGraph
	t.compose(tr)
	if t.mustDeclare() {
		t.line, t.last, t.open, t.inGraph = t.line[:0], last, open, inGraph
		t.declare()
		t.compose(tr)
	}
	return t.flushLine()
}

// mustDeclare reports whether line uses prefixes that must be declared before it. It notes those of the
// document's start, whose declarations are written later.
func (t *Writer) mustDeclare() bool {
	if t.start == nil {
		return len(t.used) > 0
	}
	for _, p := range t.used {
		if !p.declared { // line may use it twice
			p.declared = true
			t.first = append(t.first, p)
		}
	}
	t.used = t.used[:0]
	return false
}

// declare ends the statement and its graph, because a prefix is declared outside of them, and declares
// the used prefixes.
func (t *Writer) declare() {
	t.endGraph()
	t.last = triple.Triple{}
	t.line = appendPrefixes(t.line, t.used)
	t.used = t.used[:0]
}

// appendPrefixes appends declarations, sorted by name.
func appendPrefixes(dst []byte, all []*prefix) []byte {
	slices.SortFunc(all, func(a, b *prefix) int { return strings.Compare(a.name, b.name) })
	for _, p := range slices.Compact(all) {
		dst = append(dst, "@prefix "+p.name+" <"+p.iri+"> .\n"...)
		p.declared = true
	}
	return dst
}

// compose appends a triple to line.
func (t *Writer) compose(tr triple.Triple) {
	// 1. Change the graph: its block must be closed before another opens.
	if tr.Graph != t.last.Graph {
		t.endGraph()
		if !tr.Graph.IsZero() {
			t.line = append(t.appendTerm(t.line, tr.Graph), " {\n"...)
			t.inGraph = true
		}
	}
	// 2. Join the triple to the open statement if it shares its subject.
	switch {
	case t.open && tr.Subject == t.last.Subject && tr.Predicate == t.last.Predicate:
		t.line = append(t.line, " , "...)
	case t.open && tr.Subject == t.last.Subject:
		t.line = append(t.line, " ;\n    "...)
		t.line = append(t.appendVerb(t.line, tr.Predicate), ' ')
	default:
		t.endStatement()
		t.line = append(t.appendTerm(t.line, tr.Subject), ' ')
		t.line = append(t.appendVerb(t.line, tr.Predicate), ' ')
	}
	// 3. Write the object. The statement stays open, because the next triple may continue it.
	t.line = t.appendTerm(t.line, tr.Object)
	t.last, t.open = tr, true
}

// Close ends the document and flushes it. It does not close the io.Writer.
func (t *Writer) Close() error {
	if t.err != nil {
		return t.err
	}
	t.endGraph()
	err := t.flushLine()
	if err == nil {
		err = t.release()
	}
	if err != nil {
		return err
	}
	t.err = errors.New("write to a closed turtle writer")
	return t.w.Flush()
}

func (t *Writer) endStatement() {
	if t.open {
		t.line = append(t.line, " .\n"...)
		t.open = false
	}
}

func (t *Writer) endGraph() {
	t.endStatement()
	if t.inGraph {
		t.line = append(t.line, "}\n"...)
		t.inGraph = false
	}
}

// flushLine moves line to the start or to the buffered writer.
func (t *Writer) flushLine() error {
	if t.start != nil {
		t.start, t.line = append(t.start, t.line...), t.line[:0]
		if len(t.start) < maxStart {
			return nil
		}
		return t.release()
	}
	if _, err := t.w.Write(t.line); err != nil {
		t.err = fmt.Errorf("write: %w", err)
		return t.err
	}
	t.line = t.line[:0]
	return nil
}

// release writes the start of the document, if it is held back.
func (t *Writer) release() error {
	if t.start == nil {
		return nil
	}
	head, start := appendPrefixes(nil, t.first), t.start
	t.start, t.first = nil, nil
	t.line = append(append(t.line, head...), start...)
	return t.flushLine()
}

func (t *Writer) appendVerb(dst []byte, term triple.Term) []byte {
	if term == termType {
		return append(dst, 'a')
	}
	return t.appendTerm(dst, term)
}

// appendTerm appends the term in its shortest unambiguous form.
func (t *Writer) appendTerm(dst []byte, term triple.Term) []byte {
	switch term.Kind() {
	case triple.IRI:
		return t.appendIRI(dst, term.Value())
	case triple.Literal:
		if hasShortForm(term.Value(), term.Datatype()) {
			return append(dst, term.Value()...)
		}
		if term.Lang() == "" && term.Datatype() != triple.XSDString {
			dst = triple.AppendNT(dst, triple.NewString(term.Value()))
			return t.appendIRI(append(dst, "^^"...), term.Datatype())
		}
	case triple.TripleTerm:
		return t.appendTripleTerm(dst, term)
	}
	return triple.AppendNT(dst, term)
}

// appendTripleTerm appends <<( s p o )>>. It does not recurse, because triple terms may be nested to
// any depth.
func (t *Writer) appendTripleTerm(dst []byte, term triple.Term) []byte {
	for depth := 1; ; depth++ {
		inner, ok := term.Triple()
		if !ok {
			return triple.AppendNT(dst, term)
		}
		dst = t.appendTerm(append(dst, "<<( "...), inner.Subject)
		dst = append(t.appendVerb(append(dst, ' '), inner.Predicate), ' ')
		if term = inner.Object; term.Kind() != triple.TripleTerm {
			dst = t.appendTerm(dst, term)
			return append(dst, strings.Repeat(" )>>", depth)...)
		}
	}
}

// appendIRI appends a prefixed name if a namespace fits and the rest is a local name of ASCII
// letters, digits, '_' and '-'. It prefers the longest such namespace. Otherwise it appends the
// IRI.
func (t *Writer) appendIRI(dst []byte, iri string) []byte {
	for _, n := range t.lengths {
		if n > len(iri) {
			continue
		}
		if p := t.names[iri[:n]]; p != nil && isSimpleLocal(iri[n:]) {
			if !p.declared {
				t.used = append(t.used, p)
			}
			return append(append(dst, p.name...), iri[n:]...)
		}
	}
	return append(append(append(dst, '<'), iri...), '>')
}

func isSimpleLocal(local string) bool {
	for i := range len(local) {
		if ascii[local[i]]&cName == 0 || i == 0 && local[i] == '-' {
			return false
		}
	}
	return true
}

// hasShortForm reports whether a literal of the datatype is written without quotes.
func hasShortForm(lexical, datatype string) bool {
	switch datatype {
	case triple.XSDBoolean:
		return lexical == "true" || lexical == "false"
	case triple.XSDInteger, triple.XSDDecimal, triple.XSDDouble:
		return numberType(lexical) == datatype
	}
	return false
}

// numberType returns the datatype of a number in Turtle, or "" if s is not a number.
func numberType(s string) string {
	// 1. Sign and digits before the point.
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	whole := countDigits(s)
	s = s[whole:]
	if s == "" && whole > 0 {
		return triple.XSDInteger
	}
	fraction := 0
	if s != "" && s[0] == '.' {
		fraction = countDigits(s[1:])
		s = s[1+fraction:]
	}
	// 2. The form determines the datatype. A point without digits after it makes no decimal.
	switch {
	case s == "" && fraction > 0:
		return triple.XSDDecimal
	case s == "" || whole+fraction == 0 || s[0] != 'e' && s[0] != 'E':
		return ""
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	if n := countDigits(s); n > 0 && n == len(s) {
		return triple.XSDDouble
	}
	return ""
}

func countDigits(s string) int {
	n := 0
	for n < len(s) && ascii[s[n]]&cDigit != 0 {
		n++
	}
	return n
}
