// /openapi.json against the server: its routes, parameters, media types and schemas.

package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"mime"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links/linkstest"
)

// described is the document, as far as the tests read it.
type described struct {
	Paths      map[string]map[string]*describedOperation
	Components struct{ Schemas map[string]map[string]any }
}

type describedOperation struct {
	Parameters []struct {
		Name, In string
		Required bool
		Example  any
	}
	RequestBody *struct{ Content map[string]any }
	Responses   map[string]struct {
		Content map[string]struct{ Schema map[string]any }
	}
	Security []any
}

// methodOf returns the method of a field of a path.
func methodOf(field string) string { return strings.ToUpper(strings.TrimPrefix(field, "x-")) }

func readDescribed(t *testing.T, s *testServer) (d described) {
	t.Helper()
	got := s.get("/openapi.json")
	if got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if err := json.Unmarshal([]byte(got.body), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func serveAll(t *testing.T) *testServer {
	return serveFunctions(t, Options{Links: linkstest.New(), Subscriptions: newRegistry(newStore(t)), SlowQuery: time.Nanosecond})
}

var templateRest = regexp.MustCompile(`/\{.*`)

// TestOpenAPIRoutes: the document has all routes of the server, and all that operations.go describes. The table of
// rights has all routes, whatever the options of a node are, because New fails without a rule.
func TestOpenAPIRoutes(t *testing.T) {
	s := serveAll(t)
	routes, templates := map[string]bool{}, map[string]bool{}
	for template, methods := range readDescribed(t, s).Paths {
		for method := range methods {
			templates[methodOf(method)+" "+template] = true
			routes[methodOf(method)+" "+templateRest.ReplaceAllString(template, "")] = true
		}
	}
	registered := map[string]bool{}
	for _, e := range s.api.Endpoints() {
		registered[e.Method+" "+e.Path] = true
	}
	if !maps.Equal(routes, registered) {
		t.Errorf("described are %v\nregistered are %v", slices.Sorted(maps.Keys(routes)), slices.Sorted(maps.Keys(registered)))
	}
	if all := slices.Sorted(maps.Keys(rules)); !slices.Equal(slices.Sorted(maps.Keys(routes)), all) {
		t.Errorf("described are %v\nrights are for %v", slices.Sorted(maps.Keys(routes)), all)
	}
	source, err := os.ReadFile("openapi/operations.go")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?m)^\t"([A-Z]+ /\S*)":`).FindAllStringSubmatch(string(source), -1)
	for _, found := range all {
		if !templates[found[1]] {
			t.Errorf("operations.go describes %s, which no server has", found[1])
		}
	}
	if len(all) != len(templates) {
		t.Errorf("operations.go has %d operations, the document %d", len(all), len(templates))
	}
	// A node has what it serves, and no more.
	if lone, _ := serveTriples(t, "", Options{}); readDescribed(t, lone).Paths["/links/get"] != nil {
		t.Error("a node without links describes them")
	}
}

// TestOpenAPIParameters: each operation has the parameters that the server accepts. The server names
// them when it refuses another one.
func TestOpenAPIParameters(t *testing.T) {
	s := serveAll(t)
	for template, methods := range readDescribed(t, s).Paths {
		if slices.Contains([]string{"/", "/sparql", "/query", "/update", "/data/{path}"}, template) {
			continue // they accept any, or none because of the path
		}
		for method, op := range methods {
			var names []string
			for _, p := range op.Parameters {
				if p.In == "query" {
					names = append(names, p.Name)
				}
			}
			got := s.do(methodOf(method), regexp.MustCompile(`\{\w+\}`).ReplaceAllString(template, "1")+"?nosuch=1", "")
			accepted := "none"
			if len(names) > 0 {
				accepted = strings.Join(names, ", ")
			}
			if message := got.wireError(t).Message; !strings.HasSuffix(message, "this endpoint takes "+accepted) {
				t.Errorf("%s %s is described with %s; the server: %s", method, template, accepted, message)
			}
		}
	}
}

// TestOpenAPISecurity: the document names tokens for exactly those requests that need one.
func TestOpenAPISecurity(t *testing.T) {
	for name, options := range map[string]Options{"open": {}, "token": {Token: "sesame"}, "operators": {OperatorToken: "secret"}} {
		s, _ := serveTriples(t, "", options)
		for template, methods := range readDescribed(t, s).Paths {
			if method := "get"; methods[method] != nil {
				got := s.do(http.MethodHead, strings.ReplaceAll(strings.ReplaceAll(template, "{name}", "x"), "{file}", "x"), "")
				if refused := got.status == http.StatusUnauthorized; refused != (len(methods[method].Security) > 0) {
					t.Errorf("%s: HEAD %s answers %d, and its security is %v", name, template, got.status, methods[method].Security)
				}
			}
		}
	}
}

// TestOpenAPIAnswers: each GET answers its examples in each media type, and all answers fit their
// schemas.
func TestOpenAPIAnswers(t *testing.T) {
	seed.Slow(t)
	s := serveAll(t)
	d := readDescribed(t, s)
	// 1. Fill the store by requests whose answers are described, too.
	person := "?s=<http://example.org/a>&p=<http://example.org/name>&o=%22Ada%22"
	for _, r := range []struct{ template, method, target, contentType, body string }{
		{"/triples", "POST", "/triples", "text/turtle", `<http://example.org/a> <http://example.org/name> "Ada" ; a <http://example.org/P> . <http://example.org/b> <http://example.org/name> "Bob", "B" .`},
		{"/triples", "DELETE", "/triples", "text/turtle", `<http://example.org/b> <http://example.org/name> "B" .`},
		{"/load", "POST", "/load?keep-going=true", "application/n-quads", "<http://example.org/c> <http://example.org/name> \"C\" .\n<http://example.org/c> .\n"},
		{"/data", "PUT", "/data?graph=http://example.org/g", "text/turtle", `<http://example.org/a> <http://example.org/name> "Ada" .`},
		{"/data/{path}", "PUT", "/data/people", "text/turtle", `<http://example.org/a> <http://example.org/name> "Ada" .`},
		{"/data", "POST", "/data?graph=http://example.org/g", "text/turtle", `<http://example.org/a> <http://example.org/name> "Eve" .`},
		{"/data", "DELETE", "/data?graph=http://example.org/g2", "", ""},
		{"/annotations", "PUT", "/annotations" + person + "&app=reviews", "text/plain", "good"},
		{"/annotations", "POST", "/annotations", "application/x-ndjson", `{"s":"<http://example.org/a>","p":"<http://example.org/name>","o":"\"Ada\"","app":"scores","text":"7"}` + "\n" + `{"s":"<http://example.org/x>","p":"<http://example.org/name>","o":"\"Ada\"","app":"scores","text":"7"}`},
		{"/sparql", "POST", "/sparql", "application/sparql-update", "INSERT DATA { <http://example.org/d> <http://example.org/name> 'D' }"},
		{"/sparql", "POST", "/sparql?explain=run", "application/sparql-query", "SELECT * { ?s ?p ?o }"},
		{"/sparql", "QUERY", "/sparql?explain=true", "application/sparql-query", "SELECT * { ?s ?p ?o }"},
		{"/sparql", "QUERY", "/sparql?explain=true", "application/sparql-query", "DESCRIBE <http://example.org/a>"},
		{"/query", "QUERY", "/query", "application/x-www-form-urlencoded", "query=ASK+%7B%7D"},
		{"/prefixes", "POST", "/prefixes", "application/json", `{"ex":"http://example.org/"}`},
		{"/prefixes/{name}", "PUT", "/prefixes/example?iri=http://example.org/", "", ""},
		{"/text", "PUT", "/text?p=<http://example.org/name>", "", ""},
		{"/subscriptions/{name}", "PUT", "/subscriptions/example?kinds=add&url=https://example.org/hook", "", ""},
		{"/functions/{name}", "PUT", "/functions/example?timeout=5000", "application/wasm", wasm(t, "counter")},
		{"/links/update", "POST", "/links/update", "application/x-ndjson", `{"op":"add","src":"http://example.org/a","dst":["http://example.org/b"],"weight":[2]}`},
		{"/links/uids", "POST", "/links/uids", "application/json", `{"urls":["http://example.org/a","http://example.org/none"]}`},
		{"/links/urls", "POST", "/links/urls", "application/json", `{"uids":[null]}`},
		{"/links/get", "POST", "/links/get", "application/json", `{"urls":["http://example.org/a"],"labels":true}`},
		{"/links/get", "POST", "/links/get", "application/json", `{"urls":["http://example.org/a"]}`},
		{"/links/sample", "POST", "/links/sample", "application/json", `{"urls":["http://example.org/a"],"n":2,"as":"urls"}`},
		{"/links/degrees", "POST", "/links/degrees", "application/json", `{"urls":["http://example.org/a"]}`},
		{"/links/labels", "POST", "/links/labels", "application/json", `{"urls":["http://example.org/a"]}`},
		{"/links/rank", "POST", "/links/rank", "application/json", `{"urls":["http://example.org/a","http://example.org/b"]}`},
		{"/links/stores", "POST", "/links/stores", "application/json", `{"relinquish":["backward"],"request":["forward","urls"]}`},
		{"/links/stores", "POST", "/links/stores", "application/json", `{"request":["backward"]}`},
		{"/links/pagerank", "POST", "/links/pagerank", "application/json", `{}`},
	} {
		var headers []string
		if r.contentType != "" {
			headers = []string{"Content-Type", r.contentType}
		}
		got := s.do(r.method, r.target, r.body, headers...)
		if err := d.checkAnswer(r.template, r.method, got); err != nil {
			t.Errorf("%s %s: %v", r.method, r.target, err)
		}
	}
	// 2. Try each GET with its required parameters, and with each other one, in each media type.
	for template, methods := range d.Paths {
		if op := methods["get"]; op != nil {
			t.Run(template, func(t *testing.T) { d.tryAll(t, s, template, op) })
		}
	}
}

