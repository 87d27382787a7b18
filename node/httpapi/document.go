// A document that is held in memory, so that it is added or deleted as a whole or
// not at all.

package httpapi

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"strings"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// tripleBytes is what a triple takes without its strings: four terms of a kind
	// and three strings.
	tripleBytes = 4 * (8 + 3*16)
	// unfold is how many times its greatest size a document may take in memory.
	unfold = 4
	// treeWeight is what a byte takes of a document whose parser builds a tree.
	treeWeight = 8
)

// readDocument reads the triples of a request's document. Where keepLabels is
// set, blank nodes have the labels that are written, otherwise fresh ones;
// anonymous nodes are always fresh. The triples are counted in the account. Their
// annotations are appended to notes; nil refuses a document that has any.
func (a *API) readDocument(r *request, account *account, keepLabels bool, notes *[]node.Annotated) (_ []triple.Triple, err error) {
	s, err := syntaxOf(r)
	if err != nil {
		return nil, err
	}
	graph, err := r.params.iri("graph")
	if err != nil {
		return nil, err
	}
	if r.params.has("base") {
		if _, err := r.params.iri("base"); err != nil {
			return nil, err
		}
	}
	in, err := openBody(r, a.options.MaxBodyBytes)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if s == syntax.RDFXML || s == syntax.JSONLD {
		in.account, in.weight = account, treeWeight
	}
	most := min(unfold*a.options.MaxBodyBytes, a.options.MemoryBytes)
	prefix := freshPrefix()
	options := syntax.Options{Source: bodyName, Base: strings.Trim(r.params["base"], "<>"), BlankPrefix: prefix, MaxDocument: a.options.MaxBodyBytes}
	var annotations []triple.ApplicationData
	options.Annotated = func(all []triple.ApplicationData) { annotations = all }
	var triples []triple.Triple
	for t, err := range syntax.Parse(r.Context(), in, s, options) {
		if err == nil {
			err = account.grow(sizeOf(&t) + sizeOfAnnotations(annotations))
		}
		if err == nil && annotations != nil && notes == nil {
			err = errorf(KindBadRequest, bodyName, "annotations are not taken here: send the document to /triples or /load, or leave them out")
		}
		if err == nil && account.used > most {
			err = errorf(KindTooLarge, "", "the document unfolds to more than %d bytes in memory; %s", most, whatTakesMore)
		}
		if err != nil {
			return nil, documentError(err, in)
		}
		if t.Graph.IsZero() {
			t.Graph = graph
		}
		if keepLabels {
			restoreLabels(&t, prefix)
		}
		triples = append(triples, t)
		if annotations != nil {
			*notes = append(*notes, node.Annotated{Triple: t, Annotations: annotations})
			annotations = nil
		}
	}
	return triples, in.failed()
}

// documentError returns the error of a document's parser as clients get it. What
// reading met is behind it where there is something.
func documentError(err error, in *body) error {
	if failed := in.failed(); failed != nil {
		return failed
	}
	var syntaxError *triple.SyntaxError
	var e *Error
	if errors.As(err, &syntaxError) || errors.As(err, &e) {
		return err
	}
	return &Error{Kind: KindBadRequest, Where: bodyName, Message: err.Error(), cause: err}
}

func sizeOf(t *triple.Triple) int64 {
	n := tripleBytes
	for _, term := range [...]*triple.Term{&t.Subject, &t.Predicate, &t.Object, &t.Graph} {
		n += len(term.Value()) + len(term.Lang()) + len(term.Datatype())
	}
	return int64(n)
}

func sizeOfAnnotations(all []triple.ApplicationData) (n int64) {
	for _, a := range all {
		n += int64(tripleBytes + len(a.ApplicationID) + len(a.Data))
	}
	return n
}

// freshPrefix returns a prefix of blank node labels (see package blank) that no
// other document has: 80 random bits.
func freshPrefix() string {
	var random [10]byte
	_, _ = rand.Read(random[:]) // never fails
	return "r" + strings.ToLower(base32.StdEncoding.EncodeToString(random[:]))
}

// restoreLabels gives the labelled blank nodes of t the labels that are written.
func restoreLabels(t *triple.Triple, prefix string) {
	for _, term := range [...]*triple.Term{&t.Subject, &t.Object, &t.Graph} {
		if term.Kind() != triple.Blank {
			continue
		}
		if label, ok := strings.CutPrefix(term.Value(), prefix+"-"); ok {
			*term = triple.NewBlank(label)
		}
	}
}
