// Tests of annotations in SPARQL.

package server

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/triple"
)

const annotationPrefix = "PREFIX ann: <urn:trefoil:annotations#>\n"

// TestAnnotationsInSPARQL checks SERVICE <urn:trefoil:annotations>, with and without tokens.
func TestAnnotationsInSPARQL(t *testing.T) {
	db := newStore(t)
	addQuads(t, db, "<a:a> <a:p> \"1\" .\n<a:b> <a:p> <a:o> <a:g> .\n<a:c> <a:q> <a:a> .\n<a:c> <a:q> <a:b> .\n")
	options := Options{Token: "c", OperatorToken: "o", Applications: []access.Application{{ID: "mine", Token: "m"}}}
	s := serve(t, db, options, ServerOptions{})
	operator := []string{"Authorization", "Bearer o"}
	for target, text := range map[string]string{
		annotationTarget("x"): "text", annotationTarget("mine"): "secret",
		"/annotations?s=<a:b>&p=<a:p>&o=<a:o>&g=<a:g>&app=x": "named",
	} {
		s.do("PUT", target, text, append(operator, "Content-Type", "text/plain")...).want(t, 204, "")
	}
	s.do("PUT", annotationTarget("image"), "\xff", append(operator, "Content-Type", "image/png")...).want(t, 204, "")
	for _, c := range []struct{ token, query, want string }{
		// The annotations of one triple, of all, and of the triples of a pattern.
		{"o", `SELECT ?app ?v { SERVICE <urn:trefoil:annotations> { ?n ann:subject <a:a> ; ann:predicate <a:p> ; ann:object "1" ; ann:application ?app ; ann:value ?v } } ORDER BY ?app`,
			"app,v\nimage,/w==\nmine,secret\nx,text\n"},
		{"o", `SELECT ?s ?g ?bytes ?type { SERVICE <urn:trefoil:annotations> { ?n ann:application "x" ; ann:subject ?s ; ann:bytes ?bytes ; ann:type ?type OPTIONAL { ?n ann:graph ?g } } } ORDER BY ?s`,
			"s,g,bytes,type\na:a,,4,text/plain\na:b,a:g,5,text/plain\n"},
		{"o", `SELECT ?of ?v { <a:c> <a:q> ?of SERVICE <urn:trefoil:annotations> { ?n ann:subject ?of ; ann:application "x" ; ann:value ?v FILTER(?v != "no") } } ORDER BY ?of`,
			"of,v\na:a,text\na:b,named\n"},
		{"o", `SELECT (COUNT(?n) AS ?c) { SERVICE <urn:trefoil:annotations> { ?n ann:version ?v } }`, "c\n4\n"},
		// Whose token it is decides.
		{"c", `SELECT ?app { SERVICE <urn:trefoil:annotations> { ?n ann:subject <a:a> ; ann:application ?app } } ORDER BY ?app`, "app\nimage\nx\n"},
		{"m", `SELECT ?app { SERVICE <urn:trefoil:annotations> { ?n ann:application ?app } }`, "app\nmine\n"},
		{"m", `SELECT ?n { SERVICE <urn:trefoil:annotations> { ?n ann:application "x" } }`, "n\n"},
	} {
		got := s.get("/sparql?query="+url.QueryEscape(annotationPrefix+c.query), "Authorization", "Bearer "+c.token, "Accept", "text/csv")
		if body := strings.ReplaceAll(got.body, "\r\n", "\n"); got.status != 200 || body != c.want {
			t.Errorf("%s\n%d %q, want %q", c.query, got.status, body, c.want)
		}
	}
	// An update reads what its token may read.
	update := annotationPrefix + `INSERT { ?s <a:noted> ?app } WHERE { SERVICE <urn:trefoil:annotations> { ?n ann:subject ?s ; ann:application ?app } }`
	s.do("POST", "/sparql", update, "Authorization", "Bearer m", "Content-Type", "application/sparql-update").want(t, 200, `{"added":1,"deleted":0,"isolation":"snapshot"}`+"\n")
	if got := s.get("/sparql?query="+url.QueryEscape(`SELECT * { ?s <a:noted> ?app }`), "Authorization", "Bearer m", "Accept", "text/csv"); strings.ReplaceAll(got.body, "\r\n", "\n") != "s,app\na:a,mine\n" {
		t.Errorf("%d %s", got.status, got.body)
	}
	// Mistakes and limits are the client's.
	for i := range 9 {
		s.do("PUT", annotationTarget(fmt.Sprint("large", i)), strings.Repeat("x", triple.MaxAnnotationContent), append(operator, "Content-Type", "text/plain")...).want(t, 204, "")
	}
	for _, c := range []struct {
		query  string
		status int
		kind   problem.Kind
		words  string
	}{
		{`ASK { SERVICE <urn:trefoil:annotations> { ?n ann:application "x" FILTER NOT EXISTS { ?m ann:type ?t } } }`, 400, problem.KindBadRequest, "EXISTS"},
		{`ASK { SERVICE <urn:trefoil:annotations> { { SELECT ?n { ?n ann:application "x" } } } }`, 400, problem.KindBadRequest, "triple patterns"},
		{`ASK { SERVICE <urn:trefoil:annotations> { ?n ann:application "x" MINUS { ?n ann:type "x" } } }`, 400, problem.KindBadRequest, "triple patterns"},
		{`SELECT ?v { SERVICE <urn:trefoil:annotations> { ?n ann:value ?v } }`, 422, problem.KindQueryLimit, "more than 8 MiB"},
		{`ASK { SERVICE <urn:trefoil:other> { ?n ann:application "x" } }`, 403, problem.KindForbidden, "SERVICE is off"},
	} {
		s.get("/sparql?query="+url.QueryEscape(annotationPrefix+c.query), operator...).wantError(t, c.status, c.kind, "", c.words)
	}
}
