// Workers: they turn statements into quads of term numbers.

package rdfload

import (
	"fmt"
	"hash/maphash"

	"github.com/trefoildb/trefoil/rdfload/syntax/blank"
	"github.com/trefoildb/trefoil/triple"
)

func newSeed() maphash.Seed { return maphash.MakeSeed() }

// worker turns statements into quads of term ids, with its own dictionary. Only one goroutine may
// use it.
type worker struct {
	dictionary  *dictionary
	quads       *quadWriter
	annotations *annotationBuffer
	graph       triple.Term // for statements without a graph; zero: the default graph
	keepGoing   bool
	predicate   string                           // of links
	permits     func(applicationID string) error // see Options.CheckAnnotation; may be nil
	// permitsGraph is Options.CheckGraph; it may be nil.
	permitsGraph func(graph triple.Term) error

	scratch []byte // of decoded tokens
	encoded []byte
	label   []byte

	// Valid for the current unit only, because the next one may be of another document or run:
	subject      []byte // the last subject's token
	subjectID    uint32
	subjectKnown bool
	graphID      uint32 // of graph
	graphKnown   bool
	permitted    uint32 // the last graph that permitsGraph has accepted, if anyPermitted is set
	anyPermitted bool
}

// bigBytes is the size from which buffers and units are big. Not every worker may have a big one at
// the same time.
const bigBytes = 4 << 20

// tally counts the statements of a unit.
type tally struct {
	read     int64
	rejected int64
}

// begin drops the state of the previous unit.
func (w *worker) begin() { w.subjectKnown, w.graphKnown, w.anyPermitted = false, false, false }

// block adds the statements of a block of N-Triples or N-Quads. prefix is put before the labels of
// its blank nodes, unless it is "". A malformed statement goes to reject; without keepGoing it ends
// the block.
func (w *worker) block(b *triple.Block, source int, prefix string, reject func(Reject)) (tally, error) {
	w.begin()
	var st triple.RawStatement
	var n tally
	for {
		// 1. Read and check the whole statement first: nothing may be added if a part is malformed.
		ok, syntax := b.Next(&st)
		if syntax == nil {
			if !ok {
				return n, nil
			}
			var q quad
			var annotations []triple.ApplicationData
			var err error
			if q, syntax, err = w.statement(b, &st, prefix); err != nil {
				return n, err
			}
			if syntax == nil {
				annotations, syntax = b.Annotations(&st)
			}
			// 2. Add the quad and its annotations.
			if syntax == nil {
				if err := w.quads.add(q); err != nil {
					return n, err
				}
				if err := w.annotate(q, source, b.StatementOffset(), annotations, st.Len()); err != nil {
					return n, err
				}
				n.read++
				continue
			}
		}
		// 3. Reject the statement, or end the load with it.
		if !w.keepGoing {
			return n, syntax
		}
		n.rejected++
		reject(Reject{SyntaxError: syntax, Text: string(b.Rejected())})
	}
}

// annotate adds the annotations of a quad. The offset orders them within their source; keyBytes is
// the estimated length of the quad's key.
func (w *worker) annotate(q quad, source int, offset int64, annotations []triple.ApplicationData, keyBytes int) error {
	for i := range annotations {
		if w.permits != nil {
			if err := w.permits(annotations[i].ApplicationID); err != nil {
				return err
			}
		}
		w.annotations.add(q, source, offset, &annotations[i], keyBytes)
	}
	return nil
}

// statement returns the quad of a statement's tokens.
func (w *worker) statement(b *triple.Block, st *triple.RawStatement, prefix string) (q quad, _ *triple.SyntaxError, err error) {
	// A big scratch buffer must not stay for the rest of the load.
	if w.scratch = w.scratch[:0]; cap(w.scratch) > bigBytes {
		w.scratch = nil
	}
	for position, token := range st.Tokens {
		if token == nil { // no graph
			q, err = w.inGraph(q)
			return q, nil, err
		}
		// Statements of one subject often follow each other, so the last subject is not looked up
		// again.
		if position == triple.Subject && w.subjectKnown && string(w.subject) == string(token) {
			q[triple.Subject] = w.subjectID
			continue
		}
		id, syntax, err := w.token(b, st, position, prefix)
		if syntax != nil || err != nil {
			return q, syntax, err
		}
		switch position {
		case triple.Subject:
			w.subject, w.subjectID, w.subjectKnown = append(w.subject[:0], token...), id, true
			q[position] = id
		case triple.Graph:
			if !w.isPermitted(id) {
				// The token is well-formed, because it has an id.
				var t triple.Term
				if t, w.scratch, syntax = b.Decode(st, position, w.scratch); syntax != nil {
					return q, syntax, nil
				}
				if err := w.permit(t, id); err != nil {
					return q, nil, err
				}
			}
			q = withGraph(q, id)
		default:
			q[position] = id
		}
	}
	return q, nil, nil
}

func withGraph(q quad, id uint32) quad {
	q[triple.Graph] = id + 1
	return q
}

