// The operations: what each route does and answers.

package openapi

import "strings"

// operation describes a method of a path.
type operation struct {
	summary  string
	required []string // of the parameters
	headers  []string // besides Idempotency-Key
	warns    bool     // the answer may have Trefoil-Warning
	body     media
	answer   media
	statuses string // of success besides 200, separated by spaces
	// bare marks an operation that takes none of its route's parameters, because its path names what
	// they would.
	bare bool
}

// media are media types with the names of their schemas; "" is a text or bytes without a schema.
type media map[string]string

func jsonOf(schema string) media { return media{"application/json": schema} }

// types returns media types without schemas.
func types(names string) media {
	m := media{}
	for name := range strings.FieldsSeq(names) {
		m[name] = ""
	}
	return m
}

func mergeMedia(m, more media) media {
	all := media{}
	for _, one := range []media{m, more} {
		for name, schema := range one {
			all[name] = schema
		}
	}
	return all
}

var (
	plain    = types("text/plain")
	quads    = types("application/trig application/n-quads application/ld+json")
	graphs   = mergeMedia(quads, types("text/turtle application/n-triples application/rdf+xml"))
	document = mergeMedia(graphs, types("application/x-ndjson"))
	rows     = mergeMedia(jsonOf("Triples"), types("application/n-quads application/n-triples application/x-ndjson text/turtle application/trig application/rdf+xml application/ld+json"))
	results  = media{"application/sparql-results+json": "Results", "application/json": "Answer", "application/sparql-results+xml": "", "application/xml": "", "text/xml": "", "text/csv": "", "text/tab-separated-values": ""}
	// An answer to SPARQL is one of results, of graphs, or a plan, as the query says.
	answers   = mergeMedia(results, mergeMedia(graphs, types("text/plain")))
	queries   = types("application/sparql-query application/x-www-form-urlencoded")
	texts     = types("application/x-www-form-urlencoded application/sparql-query application/sparql-update")
	binary    = types("application/vnd.trefoil.links")
	question  = mergeMedia(jsonOf("LinksQuestion"), binary)
	linkLists = mergeMedia(jsonOf("LinkLists"), binary)
)

