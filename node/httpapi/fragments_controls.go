// Metadata and hypermedia controls of fragments, in the vocabularies that clients
// read: VoID, Hydra, and SPARQL Service Description for the default graph.

package httpapi

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

const (
	nsHydra = "http://www.w3.org/ns/hydra/core#"
	nsVoID  = "http://rdfs.org/ns/void#"
	nsSD    = "http://www.w3.org/ns/sparql-service-description#"
	nsFOAF  = "http://xmlns.com/foaf/0.1/"
)

var fragmentPrefixes = map[string]string{
	"rdf": triple.RDF, "xsd": triple.XSD, "hydra": nsHydra, "void": nsVoID, "sd": nsSD, "foaf": nsFOAF,
}

// pageLinks are the URLs in a page. The page has the URL by which it was asked for,
// to the byte, and the fragment that URL without its cursor: clients compare.
type pageLinks struct {
	door     string // of the fragments
	fragment string // is its first page
	page     string
	next     string // "" for none
	previous string // "" for none
}

func newLinks(base string, u *url.URL, f *fragment) pageLinks {
	door := base + fragmentsPath
	rest := ""
	for one := range strings.SplitSeq(u.RawQuery, "&") {
		if name, _, _ := strings.Cut(one, "="); name != "cursor" && one != "" {
			rest += "&" + one
		}
	}
	at := func(query string) string {
		if query == "" {
			return door
		}
		return door + "?" + legalIRI(query)
	}
	l := pageLinks{door: door, page: at(u.RawQuery), fragment: at(strings.TrimPrefix(rest, "&"))}
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

// legalIRI percent-encodes what may come in a URL's query but not in an IRI.
func legalIRI(query string) string {
	if triple.CheckIRI("http://h/?"+query) == nil {
		return query
	}
	var b strings.Builder
	for _, c := range []byte(query) {
		if c <= ' ' || c >= 0x7F || strings.IndexByte("<>\"{}|^`\\", c) >= 0 {
			b.WriteByte('%')
			b.WriteString(strings.ToUpper(strconv.FormatUint(uint64(c)+0x100, 16)[1:]))
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// controls returns metadata and controls of the page, in a graph of their own
// where the syntax has graphs.
//
// The sequence matters to clients that stream: that the page is a subset of the
// dataset comes before what is said of the dataset, and that it is one of the
// fragment, the primary topic of this graph, comes last of the two.
func (f *fragment) controls(l pageLinks, graphs bool) []triple.Triple {
	iri := triple.NewIRI
	text := triple.NewString
	number := func(n int64) triple.Term { return triple.NewTyped(strconv.FormatInt(n, 10), triple.XSDInteger) }
	var meta triple.Term
	if graphs {
		meta = iri(l.fragment + "#metadata")
	}
	var all []triple.Triple
	add := func(subject, predicate string, object triple.Term) {
		all = append(all, triple.Triple{Subject: iri(subject), Predicate: iri(predicate), Object: object, Graph: meta})
	}
	dataset, form := l.door+"#dataset", l.door+"#search"
	if graphs {
		add(meta.Value(), nsFOAF+"primaryTopic", iri(l.fragment))
	}
	add(dataset, triple.RDFType, iri(nsVoID+"Dataset"))
	add(dataset, triple.RDFType, iri(nsHydra+"Collection"))
	add(dataset, nsVoID+"subset", iri(l.page))
	if l.fragment != l.page {
		add(dataset, nsVoID+"subset", iri(l.fragment))
	}
	add(dataset, nsSD+"defaultGraph", iri(defaultGraphIRI))
	add(dataset, nsHydra+"search", iri(form))
	add(form, nsHydra+"template", text(l.door+"{?subject,predicate,object,graph}"))
	add(form, nsHydra+"variableRepresentation", iri(nsHydra+"ExplicitRepresentation"))
	for _, m := range [...]struct{ variable, property string }{
		{"subject", triple.RDF + "subject"}, {"predicate", triple.RDF + "predicate"},
		{"object", triple.RDF + "object"}, {"graph", nsSD + "graph"},
	} {
		mapping := form + "-" + m.variable
		add(form, nsHydra+"mapping", iri(mapping))
		add(mapping, nsHydra+"variable", text(m.variable))
		add(mapping, nsHydra+"property", iri(m.property))
	}
	add(l.fragment, nsVoID+"subset", iri(l.page))
	add(l.fragment, nsHydra+"totalItems", number(f.total))
	add(l.fragment, nsVoID+"triples", number(f.total))
	add(l.page, triple.RDFType, iri(nsHydra+"PartialCollectionView"))
	add(l.page, nsHydra+"itemsPerPage", number(int64(f.query.limit)))
	add(l.page, nsHydra+"first", iri(l.fragment))
	// The specification asks for nextPage and previousPage, which Hydra has renamed.
	if l.next != "" {
		add(l.page, nsHydra+"next", iri(l.next))
		add(l.page, nsHydra+"nextPage", iri(l.next))
	}
	if l.previous != "" {
		add(l.page, nsHydra+"previous", iri(l.previous))
		add(l.page, nsHydra+"previousPage", iri(l.previous))
	}
	return all
}