// tryAll sends a GET with all examples. Each media type must be answered at least once.
func (d described) tryAll(t *testing.T, s *testServer, template string, op *describedOperation) {
	// 1. Collect the targets.
	path, required, options := template, []string{}, [][]string{nil}
	bounds := []string{"prefix", "ge", "gt", "le", "lt", "starts", "from", "until"}
	for _, p := range op.Parameters {
		pair := []string{p.Name, fmt.Sprint(p.Example)}
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", fmt.Sprint(p.Example))
		case p.In != "query" || p.Example == nil:
		case p.Required || p.Name == "follow": // a stream that follows has no end
			required = append(required, pair...)
		case template == "/changes" && slices.Contains(bounds, p.Name):
			options = append(options, append(pair, "order", "spo"))
		case slices.Contains([]string{"/sparql", "/query", "/update"}, template) && p.Name != "query":
			options = append(options, append(pair, "query", "ASK {}"))
		default:
			options = append(options, pair)
		}
	}
	// 2. Send them.
	answered := map[string]bool{}
	for _, option := range options {
		for accept := range op.Responses["200"].Content {
			where := target(path, append(slices.Clone(required), option...)...)
			got := s.get(where, "Accept", accept)
			if got.status == http.StatusNotAcceptable {
				continue // the answer of this query has no such format
			}
			if err := d.checkAnswer(template, "GET", got); err != nil {
				t.Errorf("GET %s as %s: %v", where, accept, err)
				continue
			}
			answered[mediaType(got)] = true
		}
	}
	for name := range op.Responses["200"].Content {
		if !answered[name] && name != "*/*" && template != "/console/{file}" {
			t.Errorf("nothing is answered as %s", name)
		}
	}
	// 3. If another type is requested, the error names all valid types.
	if got := s.get(target(path, required...), "Accept", "application/none"); got.status == http.StatusNotAcceptable {
		_, names, _ := strings.Cut(got.wireError(t).Message, " as ")
		for name := range strings.SplitSeq(strings.TrimRight(strings.SplitN(names, ")", 2)[0], " "), ", ") {
			if _, ok := op.Responses["200"].Content[name]; !ok && name != "application/x-turtle" { // an old name
				t.Errorf("the server answers %s, which is not described", name)
			}
		}
	}
}

