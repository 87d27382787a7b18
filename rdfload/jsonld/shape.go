// Documents that JSON-LD accepts, but that mean something else, or nothing.

package jsonld

import (
	"maps"
	"slices"
	"strings"
)

// isRDFJSON reports whether a document has the shape of RDF/JSON: subjects with properties, whose
// values are arrays of objects with a value and a type. In JSON-LD it would be other triples.
func isRDFJSON(document any) bool {
	subjects, ok := document.(map[string]any)
	if !ok || len(subjects) == 0 {
		return false
	}
	for name, properties := range subjects {
		properties, ok := properties.(map[string]any)
		if !ok || len(properties) == 0 || strings.HasPrefix(name, "@") {
			return false
		}
		for _, objects := range properties {
			objects, ok := objects.([]any)
			if !ok || slices.ContainsFunc(objects, func(o any) bool { return !isRDFJSONObject(o) }) {
				return false
			}
		}
	}
	return true
}

func isRDFJSONObject(value any) bool {
	object, _ := value.(map[string]any)
	_, hasValue := object["value"].(string)
	return hasValue && (object["type"] == "uri" || object["type"] == "literal" || object["type"] == "bnode")
}

// undefinedName returns a name of a node object outside of all contexts, if it is neither an IRI nor
// a keyword: its values are left out. It returns "" if there is none.
func undefinedName(document any) string {
	for _, item := range asArray(document) {
		object, ok := item.(map[string]any)
		if _, defined := object["@context"]; !ok || defined {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if !strings.HasPrefix(name, "@") && !strings.Contains(name, ":") {
				return name
			}
		}
		if name := undefinedName(object["@graph"]); name != "" {
			return name
		}
	}
	return ""
}
