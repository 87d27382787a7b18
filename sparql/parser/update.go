// Update requests.

package parser

import (
	"strings"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// updateParser reads update requests.
type updateParser struct{ *parser }

func (p *parser) updates() updateParser { return updateParser{p} }

// update parses UpdateUnit.
func (p updateParser) update() *ast.Update {
	u := &ast.Update{}
	for {
		p.prologue()
		if p.tok.kind == tokEnd {
			break
		}
		p.node()
		op := p.operation()
		if p.err != nil {
			break
		}
		u.Operations = append(u.Operations, op)
		if !p.take(";") {
			if p.tok.kind != tokEnd {
				p.expected("';' before another operation, or the end of the text")
			}
			break
		}
	}
	u.Prefixes = p.names.prefixes
	return u
}

// operation parses Update1.
func (p updateParser) operation() ast.Operation {
	// 1. The verb.
	pos, word := p.tok.pos, p.tok.word
	switch word {
	case "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "INSERT", "DELETE", "WITH":
		p.advance()
	default:
		p.expected("an operation (INSERT, DELETE, WITH, LOAD, CLEAR, DROP, CREATE, ADD, MOVE, COPY)")
		return nil
	}
	switch word {
	case "INSERT":
		if p.takeWord("DATA") {
			p.labels.newData()
			return &ast.InsertData{Pos: pos, Triples: p.quadData("")}
		}
		return p.modify(&ast.Modify{Pos: pos}, word)
	case "DELETE":
		switch {
		case p.takeWord("DATA"):
			return &ast.DeleteData{Pos: pos, Triples: p.quadData("DELETE DATA")}
		case p.takeWord("WHERE"):
			return p.deleteWhere(pos)
		}
		return p.modify(&ast.Modify{Pos: pos}, word)
	case "WITH":
		m := &ast.Modify{Pos: pos, With: p.iri("a graph's IRI")}
		word = p.tok.word
		if !p.takeWord("DELETE") && !p.takeWord("INSERT") {
			p.expected("DELETE or INSERT")
		}
		return p.modify(m, word)
	}
	// 3. Operations on whole graphs. They may be SILENT.
	silent := p.takeWord("SILENT")
	switch word {
	case "LOAD":
		load := &ast.Load{Pos: pos, Silent: silent, Source: p.iri("the IRI to load")}
		if p.takeWord("INTO") {
			p.expectWord("GRAPH")
			load.Into = p.iri("a graph's IRI")
		}
		return load
	case "CLEAR":
		return &ast.Clear{Pos: pos, Silent: silent, Target: p.graphRefAll()}
	case "DROP":
		return &ast.Drop{Pos: pos, Silent: silent, Target: p.graphRefAll()}
	case "CREATE":
		p.expectWord("GRAPH")
		return &ast.Create{Pos: pos, Silent: silent, Graph: p.iri("a graph's IRI")}
	}
	transfer := &ast.Transfer{Pos: pos, Silent: silent, Verb: transferVerbs[word]}
	transfer.From = p.graphOrDefault()
	p.expectWord("TO")
	transfer.To = p.graphOrDefault()
	return transfer
}

var transferVerbs = map[string]ast.TransferVerb{"ADD": ast.Add, "MOVE": ast.Move, "COPY": ast.Copy}

// graphRefAll parses GraphRefAll.
func (p updateParser) graphRefAll() ast.GraphRef {
	switch {
	case p.takeWord("DEFAULT"):
		return ast.GraphRef{Kind: ast.DefaultGraph}
	case p.takeWord("NAMED"):
		return ast.GraphRef{Kind: ast.NamedGraphs}
	case p.takeWord("ALL"):
		return ast.GraphRef{Kind: ast.AllGraphs}
	case p.takeWord("GRAPH"):
		return ast.GraphRef{Kind: ast.NamedGraph, IRI: p.iri("a graph's IRI")}
	}
	p.expected("GRAPH, DEFAULT, NAMED or ALL")
	return ast.GraphRef{}
}

// graphOrDefault parses GraphOrDefault.
func (p updateParser) graphOrDefault() ast.GraphRef {
	if p.takeWord("DEFAULT") {
		return ast.GraphRef{Kind: ast.DefaultGraph}
	}
	if p.takeWord("GRAPH") {
		return ast.GraphRef{Kind: ast.NamedGraph, IRI: p.iri("a graph's IRI")}
	}
	return ast.GraphRef{Kind: ast.NamedGraph, IRI: p.iri("GRAPH, a graph's IRI or DEFAULT")}
}

// modify parses Modify from behind the keyword word, DELETE or INSERT.
func (p updateParser) modify(m *ast.Modify, word string) ast.Operation {
	m.Base = p.names.base
	p.labels.scope = templateScope
	if word == "DELETE" {
		m.Delete = p.quadPattern("DELETE")
	}
	if word == "INSERT" || p.takeWord("INSERT") {
		m.Insert = p.quadPattern("")
	}
	m.Using = p.queries().dataset("USING")
	p.expectWord("WHERE")
	m.Where = p.patterns().group()
	return m
}

// deleteWhere parses DELETE WHERE. Its keywords must have been read.
func (p updateParser) deleteWhere(pos ast.Pos) ast.Operation {
	m := &ast.Modify{Pos: pos, Base: p.names.base, Where: &ast.Group{Pos: p.tok.pos}}
	p.labels.scope = templateScope // there are none
	m.Delete = p.quadPattern("DELETE WHERE")
	for _, quad := range m.Delete {
		for _, name := range []string{ast.LinkNamespace, ast.TextNamespace} {
			if strings.HasPrefix(quad.Predicate.Term.Value(), name) {
				p.fail(quad.Predicate.Pos, "%s is a function, and DELETE WHERE deletes what its pattern has; expected DELETE { ... } WHERE { ... }", quad.Predicate.Term)
			}
		}
	}
	for i := 0; i < len(m.Delete); {
		graph := m.Delete[i].Graph
		triples := &ast.Triples{Pos: m.Delete[i].Position()}
		for i < len(m.Delete) && m.Delete[i].Graph == graph {
			triples.Patterns = append(triples.Patterns, m.Delete[i].TriplePattern)
			i++
		}
		var element ast.Pattern = triples
		if !graph.IsZero() {
			inner := &ast.Group{Pos: graph.Pos, Elements: []ast.Pattern{triples}}
			element = &ast.Graph{Pos: graph.Pos, Name: graph, Group: inner}
		}
		m.Where.Elements = append(m.Where.Elements, element)
	}
	return m
}

// quadPattern parses QuadPattern. noBlanks names the part without blank nodes; "" if they are
// allowed.
func (p updateParser) quadPattern(noBlanks string) []ast.QuadPattern {
	var quads []ast.QuadPattern
	t := triplesParser{patternParser: p.patterns(), noBlanks: noBlanks}
	p.quads(&t, func(graph ast.Node, t ast.TriplePattern) {
		quads = append(quads, ast.QuadPattern{Graph: graph, TriplePattern: t})
	})
	return quads
}

// quadData parses QuadData.
func (p updateParser) quadData(noBlanks string) []triple.Triple {
	var triples []triple.Triple
	t := triplesParser{patternParser: p.patterns(), noBlanks: noBlanks, data: true}
	p.quads(&t, func(graph ast.Node, t ast.TriplePattern) {
		triples = append(triples, triple.Triple{
			Subject: t.Subject.Term, Predicate: t.Predicate.Term, Object: t.Object.Term, Graph: graph.Term,
		})
	})
	return triples
}

// quads parses Quads in braces and calls each for every one.
func (p updateParser) quads(t *triplesParser, each func(graph ast.Node, t ast.TriplePattern)) {
	var graph ast.Node
	t.sink = func(pattern ast.TriplePattern) { each(graph, pattern) }
	p.expect("{")
	t.block()
	for p.takeWord("GRAPH") {
		if t.data && p.tok.kind == tokVar {
			t.noVariable()
		}
		graph = p.varOrIRI("the graph's IRI")
		p.expect("{")
		t.block()
		if !p.tok.is("}") {
			p.expected("'.', ',', ';' or '}' after a triple")
		}
		p.advance()
		graph = ast.Node{}
		p.take(".")
		t.block()
	}
	if !p.tok.is("}") {
		p.expected("a triple, GRAPH or '}'")
	}
	p.advance()
}
