// Annotations in TriG: statements of a graph of their own.

package turtle

import (
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

var annotationsGraph = triple.NewIRI(triple.AnnotationsGraph)

// ErrAnnotationsGraph means that a triple is in the graph [triple.AnnotationsGraph], which a document
// with annotations has for these.
var ErrAnnotationsGraph = errors.New("TriG with annotations has the graph <" + triple.AnnotationsGraph + "> for these; write N-Quads")

// joiner yields a triple and the annotations behind it together, because a writer writes them so. It
// must be flushed at the end.
type joiner struct {
	annotated func([]triple.ApplicationData)
	yield     func(triple.Triple, error) bool

	last    triple.Triple // zero if none waits
	of      []triple.ApplicationData
	size    int
	stopped bool
}

// joinedBytes is the size from which further annotations of a triple are yielded with another copy
// of it.
const joinedBytes = 4 << 20

// add yields a triple, or returns an error, after the triple before it.
func (j *joiner) add(t triple.Triple, err error) bool {
	if !j.flush() {
		return false
	}
	if err == nil {
		j.last = t
		return true
	}
	j.stopped = !j.yield(t, err)
	return !j.stopped
}

// annotate adds an annotation of a triple.
func (j *joiner) annotate(t triple.Triple, a triple.ApplicationData) bool {
	known := slices.ContainsFunc(j.of, func(b triple.ApplicationData) bool { return b.ApplicationID == a.ApplicationID })
	if (t != j.last || known || j.size > joinedBytes) && !j.add(t, nil) {
		return false
	}
	j.of = append(j.of, a)
	j.size += len(a.Data)
	return true
}

// flush yields the triple that waits. It returns false if the receiver has stopped.
func (j *joiner) flush() bool {
	if j.stopped || j.last.Subject.IsZero() {
		return !j.stopped
	}
	t, of := j.last, j.of
	j.last, j.of, j.size = triple.Triple{}, nil, 0
	if of != nil && j.annotated != nil {
		j.annotated(of)
	}
	j.stopped = !j.yield(t, nil)
	return !j.stopped
}

// inAnnotations reports whether the current block is the graph of annotations.
func (p *parser) inAnnotations() bool { return p.joiner != nil && p.graph == annotationsGraph }

// releaseAnnotation yields the annotation of the held triples, which are one statement. An error is
// placed at the statement's begin, and rejects it alone.
func (p *parser) releaseAnnotation() error {
	if len(p.held) == 0 {
		return nil
	}
	t, a, err := triple.ParseAnnotationTriples(p.held)
	p.drop()
	if err != nil {
		at := p.begin
		syntax := &triple.SyntaxError{Source: p.opts.Source, Line: at.line, Column: at.column + 1, Offset: at.offset, Msg: fmt.Sprint("annotation: ", err)}
		if !p.opts.KeepGoing {
			return syntax
		}
		if !p.yield(triple.Triple{}, &Reject{SyntaxError: syntax, Text: p.takeText()}) {
			return errStopped
		}
		return nil
	}
	if !p.joiner.annotate(t, a) {
		return errStopped
	}
	return nil
}

// WriteAnnotated writes a triple and its annotations. The writer must have [WriterOptions].Annotations.
func (t *Writer) WriteAnnotated(tr triple.Triple, annotations []triple.ApplicationData) error {
	if t.opts.Annotations && tr.Graph == annotationsGraph {
		return ErrAnnotationsGraph
	}
	if err := t.Write(tr); err != nil || len(annotations) == 0 {
		return err
	}
	if !t.opts.Annotations {
		return errors.New("turtle: the writer is not for annotations")
	}
	// Each annotation is a statement about a node without a label, in one block. The block is begun
	// again behind the declarations of prefixes.
	t.endGraph()
	if err := t.flushLine(); err != nil {
		return err
	}
	for i := range annotations {
		t.composeAnnotation(tr, &annotations[i])
		if t.mustDeclare() {
			t.line, t.inGraph = t.line[:0], i > 0
			t.declare()
			t.composeAnnotation(tr, &annotations[i])
		}
		if err := t.flushLine(); err != nil {
			return err
		}
	}
	t.last = triple.Triple{Graph: annotationsGraph}
	return nil
}

// composeAnnotation appends the statement of an annotation to line, and begins the block if none is open.
func (t *Writer) composeAnnotation(tr triple.Triple, a *triple.ApplicationData) {
	if !t.inGraph {
		t.line = append(t.appendTerm(t.line, annotationsGraph), " {\n"...)
		t.inGraph = true
	}
	t.line = append(t.line, "[]"...)
	for j, about := range triple.AppendAnnotationTriples(nil, triple.Term{}, tr, a, true) {
		if j > 0 {
			t.line = append(t.line, " ;"...)
		}
		t.line = append(t.appendTerm(append(t.line, ' '), about.Predicate), ' ')
		t.line = t.appendTerm(t.line, about.Object)
	}
	t.line = append(t.line, " .\n"...)
}
