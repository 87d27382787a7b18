// The description of the data set (https://www.w3.org/TR/void/): exact counts, as far as they are known
// in bounded time.

package sparql

import (
	"context"
	"net/http"
	"strconv"

	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// VoIDPath is the path of the description.
	VoIDPath = "/.well-known/void"
	voidNS   = "http://rdfs.org/ns/void#"
)

func void(name string) triple.Term { return triple.NewIRI(voidNS + name) }

func integer(n int64) triple.Term {
	return triple.NewTyped(strconv.FormatInt(n, 10), triple.XSDInteger)
}

func (a *API) getVoID(w http.ResponseWriter, r *request.Request) error {
	tag, err := a.Tag(r, r.Header.Get("Accept"))
	if err != nil || tag != "" && response.NotModified(w, r.Request, tag) {
		return err
	}
	return a.writeDescription(w, r, func(ctx context.Context, base string) ([]triple.Triple, error) {
		all, err := a.voidTriples(ctx, r, base)
		if ctx.Err() != nil {
			w.Header().Del("ETag") // a later answer may have more
		}
		return all, err
	})
}

// voidTriples returns the description of the default graph, with the named graphs as subsets. What is
// not counted in time is left out.
func (a *API) voidTriples(ctx context.Context, r *request.Request, base string) (all []triple.Triple, err error) {
	// 1. Count. The counts that read the most rows are last, because they may find no time.
	var counted [5]*groups
	for i, text := range []string{countProperties, countClasses, countGraphs, countObjects, countSubjects} {
		if counted[i], err = a.count(ctx, r, text); err != nil {
			return nil, err
		}
	}
	properties, classes, graphs := counted[0], counted[1], counted[2]
	// 2. The data set, and where it is.
	document := base + VoIDPath
	dataset, isA := triple.NewIRI(document+"#dataset"), triple.NewIRI(triple.RDFType)
	say := func(s, p, o triple.Term) { all = append(all, triple.Triple{Subject: s, Predicate: p, Object: o}) }
	say(triple.NewIRI(document), isA, void("DatasetDescription"))
	say(triple.NewIRI(document), triple.NewIRI("http://xmlns.com/foaf/0.1/primaryTopic"), dataset)
	say(dataset, isA, void("Dataset"))
	say(dataset, void("sparqlEndpoint"), triple.NewIRI(base+Path))
	say(dataset, void("dataDump"), triple.NewIRI(base+"/data"))
	// 3. Numbers. Each triple has one property, so the sum over these is the number of triples.
	if properties != nil {
		say(dataset, void("triples"), integer(properties.members))
		say(dataset, void("properties"), integer(properties.all))
	}
	if classes != nil {
		say(dataset, void("classes"), integer(classes.all))
	}
	for i, name := range []string{"distinctObjects", "distinctSubjects"} {
		if found := counted[3+i]; found != nil {
			say(dataset, void(name), integer(found.members))
		}
	}
	part := func(kind, label string, i int) triple.Term {
		node := triple.NewBlank(label + strconv.Itoa(i))
		say(dataset, void(kind), node)
		return node
	}
	for i, g := range properties.listable() {
		node := part("propertyPartition", "p", i)
		say(node, void("property"), g.term)
		say(node, void("triples"), integer(g.n))
	}
	for i, g := range classes.listable() {
		node := part("classPartition", "c", i)
		say(node, void("class"), g.term)
		say(node, void("entities"), integer(g.n))
	}
	for i, g := range graphs.listable() {
		node := part("subset", "g", i)
		say(node, isA, void("Dataset"))
		say(node, triple.NewIRI(sdNS+"name"), g.term)
		say(node, void("triples"), integer(g.n))
	}
	return all, nil
}
