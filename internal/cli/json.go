package cli

// This file writes triples as JSON, as the HTTP doors do.

import "github.com/trefoildb/trefoil/triple"

// jsonTriple is a triple whose terms are those of SPARQL 1.1 Query Results JSON.
type jsonTriple struct {
	S jsonTerm  `json:"s"`
	P jsonTerm  `json:"p"`
	O jsonTerm  `json:"o"`
	G *jsonTerm `json:"g,omitempty"` // nil in the default graph
}

type jsonTerm struct {
	Type     string `json:"type"` // uri, bnode or literal
	Value    string `json:"value"`
	Lang     string `json:"xml:lang,omitempty"`
	Datatype string `json:"datatype,omitempty"` // left out for xsd:string
}

func newJSONTriple(t triple.Triple) jsonTriple {
	j := jsonTriple{S: newJSONTerm(t.Subject), P: newJSONTerm(t.Predicate), O: newJSONTerm(t.Object)}
	if !t.Graph.IsZero() {
		g := newJSONTerm(t.Graph)
		j.G = &g
	}
	return j
}

func newJSONTerm(t triple.Term) jsonTerm {
	j := jsonTerm{Type: "literal", Value: t.Value()}
	switch {
	case t.Kind() == triple.IRI:
		j.Type = "uri"
	case t.Kind() == triple.Blank:
		j.Type = "bnode"
	case t.Lang() != "":
		j.Lang = t.Lang()
	case t.Datatype() != triple.XSDString:
		j.Datatype = t.Datatype()
	}
	return j
}
