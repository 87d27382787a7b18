// Documents that JSON-LD accepts, but that mean something else, or nothing.

package jsonld

import (
	"slices"
	"strings"
)

// isRDFJSON reports whether a document has the shape of RDF/JSON: subjects with properties, whose
// values are arrays of objects with a value and a type. In JSON-LD it would be other triples.
func isRDFJSON(document any) bool {
	subjects, ok := document.(object)
	if !ok || len(subjects) == 0 {
		return false
	}
	for _, subject := range subjects {
		properties, ok := subject.value.(object)
		if !ok || len(properties) == 0 || strings.HasPrefix(subject.name, "@") {
			return false
		}
		for _, property := range properties {
			objects, ok := property.value.([]any)
			if !ok || slices.ContainsFunc(objects, func(o any) bool { return !isRDFJSONObject(o) }) {
				return false
			}
		}
	}
	return true
}

func isRDFJSONObject(item any) bool {
	o, _ := item.(object)
	value, _ := o.get("value")
	kind, _ := o.get("type")
	_, hasValue := value.(string)
	return hasValue && (kind == "uri" || kind == "literal" || kind == "bnode")
}

// undefinedName returns a name of a node object outside of all contexts, if it is neither an IRI nor
// a keyword: its values are left out. It returns "" if there is none.
func undefinedName(document any) string {
	for _, item := range asArray(document) {
		o, ok := item.(object)
		if _, defined := o.get("@context"); !ok || defined {
			continue
		}
		for _, m := range o {
			if !strings.HasPrefix(m.name, "@") && !strings.Contains(m.name, ":") {
				return m.name
			}
		}
		graph, _ := o.get("@graph")
		if name := undefinedName(graph); name != "" {
			return name
		}
	}
	return ""
}