// isPermitted reports whether quads may be in a graph without a call of permit. Neighbours are often of
// one graph, so the last one is remembered.
func (w *worker) isPermitted(id uint32) bool {
	return w.permitsGraph == nil || w.anyPermitted && w.permitted == id
}

// permit returns an error if quads may not be in a graph.
func (w *worker) permit(graph triple.Term, id uint32) error {
	if w.isPermitted(id) {
		return nil
	}
	w.permitted, w.anyPermitted = id, true
	return w.permitsGraph(graph)
}

// inGraph sets the graph of a quad to the load's, because its statement names none.
func (w *worker) inGraph(q quad) (quad, error) {
	if w.graph.IsZero() {
		return q, nil
	}
	if !w.graphKnown {
		id, err := w.term(w.graph)
		if err != nil {
			return q, err
		}
		if err := w.permit(w.graph, id); err != nil {
			return q, err
		}
		w.graphID, w.graphKnown = id, true
	}
	return withGraph(q, w.graphID), nil
}

// token returns the id of the term of one token. If the dictionary has the token, it is
// well-formed; only new tokens are checked and decoded.
func (w *worker) token(b *triple.Block, st *triple.RawStatement, position int, prefix string) (uint32, *triple.SyntaxError, error) {
	token := st.Tokens[position]
	// 1. A blank node's label gets the prefix of its input, because labels of different inputs must
	// differ.
	if label, ok := triple.RawBlank(token); ok && len(label) <= triple.MaxTermBytes {
		w.label = w.label[:0]
		if prefix != "" {
			w.label = append(append(w.label, prefix...), '-')
		}
		w.label = append(w.label, label...)
		hash := w.dictionary.hash(triple.BlankTag, w.label)
		if id, ok := w.dictionary.find(hash, triple.BlankTag, w.label); ok {
			return id, nil, nil
		}
		id, err := w.term(triple.NewBlank(string(w.label)))
		return id, nil, err
	}
	// 2. Look up the token in its key form, without decoding it.
	if tag, body, ok := triple.RawTerm(token); ok {
		hash := w.dictionary.hash(tag, body)
		if id, ok := w.dictionary.find(hash, tag, body); ok {
			return id, nil, nil
		}
	}
	// 3. A new or escaped token must be checked and decoded.
	var t triple.Term
	var syntax *triple.SyntaxError
	if t, w.scratch, syntax = b.Decode(st, position, w.scratch); syntax != nil {
		return 0, syntax, nil
	}
	// 4. The labels inside of a triple term get the prefix, too.
	if t.Kind() == triple.TripleTerm && prefix != "" {
		nodes := blank.Nodes{Prefix: prefix}
		var err error
		if t, err = nodes.ReplaceLabels(t); err != nil {
			return 0, nil, err
		}
	}
	id, err := w.term(t)
	return id, nil, err
}

// term returns the id of a term. The term must be well-formed.
func (w *worker) term(t triple.Term) (uint32, error) {
	if cap(w.encoded) > bigBytes {
		w.encoded = nil // because only few terms have megabytes
	}
	var long bool
	w.encoded, long = triple.AppendTerm(w.encoded[:0], t)
	tag, body := w.encoded[0], w.encoded[1:]
	hash := w.dictionary.hash(tag, body)
	if id, ok := w.dictionary.find(hash, tag, body); ok {
		return id, nil
	}
	var whole []byte
	if long {
		// If terms are well-formed, only the prefix of blank nodes' labels can make one too long.
		if len(t.Value()) > triple.MaxTermBytes {
			return 0, fmt.Errorf("with the new labels of its blank nodes a %v: %w", t.Kind(), triple.ErrTermTooLong)
		}
		whole = triple.AppendWholeTerm(nil, t)
	}
	return w.dictionary.add(hash, w.encoded, whole)
}

// triples adds the triples and annotations of a unit. Their blank nodes must have their stored labels
// already.
func (w *worker) triples(u *unit) (tally, error) {
	w.begin()
	var n tally
	annotations := u.annotations
	// 1. Each term is looked up by itself, because a parsed triple has no tokens to compare.
	for i := range u.triples {
		t := &u.triples[i]
		var q quad
		var err error
		if q[triple.Subject], err = w.term(t.Subject); err != nil {
			return n, err
		}
		if q[triple.Predicate], err = w.term(t.Predicate); err != nil {
			return n, err
		}
		if q[triple.Object], err = w.term(t.Object); err != nil {
			return n, err
		}
		// 2. A statement without a graph goes to the load's graph.
		if t.Graph.IsZero() {
			q, err = w.inGraph(q)
		} else {
			var id uint32
			if id, err = w.term(t.Graph); err == nil {
				err = w.permit(t.Graph, id)
			}
			q = withGraph(q, id)
		}
		if err != nil {
			return n, err
		}
		if err := w.quads.add(q); err != nil {
			return n, err
		}
		// 3. The number of the unit and of the triple stand for an offset.
		if len(annotations) > 0 && annotations[0].triple == i {
			if err := w.annotate(q, u.source, u.number<<32|int64(i), annotations[0].all, sizeOf(t)); err != nil {
				return n, err
			}
			annotations = annotations[1:]
		}
		n.read++
	}
	return n, nil
}
