// Package links is the vocabulary of the hyperlink store: the triples of links, UIDs and hosts,
// and the interfaces of a graph of links. Its packages hold the parts. A graph over a store is in
// internal/linkgraph.
//
//	uid         the numbers of pages: 14 bits slot, 22 bits host, 28 bits page
//	weburl      host keys, registered domains, the order of pages
//	cell        the immutable, compressed graph of a range of slots, with
//	            urls        its front-coded URLs
//	            lists       its lists of links, and labels
//	            ef, packed  sequences of numbers
//	delta       what has changed since a cell was built
//	sample      samples of lists
//	rank        PageRank, HITS, SALSA
//	linkfile    files of links, as crawlers write them
//	wire        requests and answers as bytes, for HTTP
//	linkstest   a graph in plain maps, for tests
//
// # Links as triples
//
// The store has the authoritative data, and cells are made from it:
//
//	<src> <urn:trefoil:linksTo> <dst> .
//
// and in the graph urn:trefoil:system, whose name is left out here, as that of each term's prefix S:
//
//	<S:page:URL> <S:uid> <S:uid:04611686018427387905> .
//	<S:extent:17179869184> <S:host> <S:host:org.example.www> .
//
// A link's label has its weight and its anchor text. It is an annotation of the application
// urn:trefoil:links on the link's triple (package lists). A page's own label is one on the triple of
// its UID. A page gets a UID when it first is an end of a link, and keeps it for ever. The pages of
// a range of slots are one range of keys, because UIDs have 20 digits and so sort by value. An
// extent is the upper 36 bits of a UID, and belongs to one host.
//
// Clients neither read nor write the triples of UIDs and hosts (package systemgraph). All their
// terms begin with S, so they are one range of keys in each order, and only a read that meets this
// range needs to leave them out.
package links

import (
	"fmt"
	"strconv"

	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// DefaultPredicate is the predicate of links, unless a graph is made from another one.
	DefaultPredicate = "urn:trefoil:linksTo"
	// UIDPredicate is the predicate of pages' UIDs.
	UIDPredicate = systemPrefix + "uid"
	// HostPredicate is the predicate of extents' host keys.
	HostPredicate = systemPrefix + "host"
	// Application is the application ID of labels, because these are annotations.
	Application = "urn:trefoil:links"

	system       = "urn:trefoil:system" // the graph
	systemPrefix = system + ":"
	// PagePrefix, UIDPrefix, ExtentPrefix and HostPrefix are the prefixes of IRIs of pages, of UIDs (20
	// digits follow), of extents (a number follows) and of host keys.
	PagePrefix   = systemPrefix + "page:"
	UIDPrefix    = systemPrefix + "uid:"
	ExtentPrefix = systemPrefix + "extent:"
	HostPrefix   = systemPrefix + "host:"
)

var systemGraph = triple.NewIRI(system)

// Link returns the triple of a link in the default graph.
func Link(predicate, src, dst string) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(src), Predicate: triple.NewIRI(predicate), Object: triple.NewIRI(dst)}
}

// UIDTriple returns the triple of a page and its UID.
func UIDTriple(url string, u uid.UID) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(PagePrefix + url), Predicate: triple.NewIRI(UIDPredicate),
		Object: triple.NewIRI(fmt.Sprintf("%s%020d", UIDPrefix, uint64(u))), Graph: systemGraph}
}

// HostTriple returns the triple of an extent and its host.
func HostTriple(e uid.Extent, hostKey string) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(ExtentPrefix + strconv.FormatUint(uint64(e), 10)),
		Predicate: triple.NewIRI(HostPredicate), Object: triple.NewIRI(HostPrefix + hostKey), Graph: systemGraph}
}
