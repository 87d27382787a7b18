// Documents held in memory, because each must be added or deleted as a whole or not at all.

package request

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/rdfload/jsonld"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// tripleBytes is the size of a triple without its strings: four terms of a kind and three
	// strings.
	tripleBytes = 4 * (8 + 3*16)
	// stringBytes is the overhead of a string, because the allocator rounds.
	stringBytes = 16
	// unfold bounds the memory of a document, in multiples of its greatest size.
	unfold = 4
	// treeWeight is the memory for each byte of a document if its parser builds a tree.
	treeWeight = 8
)

// Documents reads documents of requests.
type Documents struct {
	MaxBytes int64 // of one, decompressed
	Memory   *limits.Budget
	Turns    *turns.Turns // nil without an engine
	Contexts syntax.Contexts
}

// Read reads the triples of a request's document. If keepLabels is set, blank nodes keep their
// written labels; otherwise they get fresh ones. Anonymous nodes always get fresh ones. The account
// pays for the triples. Annotations are appended to notes; if notes is nil, a document with
// annotations is rejected.
func (d *Documents) Read(r *Request, account *limits.Account, keepLabels bool, annotated *[]store.Annotated) (_ []triple.Triple, err error) {
	// 1. Check the syntax and the parameters, before anything is read.
	s, err := SyntaxOf(r)
	if err != nil {
		return nil, err
	}
	graph, err := r.Params.Iri("graph")
	if err != nil {
		return nil, err
	}
	if r.Params.Has("base") {
		if _, err := r.Params.Iri("base"); err != nil {
			return nil, err
		}
	}
	// 2. Wait for a turn, because decompressing and parsing take processor time.
	endTurn, err := d.Begin(r)
	if err != nil {
		return nil, err
	}
	defer endTurn()
	in, err := Open(r, d.MaxBytes)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	// These parsers build a tree of the whole body, so its bytes count, too.
	if s == syntax.RDFXML || s == syntax.JSONLD {
		in.Account, in.Weight = account, treeWeight
	}
	// 3. Bound the memory of the document, and parse it.
	account.Most = min(unfold*d.MaxBytes, d.Memory.Max*2/3) // what one client may have
	prefix := FreshPrefix(r.Key(), r.Part)
	options := syntax.Options{Source: BodyName, Base: strings.Trim(r.Params["base"], "<>"), BlankPrefix: prefix, MaxDocument: d.MaxBytes, Contexts: d.contexts(r)}
	if r.Prefixes != nil {
		options.Prefix = r.Prefixes.Add
	}
	var annotations []triple.ApplicationData
	options.Annotated = func(all []triple.ApplicationData) { annotations = all }
	triples := growing{account: account}
	for t, err := range syntax.Parse(r.Context(), in, s, options) {
		// An error of the account or the body ends the parse, so nothing is kept.
		if err == nil {
			err = account.Grow(stringsOf(&t) + sizeOfAnnotations(annotations))
		}
		// Annotations with nowhere to go are an error, because they must not get lost silently.
		if err == nil && annotations != nil && annotated == nil {
			err = problem.Errorf(problem.KindBadRequest, BodyName, "annotations are not taken here: send the document to /triples or /load, or leave them out")
		}
		if err == nil {
			err = triples.room()
		}
		if err != nil {
			return nil, documentError(err, in)
		}
		// The graph parameter applies only if the triple names no graph.
		if t.Graph.IsZero() {
			t.Graph = graph
		}
		if keepLabels {
			if err := restoreLabels(&t, prefix); err != nil {
				return nil, err
			}
		}
		triples.list = append(triples.list, t)
		// The parser reports annotations before the triple that has them.
		if annotations != nil {
			*annotated = append(*annotated, store.Annotated{Triple: t, Annotations: annotations})
			annotations = nil
		}
	}
	return triples.list, in.Failed()
}

// contexts returns the contexts for a request. Its turn holds no slot while one is fetched.
func (d *Documents) contexts(r *Request) syntax.Contexts {
	if d.Contexts == nil || r.turn == nil {
		return d.Contexts
	}
	return func(ctx context.Context, url string) (c *jsonld.Context, err error) {
		err = r.turn.Wait(func() (err error) {
			c, err = d.Contexts(ctx, url)
			return err
		})
		return c, err
	}
}

// documentError returns an error of a document's parser in the form for clients. An error of
// reading takes precedence, because it caused the other.
func documentError(err error, in *Body) error {
	if failed := in.Failed(); failed != nil {
		return failed
	}
	var syntaxError *triple.SyntaxError
	var e *problem.Error
	if errors.As(err, &syntaxError) || errors.As(err, &e) {
		return err
	}
	return &problem.Error{Kind: problem.KindBadRequest, Where: BodyName, Message: err.Error(), Cause: err}
}

// growing is a list of triples. Its account pays for its capacity and, while the list grows, for
// the previous one too.
type growing struct {
	list    []triple.Triple
	account *limits.Account
}

// room makes room for one more triple.
func (g *growing) room() error {
	before := cap(g.list)
	if len(g.list) < before {
		return nil
	}
	after := max(before+before/4, 64)
	if err := g.account.Grow(int64(after) * tripleBytes); err != nil {
		return err
	}
	list := make([]triple.Triple, len(g.list), after)
	copy(list, g.list)
	g.list = list
	g.account.Shrink(int64(before) * tripleBytes)
	return nil
}

// SizeOf returns the bytes of a triple in a list. The list may have room for a quarter more.
func SizeOf(t *triple.Triple) int64 { return tripleBytes*5/4 + stringsOf(t) }

// stringsOf returns the bytes of a triple's strings.
func stringsOf(t *triple.Triple) int64 {
	n := 0
	for _, term := range [...]*triple.Term{&t.Subject, &t.Predicate, &t.Object, &t.Graph} {
		for _, text := range [...]string{term.Value(), term.LangDir(), term.Datatype()} {
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

// FreshPrefix returns a unique prefix of blank node labels (see package blank). It is 80 random
// bits. If the request has an idempotency key, it is 80 bits of a hash of the key and the number of
// the document's part, because a request that is sent again must mean the same triples.
func FreshPrefix(key string, part int) string {
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

// restoreLabels restores the written labels of the labelled blank nodes of t, also of those inside of
// a triple term.
func restoreLabels(t *triple.Triple, prefix string) (err error) {
	for _, term := range [...]*triple.Term{&t.Subject, &t.Object, &t.Graph} {
		if !term.HasBlanks() {
			continue
		}
		*term, err = term.MapBlanks(func(node triple.Term) (triple.Term, error) {
			if label, ok := strings.CutPrefix(node.Value(), prefix+"-"); ok {
				return triple.NewBlank(label), nil
			}
			return node, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// turnless is the greatest length of a body that needs no turn.
const turnless = 4 << 10

// Begin begins a turn if the request's body is large or compressed, because decompressing and
// parsing take turns with queries (see package turns). end ends the turn, and may be called again.
func (d *Documents) Begin(r *Request) (end func(), err error) {
	small := r.ContentLength >= 0 && r.ContentLength <= turnless && r.Header.Get("Content-Encoding") == ""
	if small || d.Turns == nil {
		return func() {}, nil
	}
	if r.turn, err = d.Turns.Begin(r.Context(), limits.ClientOf(r.Request)); err != nil {
		return nil, err
	}
	return r.turn.End, nil
}
