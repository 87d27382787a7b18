// How UIDs and hosts are triples: in the system graph, or as earlier releases wrote them.

package linkgraph

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// The triples of earlier releases, in the default graph:
//
//	<url> <urn:trefoil:uid> "4611686018427387905"^^xsd:unsignedLong .
//	<urn:trefoil:extent:17179869184> <urn:trefoil:host> "org.example.www" .
const (
	earlierUID    = "urn:trefoil:uid"
	earlierHost   = "urn:trefoil:host"
	earlierExtent = "urn:trefoil:extent:"
	unsignedLong  = "http://www.w3.org/2001/XMLSchema#unsignedLong"
)

// form is the form of the triples of UIDs and hosts; see Graph.form.
type form struct {
	earlier bool
}

func (f form) uidTriple(url string, u uid.UID) triple.Triple {
	if f.earlier {
		return triple.Triple{Subject: triple.NewIRI(url), Predicate: triple.NewIRI(earlierUID), Object: triple.NewTyped(u.String(), unsignedLong)}
	}
	return links.UIDTriple(url, u)
}

func (f form) hostTriple(e uid.Extent, hostKey string) triple.Triple {
	if f.earlier {
		return triple.Triple{Subject: triple.NewIRI(earlierExtent + strconv.FormatUint(uint64(e), 10)),
			Predicate: triple.NewIRI(earlierHost), Object: triple.NewString(hostKey)}
	}
	return links.HostTriple(e, hostKey)
}

// host returns the host key of a triple of an extent.
func (f form) host(t triple.Triple) (key string, ok bool) {
	if f.earlier {
		return t.Object.Value(), t.Graph.IsZero()
	}
	key, ok = strings.CutPrefix(t.Object.Value(), links.HostPrefix)
	return key, ok && t.Graph == systemGraph
}

// uidRange returns the rows of POS with the UIDs of a range.
func (f form) uidRange(r uid.Range) (triple.Range, error) {
	first, last := f.uidTriple("a:", r.First), f.uidTriple("a:", r.Last)
	kr, err := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{first.Predicate}, GE: first.Object, LE: last.Object}.KeyRange()
	return kr.Range, err
}

// page returns the page of a row. Its URL shares memory with the terms, which must be whole. ok is false for a
// triple of another application.
func (f form) page(terms triple.KeyTerms) (p page, ok bool) {
	p.uid, ok = f.uid(terms)
	var isPage bool
	if p.url, isPage = iriOf(terms[triple.Subject]); !f.earlier && isPage {
		p.url, isPage = bytes.CutPrefix(p.url, pagePrefix)
	}
	return p, ok && isPage
}

// uid returns the UID of a row.
func (f form) uid(terms triple.KeyTerms) (uid.UID, bool) {
	if f.earlier {
		u, ok := earlierUIDOf(terms[triple.Object])
		return u, ok && len(terms[triple.Graph]) == 0
	}
	digits, ok := bytes.CutPrefix(terms[triple.Object], uidPrefix)
	if !ok || len(digits) != 20 || !bytes.Equal(terms[triple.Graph], graphTerm) {
		return 0, false
	}
	u, err := strconv.ParseUint(string(digits), 10, 64)
	return uid.UID(u), err == nil && uid.UID(u).Valid()
}

var (
	pagePrefix   = []byte(links.PagePrefix)
	uidPrefix    = append([]byte{tagIRI}, links.UIDPrefix...)
	graphTerm, _ = triple.AppendTerm(nil, systemGraph)
)

// earlierUIDOf returns the UID in an encoded literal: the digits at its end. ok is false if the
// literal has another datatype or leading zeros.
func earlierUIDOf(term []byte) (uid.UID, bool) {
	at := len(term)
	for at > 0 && term[at-1] >= '0' && term[at-1] <= '9' {
		at--
	}
	// The byte before the digits must be the datatype's code, 0F.
	if at == 0 || term[at-1] != unsignedLongCode {
		return 0, false
	}
	u, err := uid.Parse(string(term[at:]))
	return u, err == nil && u.Valid()
}

const unsignedLongCode = 0x0F
