// The writer: expanded JSON-LD, sent while triples come.

package jsonld

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// maxKeys bounds the properties of one node object, because a name must not be in it twice, so the
// writer remembers them. Further properties of the node are in another object.
const maxKeys = 64

// Writer writes triples as one array of node objects in expanded form, without a context. Triples in a
// row that share their graph, subject and predicate share objects; others repeat them, which means
// the same. It holds one node object's names at most.
type Writer struct {
	w     *bufio.Writer
	b     []byte
	graph triple.Term // of the open graph object; zero if none is open
	begun bool        // the array has an item

	subject triple.Term // of the open node object; zero if none is open
	keys    []string    // of the open node object; the array of the last one is open
	nested  bool        // the open graph object has an item
}

// NewWriter returns a writer to w. Close must be called to end the document.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: bufio.NewWriterSize(w, 64<<10), b: []byte("[")}
}

// ErrTripleTerm means that JSON-LD 1.1 cannot express a triple, because its object is a triple term.
var ErrTripleTerm = errors.New("JSON-LD 1.1 has no triple terms; choose another syntax")

// Write writes one triple. Its terms must pass their Check. If the error is [ErrTripleTerm], the
// document is unchanged.
func (w *Writer) Write(t triple.Triple) error {
	if t.Object.Kind() == triple.TripleTerm {
		return fmt.Errorf("%.200s: %w", t, ErrTripleTerm)
	}
	key := t.Predicate.Value()
	if key == triple.RDFType && t.Object.Kind() != triple.Literal {
		key = "@type"
	}
	// 1. Close the objects that do not hold the triple.
	last := ""
	if n := len(w.keys); n > 0 {
		last = w.keys[n-1]
	}
	if t.Graph != w.graph {
		w.endGraph()
	} else if t.Subject != w.subject || key != last && (len(w.keys) == maxKeys || slices.Contains(w.keys, key)) {
		w.endNode()
	}
	// 2. Open those that do.
	if w.graph != t.Graph {
		w.item(&w.begun)
		w.graph, w.nested = t.Graph, false
		w.b = append(append(w.b, `{"@id":`...), idOf(t.Graph)...)
		w.b = append(w.b, `,"@graph":[`...)
	}
	if w.subject.IsZero() {
		if w.graph.IsZero() {
			w.item(&w.begun)
		} else {
			w.item(&w.nested)
		}
		w.subject = t.Subject
		w.b = append(append(w.b, `{"@id":`...), idOf(t.Subject)...)
	}
	// 3. Write the object, in the array of its predicate.
	if len(w.keys) > 0 && w.keys[len(w.keys)-1] == key {
		w.b = append(w.b, ',')
	} else {
		if len(w.keys) > 0 {
			w.b = append(w.b, ']')
		}
		w.keys = append(w.keys, key)
		w.b = append(triple.AppendJSONString(append(w.b, ','), key), ":["...)
	}
	w.value(t.Object, key == "@type")
	return w.pass()
}

// item begins an item of an array, on a line of its own.
func (w *Writer) item(another *bool) {
	if *another {
		w.b = append(w.b, ',')
	}
	*another = true
	w.b = append(w.b, '\n')
}

// value appends an object. A class is its ID only.
func (w *Writer) value(o triple.Term, class bool) {
	switch {
	case class:
		w.b = append(w.b, idOf(o)...)
		return
	case o.Kind() != triple.Literal:
		w.b = append(append(w.b, `{"@id":`...), idOf(o)...)
	default:
		w.b = triple.AppendJSONString(append(w.b, `{"@value":`...), o.Value())
		switch datatype := o.Datatype(); {
		case o.Lang() != "":
			w.b = triple.AppendJSONString(append(w.b, `,"@language":`...), o.Lang())
			if direction := o.Direction(); direction != "" {
				w.b = triple.AppendJSONString(append(w.b, `,"@direction":`...), direction)
			}
		case datatype != triple.XSDString:
			w.b = triple.AppendJSONString(append(w.b, `,"@type":`...), datatype)
		}
	}
	w.b = append(w.b, '}')
}

// idOf returns the JSON string of an IRI or a blank node.
func idOf(t triple.Term) []byte {
	if t.Kind() == triple.Blank {
		return triple.AppendJSONString(nil, "_:"+t.Value())
	}
	return triple.AppendJSONString(nil, t.Value())
}

func (w *Writer) endNode() {
	if w.subject.IsZero() {
		return
	}
	w.b = append(w.b, "]}"...)
	w.subject, w.keys = triple.Term{}, w.keys[:0]
}

func (w *Writer) endGraph() {
	w.endNode()
	if !w.graph.IsZero() {
		w.b = append(w.b, "]}"...)
		w.graph = triple.Term{}
	}
}

// pass passes on what is appended.
func (w *Writer) pass() error {
	_, err := w.w.Write(w.b)
	w.b = w.b[:0]
	return err
}

// Close ends the document and flushes it.
func (w *Writer) Close() error {
	w.endGraph()
	w.b = append(w.b, "\n]\n"...)
	if err := w.pass(); err != nil {
		return err
	}
	return w.w.Flush()
}