// operations are all operations by method and template. A template is a path of the table, or one
// below it.
var operations = map[string]operation{
	// The page, and descriptions.
	"GET /":               {summary: "The console, a page for browsers", answer: types("text/html")},
	"GET /console/{file}": {summary: "A file of the console", answer: types("text/html text/javascript text/css image/svg+xml")},
	"GET /openapi.json":   {summary: "This document", answer: jsonOf("OpenAPI")},

	"GET /.well-known/void": {summary: "The description of the data set as VoID, with counts", headers: []string{"If-None-Match"}, answer: mergeMedia(graphs, plain)},

	// Triples.
	"GET /triples":    {summary: "The triples that match a pattern", answer: rows},
	"POST /triples":   {summary: "Adds a document", body: document, answer: jsonOf("Added")},
	"DELETE /triples": {summary: "Deletes the triples of a document, or those that match a pattern", body: document, answer: jsonOf("Deleted")},
	"GET /range":      {summary: "The triples of one order between bounds", required: []string{"order"}, answer: rows},
	"GET /count":      {summary: "How many triples match a pattern", answer: jsonOf("Count")},
	"GET /where":      {summary: "Which machines have a triple, and why", required: []string{"s", "p", "o"}, answer: jsonOf("Whereabouts")},
	"POST /load":      {summary: "Loads a document of any size in bulk", body: document, answer: jsonOf("Loaded")},
	"GET /fragments":  {summary: "Triple and Quad Pattern Fragments", headers: []string{"If-None-Match"}, answer: graphs},

	// Annotations.
	"GET /annotations":    {summary: "An annotation of a triple, or the list of all of them without app", required: []string{"s", "p", "o"}, headers: []string{"If-None-Match"}, answer: mergeMedia(jsonOf("Annotations"), types("*/*"))},
	"PUT /annotations":    {summary: "Sets an annotation", required: []string{"s", "p", "o", "app"}, headers: []string{"If-Match", "If-None-Match"}, body: types("*/*"), statuses: "204"},
	"DELETE /annotations": {summary: "Removes an annotation", required: []string{"s", "p", "o", "app"}, headers: []string{"If-Match", "If-None-Match"}, statuses: "204"},
	"POST /annotations":   {summary: "Changes annotations, one a line", body: types("application/x-ndjson"), answer: jsonOf("AnnotationBatch")},

	// SPARQL.
	"GET /sparql":   {summary: "A query; without parameters the service description", headers: []string{"If-None-Match"}, answer: answers, warns: true},
	"POST /sparql":  {summary: "A query or an update", headers: []string{"Idempotency-Key"}, body: texts, answer: answers, warns: true},
	"QUERY /sparql": {summary: "A query, whose body changes nothing", headers: []string{"If-None-Match"}, body: queries, answer: answers, warns: true},
	"GET /query":    {summary: "Another name of /sparql", headers: []string{"If-None-Match"}, answer: answers, warns: true},
	"POST /query":   {summary: "Another name of /sparql", headers: []string{"Idempotency-Key"}, body: texts, answer: answers, warns: true},
	"QUERY /query":  {summary: "Another name of /sparql", headers: []string{"If-None-Match"}, body: queries, answer: answers, warns: true},
	"GET /update":   {summary: "Another name of /sparql", headers: []string{"If-None-Match"}, answer: answers},
	"POST /update":  {summary: "Another name of /sparql", headers: []string{"Idempotency-Key"}, body: texts, answer: answers},
	"QUERY /update": {summary: "Another name of /sparql", headers: []string{"If-None-Match"}, body: queries, answer: answers},

	// Graph Store.
	"GET /data":           {summary: "A graph; without parameters the whole data set", headers: []string{"If-None-Match"}, answer: graphs},
	"PUT /data":           {summary: "Replaces a graph, or all graphs", headers: []string{"If-Match", "If-None-Match"}, body: mergeMedia(graphs, types("multipart/form-data")), statuses: "201 204"},
	"POST /data":          {summary: "Adds to a graph; without parameters makes a new one, or adds to all graphs", headers: []string{"If-Match", "If-None-Match"}, body: mergeMedia(graphs, types("multipart/form-data")), answer: jsonOf("GraphAdded"), statuses: "201 204"},
	"DELETE /data":        {summary: "Deletes a graph", headers: []string{"If-Match", "If-None-Match"}, answer: jsonOf("GraphDeleted")},
	"GET /data/{path}":    {summary: "The graph whose IRI is the URL of the request", headers: []string{"If-None-Match"}, answer: graphs, bare: true},
	"PUT /data/{path}":    {summary: "Replaces this graph", headers: []string{"If-Match", "If-None-Match"}, body: mergeMedia(graphs, types("multipart/form-data")), statuses: "201 204", bare: true},
	"POST /data/{path}":   {summary: "Adds to this graph", headers: []string{"If-Match", "If-None-Match"}, body: mergeMedia(graphs, types("multipart/form-data")), answer: jsonOf("GraphAdded"), statuses: "201 204", bare: true},
	"DELETE /data/{path}": {summary: "Deletes this graph", headers: []string{"If-Match", "If-None-Match"}, answer: jsonOf("GraphDeleted"), bare: true},

	// Changes, subscriptions and functions.
	"GET /changes":                 {summary: "The change feed as a stream", headers: []string{"Last-Event-ID"}, answer: types("application/x-ndjson text/event-stream application/rdf-patch")},
	"GET /changes/position":        {summary: "The end of the change feed", answer: jsonOf("Position")},
	"GET /subscriptions":           {summary: "All subscriptions", answer: jsonOf("Subscriptions")},
	"GET /subscriptions/{name}":    {summary: "A subscription", answer: jsonOf("Subscription")},
	"PUT /subscriptions/{name}":    {summary: "Registers a subscription, or changes it", answer: jsonOf("Subscription")},
	"POST /subscriptions/{name}":   {summary: "Stores how far the application is", required: []string{"position"}, answer: jsonOf("Empty")},
	"DELETE /subscriptions/{name}": {summary: "Deletes a subscription", answer: jsonOf("Empty")},
	"GET /functions":               {summary: "All update functions", answer: jsonOf("Functions")},
	"GET /functions/{name}":        {summary: "An update function, or its module", answer: mergeMedia(jsonOf("Function"), types("application/wasm"))},
	"PUT /functions/{name}":        {summary: "Registers an update function", body: types("application/wasm"), answer: jsonOf("Function")},
	"DELETE /functions/{name}":     {summary: "Deletes an update function", answer: jsonOf("NameDeleted")},

	// Prefixes.
	"GET /prefixes":           {summary: "All prefixes", answer: mergeMedia(jsonOf("Prefixes"), types("text/turtle"))},
	"POST /prefixes":          {summary: "Keeps those prefixes whose names are new", body: jsonOf("Names"), statuses: "204"},
	"GET /prefixes/{name}":    {summary: "A prefix", answer: jsonOf("Prefix")},
	"PUT /prefixes/{name}":    {summary: "Sets a prefix", required: []string{"iri"}, answer: jsonOf("Prefix")},
	"DELETE /prefixes/{name}": {summary: "Removes a prefix", answer: jsonOf("NameDeleted")},

	// Text search.
	"GET /search":  {summary: "The best literals for a query", required: []string{"q"}, answer: jsonOf("Found")},
	"GET /text":    {summary: "The predicates whose literals are indexed", answer: jsonOf("TextPredicates")},
	"PUT /text":    {summary: "Indexes the literals of a predicate", required: []string{"p"}, answer: jsonOf("TextPredicate")},
	"DELETE /text": {summary: "Ends the index of a predicate", required: []string{"p"}, answer: jsonOf("TextPredicate")},

	// Links.
	"POST /links/uids":       {summary: "UIDs of URLs", body: question, answer: mergeMedia(jsonOf("UIDs"), binary)},
	"POST /links/urls":       {summary: "URLs of UIDs", body: question, answer: mergeMedia(jsonOf("URLs"), binary)},
	"POST /links/get":        {summary: "Links of pages, forward or backward", body: question, answer: linkLists},
	"POST /links/sample":     {summary: "Samples of links of pages", body: question, answer: linkLists},
	"POST /links/degrees":    {summary: "How many links pages have", body: question, answer: mergeMedia(jsonOf("Degrees"), binary)},
	"POST /links/labels":     {summary: "The labels of pages", body: jsonOf("LinksQuestion"), answer: jsonOf("Labels")},
	"POST /links/rank":       {summary: "Ranks pages by the links around them", body: jsonOf("LinksQuestion"), answer: jsonOf("Ranking")},
	"GET /links/pages":       {summary: "The UIDs of all pages", answer: mergeMedia(jsonOf("Pages"), binary)},
	"GET /links/stats":       {summary: "Figures of the graph of links", answer: jsonOf("LinkStats")},
	"POST /links/update":     {summary: "Adds, deletes and replaces links", body: types("application/x-ndjson"), answer: jsonOf("LinksUpdated")},
	"GET /links/pagerank":    {summary: "The state of the PageRank job", answer: jsonOf("PageRankJob")},
	"POST /links/pagerank":   {summary: "Begins a PageRank job", body: jsonOf("PageRankOptions"), answer: jsonOf("PageRankJob")},
	"DELETE /links/pagerank": {summary: "Stops the PageRank job", answer: jsonOf("PageRankJob")},
	"GET /links/stores":      {summary: "What each machine has of the graph of links in memory", answer: jsonOf("LinkStores")},
	"POST /links/stores":     {summary: "Loads and unloads stores of the graph of links", body: jsonOf("StoresQuestion"), answer: jsonOf("LinkStores")},

	// Operation.
	"GET /status":                {summary: "The state of the store or cluster", answer: jsonOf("Status")},
	"GET /metrics":               {summary: "Metrics for Prometheus", answer: plain},
	"GET /healthz":               {summary: "200 while the process answers", answer: plain},
	"GET /readyz":                {summary: "200 while the store works, no shutdown has begun and the named follower of the change feed advances, else 503", answer: plain},
	"GET /check":                 {summary: "Verifies everything", answer: jsonOf("Report")},
	"GET /backup":                {summary: "A backup as a tar archive; with since, the changes behind an earlier one", answer: types("application/x-tar")},
	"POST /restore":              {summary: "Fills an empty store from backups of clusters", body: types("application/x-tar"), answer: jsonOf("Restored")},
	"GET /queries":               {summary: "The queries that run at all members, and the slow ones", answer: jsonOf("Queries")},
	"DELETE /queries/{id}":       {summary: "Stops a query", answer: jsonOf("Query")},
	"GET /debug/pprof":           {summary: "The names of the profiles", answer: plain},
	"GET /debug/pprof/{profile}": {summary: "A profile of the process, for go tool pprof; with debug, a text", answer: types("application/octet-stream text/plain")},
	"GET /cluster/activity":      {summary: "What each machine does and uses", answer: jsonOf("Activities")},
	"GET /cluster/status":        {summary: "Another name of /status", answer: jsonOf("Status")},
	"POST /cluster/leave":        {summary: "Lets a machine go: without machine, this one", answer: jsonOf("Status")},
	"POST /cluster/remove":       {summary: "Gives up a machine", required: []string{"machine"}, answer: jsonOf("Status")},
	"POST /cluster/accept-loss":  {summary: "Reads what is left of lost ranges as if it were all", answer: jsonOf("Status")},
	"POST /cluster/copies":       {summary: "Changes how many machines hold each triple", required: []string{"copies"}, answer: jsonOf("Status")},
	"GET /segments":              {summary: "The owners of partitions and segments, and what moves", answer: jsonOf("SegmentMap")},
}
