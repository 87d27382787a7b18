// The document: the table of endpoints joined with the descriptions.

package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
)

// Path is the path of the document.
const Path = "/openapi.json"

//go:embed schemas.json
var schemas []byte

// object is an object of JSON.
type object = map[string]any

// Options are what a document needs beside the table.
type Options struct {
	Version string            // of the program
	URL     request.PublicURL // of the node
	// Locked reports whether requests to a route need a token or a password, and whether they are for
	// operators.
	Locked func(method, route string) (locked, operators bool)
}

// Add adds the path of the document to a table that has all other paths. The path is open, as the page
// is, because it has no data. A request for it fails if a route of the table has no description: the tests of
// package server find that, and a node must serve its other endpoints.
func Add(table endpoint.Table, o Options) {
	table[Path] = endpoint.Get(func(w http.ResponseWriter, r *request.Request) error {
		base, err := o.URL.Base(r.Request)
		if err != nil {
			return err
		}
		document, err := o.build(table, base)
		if err != nil {
			return err
		}
		return response.WriteJSON(w, document)
	})
}

// build returns the document of a node at an URL.
func (o Options) build(table endpoint.Table, base string) (object, error) {
	// 1. Describe the operations whose routes exist.
	paths, described := map[string]object{}, map[string]bool{}
	for key, op := range operations {
		method, template, _ := strings.Cut(key, " ")
		route := routeOf(template)
		path := table[route]
		if path == nil || path.Methods[method] == nil || template != route && !path.Below {
			continue // this node has no such endpoint
		}
		described[method+" "+route] = true
		one, err := op.describe(key, path.Methods[method])
		if err != nil {
			return nil, err
		}
		locked, operators := o.Locked(method, route)
		if operators {
			one["description"] = "Needs the token of operators if there is one."
		}
		if locked {
			one["security"] = []object{{"bearer": []string{}}, {"basic": []string{}}}
		}
		if paths[template] == nil {
			paths[template] = object{}
		}
		paths[template][field(method)] = one
	}
	// 2. All routes must be described.
	for route, path := range table {
		for method := range path.Methods {
			if !described[method+" "+route] {
				return nil, fmt.Errorf("openapi: %s %s has no description in operations.go", method, route)
			}
		}
	}
	return object{
		"openapi": "3.1.1",
		"info":    object{"title": "trefoil", "version": o.Version, "license": object{"name": "Apache 2.0", "identifier": "Apache-2.0"}, "description": introduction},
		"servers": []object{{"url": base}},
		"paths":   paths,
		"components": object{
			"schemas":   json.RawMessage(schemas),
			"responses": object{"Error": object{"description": "The request failed, and kind is the kind of the error", "content": content(jsonOf("Error"))}},
			"securitySchemes": object{
				"bearer": object{"type": "http", "scheme": "bearer"},
				"basic":  object{"type": "http", "scheme": "basic", "description": "A user's name and password, or a token as the password of any name"},
			},
		},
	}, nil
}

const introduction = "A distributed, ordered store of RDF triples. HEAD is answered like GET. " +
	"A parameter that is unknown, repeated or empty is an error, except at /sparql. docs/api has all of this in words."

// field returns the name of a method in a path. OpenAPI 3.1 has no name for QUERY, and 3.2 is not known to
// most tools, so an extension has what is "query" there.
func field(method string) string {
	if method == endpoint.MethodQuery {
		return "x-query"
	}
	return strings.ToLower(method)
}

// routeOf returns the path of the table that answers a template.
func routeOf(template string) string {
	route, _, _ := strings.Cut(template, "/{")
	return route
}

// describe returns the description of an operation. key is its name in operations.
func (o operation) describe(key string, m *endpoint.Method) (object, error) {
	// 1. Its parameters: of the path, the URL and the headers.
	list := []object{}
	add := func(in, name string, all map[string]parameter, required bool) error {
		p, ok := all[name]
		if !ok {
			return fmt.Errorf("openapi: %s takes %s, which parameters.go does not describe", key, name)
		}
		one := object{"name": name, "in": in, "description": p.text, "schema": p.schema}
		if required {
			one["required"] = true
		}
		if p.example != nil {
			one["example"] = p.example
		}
		list = append(list, one)
		return nil
	}
	if _, name, ok := strings.Cut(strings.TrimSuffix(key, "}"), "/{"); ok {
		if err := add("path", name, pathParameters, true); err != nil {
			return nil, err
		}
	}
	for _, name := range m.Params {
		if o.bare {
			break
		}
		if err := add("query", name, parameters, slices.Contains(o.required, name)); err != nil {
			return nil, err
		}
	}
	known := o.headers
	if m.Writes {
		known = append([]string{"Idempotency-Key"}, known...)
	}
	for _, name := range known {
		if err := add("header", name, headers, false); err != nil {
			return nil, err
		}
	}
	// 2. Its body and answers.
	one := object{"operationId": operationID(key), "summary": o.summary, "parameters": list, "responses": responses(o)}
	if m.Body != (o.body != nil) {
		return nil, fmt.Errorf("openapi: %s: operations.go and the table disagree about a body", key)
	}
	if m.Body {
		one["requestBody"] = object{"content": content(o.body)}
	}
	return one, nil
}

func responses(o operation) object {
	all := object{"default": object{"$ref": "#/components/responses/Error"}}
	success := object{"description": "Success"}
	if o.answer != nil {
		success["content"] = content(o.answer)
		if o.warns {
			success["headers"] = object{"Trefoil-Warning": object{"schema": object{"type": "string"}, "description": "Why the answer is empty: a filter was an error in every row that it met"}}
		}
		all["200"] = success
	}
	for status := range strings.FieldsSeq(o.statuses) {
		all[status] = object{"description": "Success"}
	}
	if slices.Contains(o.headers, "If-None-Match") && o.statuses == "" {
		all["304"] = object{"description": "The client has the answer"}
	}
	return all
}

func content(m media) object {
	all := object{}
	for name, schema := range m {
		one := object{}
		if schema != "" {
			one["schema"] = object{"$ref": "#/components/schemas/" + schema}
		}
		all[name] = one
	}
	return all
}

// operationID returns a name for generated clients, such as getLinksPages.
func operationID(key string) string {
	words := strings.FieldsFunc(key, func(c rune) bool { return strings.ContainsRune(" /{}.-", c) })
	id := strings.ToLower(words[0])
	for _, word := range words[1:] {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}
