// Metadata and hypermedia controls of fragments, in the vocabularies of their clients: VoID, Hydra,
// and SPARQL Service Description for the default graph.

package triples

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

const (
	NsHydra = "http://www.w3.org/ns/hydra/core#"
	NsVoID  = "http://rdfs.org/ns/void#"
	NsSD    = "http://www.w3.org/ns/sparql-service-description#"
	NsFOAF  = "http://xmlns.com/foaf/0.1/"
)

var fragmentPrefixes = map[string]string{
	"rdf": triple.RDF, "xsd": triple.XSD, "hydra": NsHydra, "void": NsVoID, "sd": NsSD, "foaf": NsFOAF,
}

// pageLinks are the URLs in a page. The page must have the URL of its request, byte for byte, and
// the fragment must have that URL without its cursor, because clients compare them.
type pageLinks struct {
	endpoint string // of the fragments
	fragment string // also the URL of the first page
	page     string
	next     string // "" if there is none
	previous string // "" if there is none
}

func newPageLinks(base string, u *url.URL, f *fragment) pageLinks {
	endpoint := base + FragmentsPath
	rest := ""
	// 1. Remove the cursor. The other parameters keep their bytes and their order.
	for one := range strings.SplitSeq(u.RawQuery, "&") {
		if name, _, _ := strings.Cut(one, "="); name != "cursor" && one != "" {
			rest += "&" + one
		}
	}
	at := func(query string) string {
		if query == "" {
			return endpoint
		}
		return endpoint + "?" + legalIRI(query)
	}
	// 2. Make the links. On the first page, fragment and page are the same URL.
	l := pageLinks{endpoint: endpoint, page: at(u.RawQuery), fragment: at(strings.TrimPrefix(rest, "&"))}
	if f.query.after == nil {
		l.fragment = l.page
	}
	if f.next != "" {
		l.next = at(strings.TrimPrefix(rest+"&cursor="+f.next, "&"))
	}
	if f.hasPrevious {
		l.previous = l.fragment
		if f.previous != "" {
			l.previous = at(strings.TrimPrefix(rest+"&cursor="+f.previous, "&"))
		}
	}
	return l
}

// legalIRI percent-encodes the bytes allowed in a URL's query but not in an IRI.
func legalIRI(query string) string {
	if triple.CheckIRI("http://h/?"+query) == nil {
		return query
	}
	var b strings.Builder
	for _, c := range []byte(query) {
		if !triple.IsIRIByte(c) || c >= 0x7F {
			b.WriteByte('%')
			b.WriteString(strings.ToUpper(strconv.FormatUint(uint64(c)+0x100, 16)[1:]))
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// controls returns metadata and controls of the page. If the syntax has graphs, they are in a graph
// of their own.
//
// The order matters, because clients read the stream. The page must be declared a subset of the
// dataset first, before other triples about the dataset. The page as a subset of the fragment, the
// primary topic of this graph, must come after that.
func (f *fragment) controls(l pageLinks, graphs bool) []triple.Triple {
	iri := triple.NewIRI
	text := triple.NewString
	number := func(n int64) triple.Term { return triple.NewTyped(strconv.FormatInt(n, 10), triple.XSDInteger) }
	// 1. The graph of the metadata, if the syntax has graphs.
	var meta triple.Term
	if graphs {
		meta = iri(l.fragment + "#metadata")
	}
	var all []triple.Triple
	add := func(subject, predicate string, object triple.Term) {
		all = append(all, triple.Triple{Subject: iri(subject), Predicate: iri(predicate), Object: object, Graph: meta})
	}
	dataset, form := l.endpoint+"#dataset", l.endpoint+"#search"
	if graphs {
		add(meta.Value(), NsFOAF+"primaryTopic", iri(l.fragment))
	}
	// 2. The dataset, and the form to search it.
	add(dataset, triple.RDFType, iri(NsVoID+"Dataset"))
	add(dataset, triple.RDFType, iri(NsHydra+"Collection"))
	add(dataset, NsVoID+"subset", iri(l.page))
	if l.fragment != l.page {
		add(dataset, NsVoID+"subset", iri(l.fragment))
	}
	add(dataset, NsSD+"defaultGraph", iri(DefaultGraphIRI))
	add(dataset, NsHydra+"search", iri(form))
	add(form, NsHydra+"template", text(l.endpoint+"{?subject,predicate,object,graph}"))
	add(form, NsHydra+"variableRepresentation", iri(NsHydra+"ExplicitRepresentation"))
	for _, m := range [...]struct{ variable, property string }{
		{"subject", triple.RDF + "subject"}, {"predicate", triple.RDF + "predicate"},
		{"object", triple.RDF + "object"}, {"graph", NsSD + "graph"},
	} {
		mapping := form + "-" + m.variable
		add(form, NsHydra+"mapping", iri(mapping))
		add(mapping, NsHydra+"variable", text(m.variable))
		add(mapping, NsHydra+"property", iri(m.property))
	}
	// 3. The fragment and the page, with links to other pages.
	add(l.fragment, NsVoID+"subset", iri(l.page))
	add(l.fragment, NsHydra+"totalItems", number(f.total))
	add(l.fragment, NsVoID+"triples", number(f.total))
	add(l.page, triple.RDFType, iri(NsHydra+"PartialCollectionView"))
	add(l.page, NsHydra+"itemsPerPage", number(int64(f.query.limit)))
	add(l.page, NsHydra+"first", iri(l.fragment))
	// The specification requires nextPage and previousPage; Hydra has renamed them.
	if l.next != "" {
		add(l.page, NsHydra+"next", iri(l.next))
		add(l.page, NsHydra+"nextPage", iri(l.next))
	}
	if l.previous != "" {
		add(l.page, NsHydra+"previous", iri(l.previous))
		add(l.page, NsHydra+"previousPage", iri(l.previous))
	}
	return all
}
