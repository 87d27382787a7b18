// The writer of Turtle and TriG.

package turtle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

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
	// Prefixes maps prefixes, without ':', to absolute IRIs. All are declared at the document's
	// start, even if they are unused.
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
	names   map[string]string // namespace IRI -> prefix with ':'
	lengths []int             // of the namespaces, longest first

	last    triple.Triple
	open    bool // a statement has not ended
	inGraph bool // a block has not ended
	line    []byte
	err     error
}

// NewWriter returns a writer to w and writes the prefixes. The caller must Close it; if w fails,
// the next Write or Close returns its error.
func NewWriter(w io.Writer, opts WriterOptions) (*Writer, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	t := &Writer{w: bufio.NewWriterSize(w, 64<<10), opts: opts, names: make(map[string]string)}
	if opts.Annotations {
		t.line = append(t.line, triple.AnnotationsHeader+"\n"...)
	}
	for _, name := range slices.Sorted(maps.Keys(opts.Prefixes)) {
		namespace := opts.Prefixes[name]
		t.line = append(t.line, "@prefix "+name+": <"+namespace+"> .\n"...)
		if _, ok := t.names[namespace]; !ok {
			t.names[namespace] = name + ":"
			t.lengths = append(t.lengths, len(namespace))
		}
	}
	slices.Sort(t.lengths)
	t.lengths = slices.Compact(t.lengths)
	slices.Reverse(t.lengths)
	return t, t.flushLine()
}

// Write writes one triple. A triple of a named graph needs TriG, else the error is ErrNamedGraph.
func (t *Writer) Write(tr triple.Triple) error {
	if t.err != nil {
		return t.err
	}
	if !t.opts.TriG && !tr.Graph.IsZero() {
		return ErrNamedGraph
	}
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
	return t.flushLine()
}

// Close ends the document and flushes it. It does not close the io.Writer.
func (t *Writer) Close() error {
	if t.err != nil {
		return t.err
	}
	t.endGraph()
	if err := t.flushLine(); err != nil {
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

// flushLine moves line to the buffered writer.
func (t *Writer) flushLine() error {
	if _, err := t.w.Write(t.line); err != nil {
		t.err = fmt.Errorf("write: %w", err)
		return t.err
	}
	t.line = t.line[:0]
	return nil
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
	}
	return triple.AppendNT(dst, term)
}

// appendIRI appends a prefixed name if a namespace fits and the rest is a local name of ASCII
// letters, digits, '_' and '-'. It prefers the longest such namespace. Otherwise it appends the
// IRI.
func (t *Writer) appendIRI(dst []byte, iri string) []byte {
	for _, n := range t.lengths {
		if n > len(iri) {
			continue
		}
		if name, ok := t.names[iri[:n]]; ok && isSimpleLocal(iri[n:]) {
			return append(append(dst, name...), iri[n:]...)
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