func mediaType(a answer) string {
	name, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	return name
}

// checkAnswer checks an answer against the description of its operation.
func (d described) checkAnswer(template, method string, got answer) error {
	op := d.Paths[template][cmp.Or(map[string]string{"QUERY": "x-query"}[method], strings.ToLower(method))]
	response, ok := op.Responses[fmt.Sprint(got.status)]
	if !ok {
		response = d.errorResponse()
	}
	if got.err != nil || len(response.Content) == 0 && got.body == "" {
		return got.err
	}
	content, known := response.Content[mediaType(got)]
	if _, any := response.Content["*/*"]; !known && !any {
		return fmt.Errorf("answers %d as %q, which is not described: %.200s", got.status, mediaType(got), got.body)
	}
	if content.Schema == nil {
		return nil
	}
	var value any
	if err := json.Unmarshal([]byte(got.body), &value); err != nil {
		return err
	}
	if err := d.check(content.Schema, value, ""); err != nil {
		return fmt.Errorf("%w in %d %.300s", err, got.status, got.body)
	}
	if !ok && got.status != http.StatusNotFound {
		return fmt.Errorf("answers %d %s", got.status, got.body)
	}
	return nil
}

func (d described) errorResponse() (r struct {
	Content map[string]struct{ Schema map[string]any }
}) {
	r.Content = map[string]struct{ Schema map[string]any }{"application/json": {map[string]any{"$ref": "#/components/schemas/Error"}}}
	return r
}

