// How UIDs and hosts are triples: in the system graph, or as earlier releases wrote them.

package pagerows

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
	EarlierUID    = "urn:trefoil:uid"
	EarlierHost   = "urn:trefoil:host"
	earlierExtent = "urn:trefoil:extent:"
	unsignedLong  = "http://www.w3.org/2001/XMLSchema#unsignedLong"
)

// Form is the form of the triples of UIDs and hosts; see Forms.Form.
type Form struct {
	Earlier bool
}

func (f Form) UIDTriple(url string, u uid.UID) triple.Triple {
	if f.Earlier {
		return triple.Triple{Subject: triple.NewIRI(url), Predicate: triple.NewIRI(EarlierUID), Object: triple.NewTyped(u.String(), unsignedLong)}
	}
	return links.UIDTriple(url, u)
}

func (f Form) HostTriple(e uid.Extent, hostKey string) triple.Triple {
	if f.Earlier {
		return triple.Triple{Subject: triple.NewIRI(earlierExtent + strconv.FormatUint(uint64(e), 10)),
			Predicate: triple.NewIRI(EarlierHost), Object: triple.NewString(hostKey)}
	}
	return links.HostTriple(e, hostKey)
}

// host returns the host key of a triple of an extent.
func (f Form) host(t triple.Triple) (key string, ok bool) {
	if f.Earlier {
		return t.Object.Value(), t.Graph.IsZero()
	}
	key, ok = strings.CutPrefix(t.Object.Value(), links.HostPrefix)
	return key, ok && t.Graph == SystemGraph
}

// UIDRange returns the rows of POS with the UIDs of a range.
func (f Form) UIDRange(r uid.Range) (triple.Range, error) {
	first, last := f.UIDTriple("a:", r.First), f.UIDTriple("a:", r.Last)
	kr, err := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{first.Predicate}, GE: first.Object, LE: last.Object}.KeyRange()
	return kr.Range, err
}

// page returns the page of a row. Its URL shares memory with the terms, which must be whole. ok is false for a
// triple of another application.
func (f Form) page(terms triple.KeyTerms) (p Page, ok bool) {
	p.UID, ok = f.UID(terms)
	var isPage bool
	if p.URL, isPage = IriOf(terms[triple.Subject]); !f.Earlier && isPage {
		p.URL, isPage = bytes.CutPrefix(p.URL, pagePrefix)
	}
	return p, ok && isPage
}

// UID returns the UID of a row.
func (f Form) UID(terms triple.KeyTerms) (uid.UID, bool) {
	if f.Earlier {
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
	uidPrefix    = append([]byte{TagIRI}, links.UIDPrefix...)
	graphTerm, _ = triple.AppendTerm(nil, SystemGraph)
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
