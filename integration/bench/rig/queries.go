// The SPARQL queries on the LUBM-like data.

package rig

import (
	"slices"
	"strings"
)

// Query is a query on the LUBM-like data.
type Query struct {
	Name   string
	Target string
	Text   string // without the prefixes
	// MaxReads, if it is not 0, limits the rows of the store that the query may read. More
	// is a failure of the planner, even if the query is fast. If it is negative, the query
	// may read no more rows than it returns.
	MaxReads int64
}

// QueryPrefixes must stand before the text of a query.
const QueryPrefixes = `PREFIX u: <http://trefoil.example/onto/univ-bench.owl#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
`

// univ0 and dept0 are in the data of each size and seed.
const (
	univ0 = "<http://www.University0.edu>"
	dept0 = "<http://www.Department0.University0.edu>"
)

// Queries are the 14 queries of LUBM (Guo, Pan, Heflin: LUBM: A Benchmark for OWL Knowledge
// Base Systems, 2005) for the generator's schema, and shapes that an ordered store must be
// good at. There is no inference. If an original query requests a class that has only
// subclasses, or for an implied property, the union or the path is written out.
var Queries = []Query{
	{"LUBM 1: graduate students of a course", "5 ms",
		`SELECT ?x { ?x a u:GraduateStudent ; u:takesCourse <http://www.Department0.University0.edu/GraduateCourse0> }`, 0},
	{"LUBM 2: graduates at the university of their first degree (triangle)", "-",
		`SELECT ?x ?y ?z { ?x a u:GraduateStudent . ?y a u:University . ?z a u:Department .
		 ?x u:memberOf ?z . ?z u:subOrganizationOf ?y . ?x u:undergraduateDegreeFrom ?y }`, 0},
	{"LUBM 3: publications of a professor", "5 ms",
		`SELECT ?x { ?x a u:Publication ; u:publicationAuthor <http://www.Department0.University0.edu/AssistantProfessor0> }`, 0},
	{"LUBM 4: professors of a department (star of 5)", "5 ms",
		`SELECT ?x ?n ?e ?t { ?x u:worksFor ` + dept0 + ` ; a ?c ; u:name ?n ; u:emailAddress ?e ; u:telephone ?t
		 VALUES ?c { u:FullProfessor u:AssociateProfessor u:AssistantProfessor } }`, 0},
	{"LUBM 5: persons of a department", "5 ms",
		`SELECT ?x { { ?x u:memberOf ` + dept0 + ` } UNION { ?x u:worksFor ` + dept0 + ` } }`, 0},
	{"LUBM 6: all students", "1,000,000 rows/s",
		`SELECT ?x { ?x a ?c VALUES ?c { u:UndergraduateStudent u:GraduateStudent } }`, 0},
	{"LUBM 7: students of a professor's courses", "5 ms",
		`SELECT ?x ?y { <http://www.Department0.University0.edu/AssociateProfessor0> u:teacherOf ?y . ?x u:takesCourse ?y }`, 0},
	{"LUBM 8: students of a university with mail addresses", "1,000,000 rows/s",
		`SELECT ?x ?y ?e { ?y u:subOrganizationOf ` + univ0 + ` ; a u:Department . ?x u:memberOf ?y ; u:emailAddress ?e }`, 0},
	{"LUBM 9: students in a course of their adviser (triangle)", "1,000,000 rows/s",
		`SELECT ?x ?y ?z { ?x u:advisor ?y . ?y u:teacherOf ?z . ?x u:takesCourse ?z }`, 0},
	{"LUBM 10: students of a course", "5 ms",
		`SELECT ?x { ?x u:takesCourse <http://www.Department0.University0.edu/GraduateCourse0> ; a ?c VALUES ?c { u:UndergraduateStudent u:GraduateStudent } }`, 0},
	{"LUBM 11: research groups of a university", "5 ms",
		`SELECT ?x { ?x a u:ResearchGroup ; u:subOrganizationOf/u:subOrganizationOf? ` + univ0 + ` }`, 0},
	{"LUBM 12: heads of departments of a university", "5 ms",
		`SELECT ?x ?y { ?y u:subOrganizationOf ` + univ0 + ` ; a u:Department . ?x u:headOf ?y }`, 0},
	{"LUBM 13: alumni of a university", "5 ms",
		`SELECT ?x { ?x u:undergraduateDegreeFrom|u:mastersDegreeFrom|u:doctoralDegreeFrom ` + univ0 + ` }`, 0},
	{"LUBM 14: all undergraduates", "1,000,000 rows/s",
		`SELECT ?x { ?x a u:UndergraduateStudent }`, 0},

	{"star: one student, all that is known", "5 ms",
		`SELECT * { <http://www.Department0.University0.edu/GraduateStudent0> u:name ?n ; u:emailAddress ?e ; u:memberOf ?d ; u:gpa ?g ; u:advisor ?a ; u:age ?b }`, 0},
	{"star: graduates, by four properties", "1,000,000 rows/s",
		`SELECT (COUNT(*) AS ?n) { ?x a u:GraduateStudent ; u:memberOf ?d ; u:advisor ?a ; u:age ?g }`, 0},
	{"star of three bound ends (intersection)", "-",
		`SELECT ?x { ?x a u:GraduateStudent ; u:undergraduateDegreeFrom <http://www.University7.edu> ; u:age 25 }`, 0},
	{"chain of 4 with a bound end", "5 ms",
		`SELECT ?s ?p ?c { ?p u:worksFor ` + dept0 + ` . ?p u:teacherOf ?c . ?s u:takesCourse ?c . ?s u:age 23 }`, 0},
	{"chain of 3, open: adviser's courses, counted", "1,000,000 rows/s",
		`SELECT (COUNT(*) AS ?n) { ?s u:advisor ?p . ?p u:teacherOf ?c . ?c u:credits ?k }`, 0},
	{"snowflake: publications with author, department, university", "1,000,000 rows/s",
		`SELECT (COUNT(*) AS ?n) { ?w u:publicationAuthor ?a ; u:published ?t . ?a u:worksFor ?d ; u:age ?g . ?d u:subOrganizationOf ?u . ?u u:public true }`, 0},
	{"value range: ages 30 to 34, rows", "reads only those rows",
		`SELECT ?x ?g { ?x u:age ?g FILTER(?g >= 30 && ?g < 35) }`, -1},
	{"value range: a day of publications", "5 ms",
		`SELECT ?x ?t { ?x u:published ?t FILTER(?t >= "2020-06-01T00:00:00Z"^^xsd:dateTime && ?t < "2020-06-02T00:00:00Z"^^xsd:dateTime) }`, 0},
	{"value range joined: names of students with the best marks", "5 ms",
		`SELECT ?n ?g { ?x u:gpa ?g ; u:name ?n FILTER(?g >= 3.99) } LIMIT 100`, 2000},
	{"string start: labels", "5 ms",
		`SELECT ?x ?l { ?x rdfs:label ?l FILTER(STRSTARTS(?l, "Institut f")) } LIMIT 100`, 2000},
	{"top-k on the order: the 10 latest publications", "tens of rows",
		`SELECT ?x ?t { ?x u:published ?t } ORDER BY DESC(?t) LIMIT 10`, 100},
	{"top-k joined: the 10 latest publications and their authors", "5 ms",
		`SELECT ?x ?t ?a { ?x u:published ?t ; u:publicationAuthor ?a } ORDER BY DESC(?t) LIMIT 10`, 2000},
	{"top-k by a heap: names of courses", "-",
		`SELECT ?x ?n { ?x a u:Course ; u:name ?n } ORDER BY ?n ?x LIMIT 10`, 0},
	{"count: triples of u:takesCourse", "100 ms for 1 million",
		`SELECT (COUNT(*) AS ?n) { ?x u:takesCourse ?c }`, 0},
	{"count: everything", "-",
		`SELECT (COUNT(*) AS ?n) { ?s ?p ?o }`, 0},
	{"count distinct: teachers", "-",
		`SELECT (COUNT(DISTINCT ?x) AS ?n) { ?x u:teacherOf ?c }`, 0},
	{"path: all parts of a university", "5 ms",
		`SELECT ?x { ?x u:subOrganizationOf+ ` + univ0 + ` }`, 0},
	{"path: who is linked to a professor by advice and works", "-",
		`SELECT (COUNT(DISTINCT ?x) AS ?n) { ?x (u:advisor|^u:publicationAuthor/u:publicationAuthor)+ <http://www.Department0.University0.edu/FullProfessor0> }`, 0},
	{"aggregate over a predicate: students by age", "1,000,000 rows/s",
		`SELECT ?g (COUNT(*) AS ?n) { ?x u:age ?g } GROUP BY ?g ORDER BY ?g`, 0},
	{"aggregate joined: mean mark by department", "1,000,000 rows/s",
		`SELECT ?d (AVG(?g) AS ?m) { ?x u:memberOf ?d ; u:gpa ?g } GROUP BY ?d`, 0},
	{"OPTIONAL: undergraduates and their advisers", "1,000,000 rows/s",
		`SELECT (COUNT(?a) AS ?n) { ?x a u:UndergraduateStudent OPTIONAL { ?x u:advisor ?a } }`, 0},
	{"NOT EXISTS: undergraduates without advisers", "-",
		`SELECT (COUNT(*) AS ?n) { ?x a u:UndergraduateStudent FILTER NOT EXISTS { ?x u:advisor ?a } }`, 0},
	{"DISTINCT: pairs of departments and degrees", "-",
		`SELECT (COUNT(*) AS ?n) { SELECT DISTINCT ?d ?v { ?x u:worksFor ?d ; u:doctoralDegreeFrom ?v } }`, 0},
	{"regular expression over a predicate", "-",
		`SELECT (COUNT(*) AS ?n) { ?x rdfs:label ?l FILTER REGEX(?l, "physi[ck]", "i") }`, 0},
}

// QueriesNamed returns the queries whose names begin with one of some prefixes.
func QueriesNamed(prefixes ...string) (found []Query) {
	for _, q := range Queries {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(q.Name, p) }) {
			found = append(found, q)
		}
	}
	return found
}