// check checks a value of JSON against a schema. It knows the keywords that schemas.json uses. An
// object may only have the members that are described, so that none is forgotten.
func (d described) check(schema map[string]any, v any, at string) error {
	if name, ok := schema["$ref"].(string); ok {
		schema = d.Components.Schemas[strings.TrimPrefix(name, "#/components/schemas/")]
		if schema == nil {
			return fmt.Errorf("%s: there is no schema %s", at, name)
		}
		return d.check(schema, v, at)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if all, ok := schema[keyword].([]any); ok {
			var err error
			for _, one := range all {
				if err = d.check(one.(map[string]any), v, at); err == nil {
					return nil
				}
			}
			return err
		}
	}
	if kinds := schema["type"]; !strings.Contains(fmt.Sprint(kinds), kindOf(v)) && (kindOf(v) != "integer" || kinds != "number") {
		return fmt.Errorf("%s: %v is no %v", at, v, kinds)
	}
	if values, ok := schema["enum"].([]any); ok && !slices.Contains(values, v) {
		return fmt.Errorf("%s: %v is none of %v", at, v, values)
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if err := d.check(schema["items"].(map[string]any), item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		return d.checkObject(schema, v, at)
	}
	return nil
}

func (d described) checkObject(schema, v map[string]any, at string) error {
	names, _ := schema["required"].([]any)
	for _, name := range names {
		if _, ok := v[name.(string)]; !ok {
			return fmt.Errorf("%s: %v is missing", at, name)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, member := range v {
		one, ok := properties[name].(map[string]any)
		if !ok && schema["additionalProperties"] == true {
			continue
		}
		if !ok {
			if one, ok = schema["additionalProperties"].(map[string]any); !ok {
				return fmt.Errorf("%s: %s is not described", at, name)
			}
		}
		if err := d.check(one, member, at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	}
	return "object"
}
