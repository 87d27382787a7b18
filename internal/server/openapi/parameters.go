// The meanings of the parameters in URLs and headers.

package openapi

// parameter is a parameter of a name, which means the same at every endpoint that takes it, unless
// an operation describes it anew.
type parameter struct {
	text    string
	schema  schema
	example any // nil if there is none that works in every store
}

// schema is a JSON Schema.
type schema map[string]any

var (
	text    = schema{"type": "string"}
	flag    = schema{"type": "boolean", "default": false}
	number  = schema{"type": "integer", "minimum": 1}
	natural = schema{"type": "integer", "minimum": 0}
	iri     = schema{"type": "string", "format": "iri"}
	iris    = schema{"type": "array", "items": iri}
	size    = schema{"type": "string", "pattern": "^[0-9]+(KiB|MiB|GiB|TiB)?$"}
)

func oneOf(values ...any) schema { return schema{"type": "string", "enum": values} }

// parameters are those in URLs, by name.
var parameters = map[string]parameter{
	// Patterns and ranges.
	"s":      {"The subject, as a term in N-Triples syntax", text, "<http://example.org/a>"},
	"p":      {"The predicate, as a term in N-Triples syntax; a is rdf:type", text, "<http://example.org/name>"},
	"o":      {"The object, as a term in N-Triples syntax; numbers and booleans may stand without quotes", text, `"Ada"`},
	"g":      {"The graph, as a term in N-Triples syntax; default is the default graph", text, "default"},
	"order":  {"The order that is read", oneOf("spo", "pos", "osp", "gspo"), "spo"},
	"prefix": {"The leading terms of the order, separated by spaces", text, "<http://example.org/a>"},
	"ge":     {"The next term is at least this, by value", text, "<http://example.org/a>"},
	"gt":     {"The next term is greater than this, by value", text, "<http://example.org/a>"},
	"le":     {"The next term is at most this, by value", text, "<http://example.org/z>"},
	"lt":     {"The next term is less than this, by value", text, "<http://example.org/z>"},
	"starts": {"The next term begins with this", text, "<http://example.org/"},
	"from":   {"The place in the order to begin at: one to four terms", text, "<http://example.org/a>"},
	"until":  {"The place in the order to end before: one to four terms", text, "<http://example.org/z>"},

	// Pages and streams.
	"reverse":     {"Reads from the end to the beginning", flag, true},
	"offset":      {"How many items to skip first", natural, 1},
	"limit":       {"The most items of a page; without it an answer may have all", number, 2},
	"cursor":      {"Where the page begins, as the page before announced it", text, nil},
	"annotations": {"Adds the annotations of each triple", flag, true},
	"estimate":    {"Accepts an estimate, which costs very little", flag, true},

	// Documents and loads.
	"graph":      {"The IRI of a graph", iri, "http://example.org/g"},
	"base":       {"The IRI against which relative ones are resolved", iri, "http://example.org/"},
	"blank":      {"Whether blank nodes get new labels or keep those that are written", oneOf("fresh", "keep"), "keep"},
	"keep-going": {"Leaves malformed statements out, and does not stop at the first", flag, true},
	"rejects":    {"How many of these are named", natural, 10},
	"memory":     {"The memory that may be used, as 64MiB", size, "64MiB"},
	"max-line":   {"The greatest line or token", size, "1MiB"},
	"rdf-star":   {"Reads quoted triples of the RDF-star drafts, as blank nodes that reify them", flag, true},
	"unchecked":  {"Loads although there are checks among the update functions", flag, true},

	// Changes, subscriptions and functions.
	"kinds":        {"Names of kinds of changes, separated by commas: add, delete, annotate, load, clear, read", text, "add,delete"},
	"app":          {"The ID of an application", text, "reviews"},
	"since":        {"A position of the change feed; 0 is the oldest change that is kept", text, nil},
	"follow":       {"Whether the answer stays open for further changes", schema{"type": "boolean", "default": true}, false},
	"expand":       {"Sends the triples of bulk loads as adds", flag, true},
	"follower":     {"Also require that this follower of the change feed advances", schema{"type": "string", "enum": []string{"text", "links", "columns", "subscriptions", "functions"}}, "text"},
	"heartbeat":    {"Seconds between heartbeats", schema{"type": "integer", "minimum": 1, "maximum": 300}, 15},
	"subscription": {"The name of a subscription, whose filter is used", text, nil},
	"url":          {"The URL of a webhook", schema{"type": "string", "format": "uri"}, "https://example.org/hook"},
	"position":     {"The position up to which the application has the changes", text, nil},
	"arguments":    {"Patterns of other triples that the function gets, one a line", text, "?s <http://example.org/name> ?"},
	"mode":         {"Whether it runs after a change or may reject it", oneOf("after", "check"), "after"},
	"retries":      {"Further tries of a call that failed", natural, 3},
	"then":         {"What follows the last try", oneOf("skip", "stop"), "skip"},
	"loads":        {"Runs for each triple of bulk loads, too", flag, true},
	"timeout":      {"The longest time: of a function in milliseconds, of a query in seconds or as 500ms", text, "10"},

	// SPARQL.
	"query":                 {"A query of SPARQL 1.1", text, "SELECT * WHERE { ?s ?p ?o } LIMIT 2"},
	"update":                {"An update of SPARQL 1.1", text, "INSERT DATA { <http://example.org/a> a <http://example.org/B> }"},
	"explain":               {"The plan in place of the result: true runs nothing, run runs the query", oneOf("true", "false", "run"), "true"},
	"format":                {"The name or media type of a format, which goes before Accept", text, "json"},
	"version":               {"The version of SPARQL of the query or update", oneOf("1.1", "1.2-basic", "1.2"), "1.2"},
	"default-graph-uri":     {"A graph of the query's default graph; may be repeated", iris, nil},
	"named-graph-uri":       {"A named graph of the query; may be repeated", iris, nil},
	"using-graph-uri":       {"A graph of the default graph of an update's WHERE; may be repeated", iris, nil},
	"using-named-graph-uri": {"A named graph of an update's WHERE; may be repeated", iris, nil},
	"default":               {"The default graph; it has no value", schema{"type": "string", "maxLength": 0}, nil},

	// Fragments.
	"subject":   {"The subject: an IRI without brackets", text, "http://example.org/a"},
	"predicate": {"The predicate: an IRI without brackets", text, "http://example.org/name"},
	"object":    {`The object: an IRI without brackets, or "text", "text"@tag or "text"^^datatype`, text, `"Ada"`},

	// Links.
	"epoch": {"The epoch that the whole answer must be of; now is the present one", text, "now"},
	"after": {"The UID behind which the list begins", text, "0"},

	// Text search.
	"q":        {"What literals must have: words, phrases in quotes, prefixes*, fuzzy~ words, AND, OR, NOT or -, and parentheses", text, "graph AND (store OR database) -relational"},
	"lang":     {"A range of language tags: en also has en-GB; none has literals without a tag", text, "en"},
	"scan":     {"Reads the literals of a predicate that has no index", flag, false},
	"brief":    {"Leaves the whole texts out; each hit still has its snippet", flag, false},
	"trigrams": {"Also indexes parts of words, for filters of queries such as CONTAINS and REGEX; without it they end", flag, false},
	"subjects": {"How many subjects of each literal to add", natural, 3},

	// Operators.
	"iri":     {"What the prefix stands for", iri, "http://example.org/"},
	"machine": {"The ID of a machine", text, nil},
	"seconds": {"How long a profile lasts: 30 for profile, 1 for trace; of the others, how much changes meanwhile", schema{"type": "integer", "minimum": 1, "maximum": 300}, 1},
	"debug":   {"1 or 2 is a text", schema{"type": "integer", "minimum": 0, "maximum": 2}, 1},
	"copies":  {"How many machines must hold each triple", schema{"type": "integer", "minimum": 2, "maximum": 5}, 3},
}

// pathParameters are the parts of templates.
var pathParameters = map[string]parameter{
	"name":    {"The name", text, "example"},
	"id":      {"The ID that GET /queries lists", text, nil},
	"profile": {"The name of a profile", text, "heap"},
	"file":    {"A file of the console", text, "console.js"},
	"path":    {"The end of the graph's own IRI, which is the URL of the request", text, "people"},
}

// headers are the headers of requests that change what is done, by name.
var headers = map[string]parameter{
	"Idempotency-Key": {"A text that is new for each change: the change is made once, however often it is sent", schema{"type": "string", "maxLength": 255}, nil},
	"If-Match":        {"Changes only what is there, or has this entity tag", text, nil},
	"If-None-Match":   {"Of a change: * changes only what is not there. Of a read: 304 if the answer has this entity tag", text, nil},
	"Last-Event-ID":   {"A position of the change feed, as since, which it overrides", text, nil},
}
