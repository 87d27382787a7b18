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
//	<url> <urn:trefoil:uid> "4611686018427387905"^^xsd:unsignedLong .
//	<urn:trefoil:extent:17179869184> <urn:trefoil:host> "org.example.www" .
//
// A link's label has its weight and its anchor text. It is an annotation of the application
// urn:trefoil:links on the link's triple (package lists). A page's own label is one on the triple of
// its UID. A page gets a UID when it first is an
// end of a link, and keeps it for ever. The pages of a range of slots are one range of keys,
// because UIDs in POS sort by value. An extent is the upper 36 bits of a UID, and belongs to one
// host.
package links

import (
	"strconv"

	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// DefaultPredicate is the predicate of links, unless a graph is made from another one.
	DefaultPredicate = "urn:trefoil:linksTo"
	// UIDPredicate is the predicate of pages' UIDs, literals of xsd:unsignedLong.
	UIDPredicate = "urn:trefoil:uid"
	// HostPredicate is the predicate of extents' host keys, strings.
	HostPredicate = "urn:trefoil:host"
	// Application is the application ID of labels, because these are annotations.
	Application = "urn:trefoil:links"
	// extentPrefix is the prefix of extents' IRIs. Their number in decimal follows.
	extentPrefix = "urn:trefoil:extent:"

	unsignedLong = "http://www.w3.org/2001/XMLSchema#unsignedLong"
)

// Link returns the triple of a link in the default graph.
func Link(predicate, src, dst string) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(src), Predicate: triple.NewIRI(predicate), Object: triple.NewIRI(dst)}
}

// UIDTriple returns the triple of a page and its UID.
func UIDTriple(url string, u uid.UID) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(url), Predicate: triple.NewIRI(UIDPredicate),
		Object: triple.NewTyped(u.String(), unsignedLong)}
}

// HostTriple returns the triple of an extent and its host.
func HostTriple(e uid.Extent, hostKey string) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(extentPrefix + strconv.FormatUint(uint64(e), 10)),
		Predicate: triple.NewIRI(HostPredicate), Object: triple.NewString(hostKey)}
}
