// A document that is held in memory, so that it is added or deleted as a whole or
// not at all.

package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// tripleBytes is what a triple takes without its strings: four terms of a kind
	// and three strings.
	tripleBytes = 4 * (8 + 3*16)
	// stringBytes is what a string takes besides its bytes, as the allocator rounds.
	stringBytes = 16
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
	endTurn, err := a.beginBody(r)
	if err != nil {
		return nil, err
	}
	defer endTurn()
	in, err := openBody(r, a.options.MaxBodyBytes)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if s == syntax.RDFXML || s == syntax.JSONLD {
		in.account, in.weight = account, treeWeight
	}
	account.most = min(unfold*a.options.MaxBodyBytes, a.options.MemoryBytes*2/3) // what one client may have
	prefix := freshPrefix(r.Header.Get(keyHeader), r.part)
	options := syntax.Options{Source: bodyName, Base: strings.Trim(r.params["base"], "<>"), BlankPrefix: prefix, MaxDocument: a.options.MaxBodyBytes}
	var annotations []triple.ApplicationData
	options.Annotated = func(all []triple.ApplicationData) { annotations = all }
	triples := growing{account: account}
	for t, err := range syntax.Parse(r.Context(), in, s, options) {
		if err == nil {
			err = account.grow(stringsOf(&t) + sizeOfAnnotations(annotations))
		}
		if err == nil && annotations != nil && notes == nil {
			err = errorf(KindBadRequest, bodyName, "annotations are not taken here: send the document to /triples or /load, or leave them out")
		}
		if err == nil {
			err = triples.room()
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
		triples.list = append(triples.list, t)
		if annotations != nil {
			*notes = append(*notes, node.Annotated{Triple: t, Annotations: annotations})
			annotations = nil
		}
	}
	return triples.list, in.failed()
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

// growing is a list of triples whose account pays for its capacity, and while it
// grows for the one before as well.
type growing struct {
	list    []triple.Triple
	account *account
}

// room makes room for one triple more.
func (g *growing) room() error {
	before := cap(g.list)
	if len(g.list) < before {
		return nil
	}
	after := max(before+before/4, 64)
	if err := g.account.grow(int64(after) * tripleBytes); err != nil {
		return err
	}
	list := make([]triple.Triple, len(g.list), after)
	copy(list, g.list)
	g.list = list
	g.account.shrink(int64(before) * tripleBytes)
	return nil
}

// sizeOf returns what a triple takes in a list, which may have room for a quarter more.
func sizeOf(t *triple.Triple) int64 { return tripleBytes*5/4 + stringsOf(t) }

// stringsOf returns what the strings of a triple take.
func stringsOf(t *triple.Triple) int64 {
	n := 0
	for _, term := range [...]*triple.Term{&t.Subject, &t.Predicate, &t.Object, &t.Graph} {
		for _, text := range [...]string{term.Value(), term.Lang(), term.Datatype()} {
			if text != "" {
				n += len(text) + stringBytes
			}
		}
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
// other document has: 80 random bits, or of a hash of the request's idempotency key and the
// number of the document's part, so that the request means the same triples when it is sent
// again.
func freshPrefix(key string, part int) string {
	var random [10]byte
	if key != "" {
		name := "blank nodes of " + key
		if part > 0 {
			name = fmt.Sprintf("%s\n%d", name, part) // a header has no line break
		}
		sum := sha256.Sum256([]byte(name))
		copy(random[:], sum[:])
	} else {
		_, _ = rand.Read(random[:]) // never fails
	}
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
