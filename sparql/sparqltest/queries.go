// Queries with a large need for memory.

package sparqltest

// Spilling lists queries that need more than a little memory, with the operators that go to
// temporary files.
var Spilling = []struct {
	Query   string
	Ordered bool
	Spills  string // the operator that must go to files; "" if it varies
}{
	{`SELECT ?a ?n ?k { ?a <x:name> ?n OPTIONAL { ?a <x:knows> ?k } } ORDER BY DESC(?n) ?k ?a`, true, "order by"},
	{`SELECT ?a ?x { ?a <x:age> ?x } ORDER BY ?x`, true, "order by"},
	{`SELECT ?a ?n { ?a <x:name> ?n } ORDER BY STRLEN(?n) LIMIT 800`, true, "top"},
	{`SELECT DISTINCT ?a ?n { ?a <x:name> ?n . ?a <x:age> ?x . ?b <x:age> 7 }`, false, "distinct"},
	{`SELECT DISTINCT ?n ?x { ?a <x:name> ?n . ?a <x:age> ?x . ?b <x:age> 7 } ORDER BY ?x DESC(?n)`, true, "distinct"},
	{`SELECT REDUCED ?n { ?a <x:name> ?n }`, false, ""},
	{`SELECT ?n (COUNT(*) AS ?c) (SUM(?x) AS ?s) (AVG(?y) AS ?v) (MIN(?k) AS ?least) (MAX(?x) AS ?most)
	  { ?a <x:name> ?n . ?a <x:age> ?x . ?a <x:paid> ?y OPTIONAL { ?a <x:knows> ?k } } GROUP BY ?n`, false, "group"},
	{`SELECT ?x (COUNT(DISTINCT ?n) AS ?c) (SUM(DISTINCT ?y) AS ?s) (COUNT(?k) AS ?d) { ?a <x:age> ?x . ?a <x:name> ?n . ?a <x:paid> ?y OPTIONAL { ?a <x:knows> ?k } }
	  GROUP BY ?x`, false, "group"},
	{`SELECT ?x (GROUP_CONCAT(?n; SEPARATOR=", ") AS ?all) (SAMPLE(?n) AS ?one) (COUNT(?k) AS ?c) { ?a <x:age> ?x . ?a <x:name> ?n OPTIONAL { ?a <x:knows> ?k } }
	  GROUP BY ?x`, false, "group"},
	{`SELECT (STRLEN(?n) AS ?l) (GROUP_CONCAT(DISTINCT ?x) AS ?all) (COUNT(DISTINCT *) AS ?c) { ?a <x:age> ?x . ?a <x:name> ?n } GROUP BY ?n`, false, "group"},
	{`SELECT (COUNT(DISTINCT ?n) AS ?c) { ?a ?p ?n . ?a <x:age> ?x }`, false, "distinct"},
	{`SELECT ?x (COUNT(DISTINCT ?n) AS ?c) { ?a <x:name> ?n . ?a <x:age> ?x } GROUP BY ?x`, false, "distinct"},
	{`SELECT ?x (COUNT(DISTINCT *) AS ?c) { ?a <x:name> ?n . ?a <x:age> ?x } GROUP BY ?x`, false, "distinct"},
	{`SELECT * { ?a <x:age> ?x . { SELECT ?a ?n { ?a <x:name> ?n } } }`, false, "hash join"},
	{`SELECT * { ?a <x:age> 7 . { SELECT ?a ?k { ?a <x:name> ?n OPTIONAL { ?a <x:knows> ?k } } } { SELECT ?k ?a ?y { ?k <x:age> ?y } } }`, false, "hash join"},
	{`SELECT * { ?a <x:age> 7 . { SELECT ?b ?n { ?b <x:name> ?n } } }`, false, "hash join"},
	{`SELECT * { ?a <x:age> ?x OPTIONAL { SELECT ?a ?n { ?a <x:name> ?n FILTER(STRLEN(?n) > 7) } } }`, false, "hash left join"},
	{`SELECT * { ?a <x:age> ?x OPTIONAL { { SELECT ?a ?n { ?a <x:name> ?n } } FILTER(STRLEN(?n) < 2 * ?x) } }`, false, "hash left join"},
	{`SELECT * { ?a <x:age> 7 OPTIONAL { ?a <x:knows> ?k } OPTIONAL { SELECT ?k ?n { ?b <x:age> ?x OPTIONAL { ?k <x:name> ?n FILTER(?k = ?b) } } LIMIT 3000 } }`, false, ""},
	{`SELECT * { ?a <x:age> ?x MINUS { ?a <x:name> ?n FILTER(STRLEN(?n) > 7) } }`, false, "minus"},
	{`SELECT ?a ?x { ?a <x:age> ?x MINUS { ?a <x:name> ?n FILTER(STRLEN(?n) > 7) } } ORDER BY ?x ?a LIMIT 700`, true, "minus"},
	{`SELECT ?a ?x ?n ?z { ?a <x:age> ?x OPTIONAL { ?a <x:knows> ?k . { SELECT ?k ?n ?z { ?k <x:name> ?n . ?k <x:age> ?z } } } }`, false, ""},
	{`SELECT * { ?a <x:age> 7 FILTER EXISTS { ?a <x:knows> ?k . { SELECT DISTINCT ?k { ?k <x:name> ?n } } } }`, false, ""},
}
