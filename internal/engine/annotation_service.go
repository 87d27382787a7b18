// SERVICE <urn:trefoil:annotations>: the annotations of the store's triples.

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/triple"
)

// AnnotationsEndpoint is the endpoint of SERVICE that has the annotations of the store's triples, with
// the properties of [triple.AnnotationsGraph]. An annotation whose application's ID is not UTF-8 is
// left out. The query of a request runs over those annotations that its constants and VALUES may
// select.
const AnnotationsEndpoint = triple.AnnotationsGraph

var (
	// ErrAnnotationsPattern means that SERVICE with [AnnotationsEndpoint] has something other than it
	// answers.
	ErrAnnotationsPattern = errors.New("it has triple patterns, groups, OPTIONAL, UNION, FILTER, BIND and VALUES only")
	// ErrAnnotationsSize means that one of its requests or solutions needs too many bytes.
	ErrAnnotationsSize = errors.New("the annotations are too large for one request")
)

// maxServiceAnnotations bounds the annotations of one request in bytes, with their triples.
const maxServiceAnnotations = 8 << 20

// servicePart is the part of a query's memory for the operators of one request. They use files
// beyond it.
const servicePart = 4

type annotationReaderKey struct{}

// WithAnnotationReader returns a context for queries that may read the annotations of applications
// for which mayRead returns true. Without it queries may read all.
func WithAnnotationReader(ctx context.Context, mayRead func(applicationID string) bool) context.Context {
	return context.WithValue(ctx, annotationReaderKey{}, mayRead)
}

// annotationService answers the requests of one query or update. What it holds is counted as the
// query's.
type annotationService struct {
	options sparql.Options // of the query
	reader  func() store.Reader
}

// answer runs a query over annotations. The result is JSON.
func (s *annotationService) answer(ctx context.Context, text string) (_ io.ReadCloser, err error) {
	tree, err := parser.ParseQuery(text, parser.Options{})
	if err != nil {
		return nil, err
	}
	// 1. Collect the annotations that the query may select.
	w := wanted{nodes: map[string]*wantedNode{}}
	if err := w.group(tree.Where, ""); err != nil {
		return nil, err
	}
	triples, held, err := s.collect(ctx, &w)
	defer func() {
		if err != nil {
			_ = s.options.Reserve(-held) // giving back does not fail
		}
	}()
	if err != nil {
		return nil, err
	}
	// 2. Run the query over them. It must not send requests to other endpoints.
	options := s.options
	options.Services = nil
	options.Memory /= servicePart
	prepared, err := sparql.PrepareTree(tree, options)
	if err != nil {
		return nil, err
	}
	result, err := prepared.Run(ctx, memsource.New(triples))
	if err != nil {
		return nil, err
	}
	return newAnnotationAnswer(result, s.options.Reserve, held), nil
}

// wanted is what a query says about the annotations that it selects.
type wanted struct {
	values []*ast.Values          // the VALUES that the request carries
	nodes  map[string]*wantedNode // by the text of the node of the annotation
	value  bool                   // it needs the content
}

// wantedNode is what is known of one annotation in the query; a zero Node is unknown.
type wantedNode struct {
	terms       [4]ast.Node // subject, predicate, object and graph
	application ast.Node
}

// properties are the names of the triple's terms, by position.
var properties = [...]string{triple.Subject: "subject", triple.Predicate: "predicate", triple.Object: "object", triple.Graph: "graph"}

// group collects the triple patterns of a group and of those within it. scope names the branch of
// UNION or OPTIONAL in which it stands; "" is none. What a branch says of an annotation holds only
// there, so each branch has nodes of its own. The answer is collected for all nodes.
func (w *wanted) group(g *ast.Group, scope string) error {
	// 1. Patterns and VALUES say which annotations are wanted.
	for i, element := range g.Elements {
		var inner []*ast.Group
		within := scope
		switch e := element.(type) {
		case *ast.Triples:
			for _, p := range e.Patterns {
				w.pattern(p, scope)
			}
		case *ast.Values:
			if i == 0 && scope == "" {
				w.values = append(w.values, e) // joined with all after it
			}
		case *ast.Group:
			inner = []*ast.Group{e}
		case *ast.Union:
			inner, within = e.Groups, fmt.Sprint(scope, " ", i)
		case *ast.Optional:
			inner, within = []*ast.Group{e.Group}, fmt.Sprint(scope, " ", i)
		case *ast.Filter:
			if err := noExists(e.Expr); err != nil {
				return err
			}
		case *ast.Bind:
			if err := noExists(e.Expr); err != nil {
				return err
			}
		default: // variables within may be others
			return ErrAnnotationsPattern
		}
		// 2. Groups within share the variables.
		for branch, g := range inner {
			of := within
			if of != scope {
				of = fmt.Sprint(within, ".", branch)
			}
			if err := w.group(g, of); err != nil {
				return err
			}
		}
	}
	return nil
}

// noExists returns an error if an expression has EXISTS, because its patterns would select other
// annotations.
func noExists(e ast.Expr) error {
	if ast.AnyExpr(e, func(e ast.Expr) bool { _, ok := e.(*ast.Exists); return ok }) {
		return fmt.Errorf("%w: put EXISTS outside of it", ErrAnnotationsPattern)
	}
	return nil
}

// pattern records what a triple pattern says of its annotation.
func (w *wanted) pattern(p ast.TriplePattern, scope string) {
	name := p.Subject.Var + " " + p.Subject.Term.String() + scope
	n := w.nodes[name]
	if n == nil {
		n = &wantedNode{}
		w.nodes[name] = n
	}
	switch {
	case p.Path != nil || p.Predicate.IsVar() || p.Predicate.Term == triple.AnnotationProperty("value"):
		w.value = true
	case p.Predicate.Term == triple.AnnotationProperty("application"):
		n.application = p.Object
	}
	for i, name := range properties {
		if p.Predicate.Term == triple.AnnotationProperty(name) && p.Path == nil {
			n.terms[i] = p.Object
		}
	}
}

// patterns returns the patterns of the triples that a node may be about.
func (w *wanted) patterns(n *wantedNode) []triple.Pattern {
	all := []triple.Pattern{{}}
	set := func(p *triple.Pattern, i int, t triple.Term) {
		*[...]*triple.Term{triple.Subject: &p.Subject, triple.Predicate: &p.Predicate, triple.Object: &p.Object, triple.Graph: &p.Graph}[i] = t
	}
	// 1. Constants.
	for i, node := range n.terms {
		if !node.IsVar() && !node.IsZero() && node.Term.Kind() != triple.Blank {
			set(&all[0], i, node.Term)
		}
	}
	// 2. The rows of the first VALUES with one of the variables.
	for _, v := range w.values {
		columns := map[int]int{}
		for i, node := range n.terms {
			if at := slices.IndexFunc(v.Vars, func(x ast.Node) bool { return x.Var == node.Var }); node.IsVar() && at >= 0 {
				columns[i] = at
			}
		}
		if len(columns) == 0 {
			continue
		}
		base := all[0]
		all = all[:0]
		for _, row := range v.Rows {
			p := base
			for i, at := range columns {
				if !row[at].IsZero() {
					set(&p, i, row[at])
				}
			}
			all = append(all, p)
		}
		break
	}
	return all
}

// collect returns the wanted annotations as triples, and the bytes that it has reserved for them, also
// after an error.
func (s *annotationService) collect(ctx context.Context, w *wanted) (all []triple.Triple, held int64, err error) {
	mayRead, limited := ctx.Value(annotationReaderKey{}).(func(string) bool)
	reader := s.reader()
	type id struct {
		t   triple.Triple
		app string
	}
	seen := map[id]bool{}
	size := 0
	for _, n := range w.nodes {
		for _, p := range w.patterns(n) {
			// 1. Read the triples with their annotations. A pattern with a literal as subject, say,
			// matches nothing.
			for row, err := range reader.Match(ctx, p, store.ReadOptions{Annotations: true}) {
				if err == nil {
					err = s.options.Check()
				}
				if err != nil {
					return nil, held, err
				}
				if len(row.Annotations) == 0 {
					continue
				}
				t, err := row.Triple()
				if err != nil {
					return nil, held, err
				}
				// 2. Keep those that the query and its client may see.
				for i := range row.Annotations {
					a := &row.Annotations[i]
					of := id{t, a.ApplicationID}
					if seen[of] || limited && !mayRead(a.ApplicationID) || !utf8.ValidString(a.ApplicationID) || !n.selects(a.ApplicationID) {
						continue
					}
					seen[of] = true
					before := len(all)
					all = appendAnnotation(all, len(seen), t, a, w.value)
					// 3. Count them before more is read.
					bytes := 0
					for _, t := range all[before:] {
						bytes += 64 + len(t.Object.Value())
					}
					if size += bytes; size > maxServiceAnnotations {
						return nil, held, fmt.Errorf("%w: those that the pattern may select take more than %d MiB: name more of the triple or the application, or leave out their value", ErrAnnotationsSize, maxServiceAnnotations>>20)
					}
					if err := s.options.Reserve(int64(sourceFactor * bytes)); err != nil {
						return nil, held, err
					}
					held += int64(sourceFactor * bytes)
				}
			}
		}
	}
	return all, held, nil
}

// sourceFactor multiplies the bytes of annotations to those of their triples in three orders.
const sourceFactor = 8

// selects reports whether a node may be an annotation of an application.
func (n *wantedNode) selects(applicationID string) bool {
	return n.application.IsVar() || n.application.IsZero() || n.application.Term.Kind() != triple.Literal || n.application.Term.Value() == applicationID
}

// appendAnnotation appends the properties of an annotation. Its blank node has the given number.
func appendAnnotation(all []triple.Triple, number int, t triple.Triple, a *triple.ApplicationData, value bool) []triple.Triple {
	node := triple.NewBlank("a" + strconv.Itoa(number))
	all = triple.AppendAnnotationTriples(all, node, t, a, value)
	_, content := triple.CutMedia(a.Data)
	all = append(all, triple.Triple{Subject: node, Predicate: triple.AnnotationProperty("bytes"), Object: triple.NewTyped(strconv.Itoa(len(content)), triple.XSDInteger)})
	if a.Version != (triple.Stamp{}) {
		all = append(all, triple.Triple{Subject: node, Predicate: triple.AnnotationProperty("version"), Object: triple.NewString(store.FormatVersion(a.Version))})
	}
	return all
}
