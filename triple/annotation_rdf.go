// Annotations as RDF: the properties of a node for each annotation.

package triple

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// AnnotationsGraph is the graph of annotations in TriG, if the document begins with
// [AnnotationsHeader], and the endpoint of SERVICE that has those of a store. Each annotation is a
// node with properties. Their IRIs are that of the graph, '#' and
//
//	subject, predicate, object, graph   the triple; graph is missing in the default graph
//	application                         the ID: a string, or xsd:base64Binary if it is not UTF-8
//	type                                the media type
//	value                               the content: a string if it is UTF-8 with a media type of text
//	                                    or JSON, otherwise xsd:base64Binary
//	version, bytes                      the version and the length of the content, in answers only
const AnnotationsGraph = "urn:trefoil:annotations"

// AnnotationProperty returns the property of annotations with a name.
func AnnotationProperty(name string) Term { return NewIRI(AnnotationsGraph + "#" + name) }

// AppendAnnotationTriples appends an annotation of t as properties of a node. The triples are in the
// default graph. value includes the content.
func AppendAnnotationTriples(all []Triple, node Term, t Triple, a *ApplicationData, value bool) []Triple {
	add := func(name string, object Term) {
		all = append(all, Triple{Subject: node, Predicate: AnnotationProperty(name), Object: object})
	}
	// 1. The triple.
	add("subject", t.Subject)
	add("predicate", t.Predicate)
	add("object", t.Object)
	if !t.Graph.IsZero() {
		add("graph", t.Graph)
	}
	// 2. The annotation.
	media, content := CutMedia(a.Data)
	add("application", textOrBinary([]byte(a.ApplicationID), true))
	add("type", NewString(media))
	if value {
		add("value", textOrBinary(content, isText(media)))
	}
	return all
}

// isText reports whether content of a media type is text, if it is UTF-8.
func isText(media string) bool {
	full, _, _ := strings.Cut(media, ";")
	full = strings.ToLower(strings.TrimSpace(full))
	return strings.HasPrefix(full, "text/") || full == "application/json" || strings.HasSuffix(full, "+json")
}

// textOrBinary returns bytes as a string if they are text and UTF-8, otherwise in base64.
func textOrBinary(data []byte, text bool) Term {
	if text && utf8.Valid(data) {
		return NewString(string(data))
	}
	return NewTyped(base64.StdEncoding.EncodeToString(data), xsdBase64Binary)
}

const xsdBase64Binary = XSD + "base64Binary"

// ParseAnnotationTriples returns the annotation of one node, and its triple. It reverses
// [AppendAnnotationTriples] with the value. version and bytes are ignored.
func ParseAnnotationTriples(all []Triple) (t Triple, a ApplicationData, err error) {
	// 1. Each property occurs once.
	values := map[string]Term{}
	for _, about := range all {
		name, ok := strings.CutPrefix(about.Predicate.Value(), AnnotationsGraph+"#")
		switch name {
		case "subject", "predicate", "object", "graph", "application", "type", "value", "version", "bytes":
		default:
			ok = false
		}
		switch {
		case !ok:
			return t, a, fmt.Errorf("%s is no property of an annotation", about.Predicate)
		case about.Subject != all[0].Subject:
			return t, a, errors.New("an annotation is one statement, with properties of one node")
		case !values[name].IsZero():
			return t, a, fmt.Errorf("two values of %s", about.Predicate)
		}
		values[name] = about.Object
	}
	for _, name := range []string{"subject", "predicate", "object", "application", "value"} {
		if values[name].IsZero() {
			return t, a, fmt.Errorf("the annotation has no %s", AnnotationProperty(name))
		}
	}
	t = Triple{Subject: values["subject"], Predicate: values["predicate"], Object: values["object"], Graph: values["graph"]}
	if err := t.Check(); err != nil {
		return t, a, err
	}
	// 2. The annotation.
	id, err := binaryOf(values["application"])
	if err != nil {
		return t, a, fmt.Errorf("application: %w", err)
	}
	content, err := binaryOf(values["value"])
	if err != nil {
		return t, a, fmt.Errorf("value: %w", err)
	}
	a, err = annotationOf(string(id), values["type"].Value(), content)
	return t, a, err
}

// binaryOf reverses textOrBinary.
func binaryOf(t Term) ([]byte, error) {
	switch {
	case t.Kind() == Literal && t.Datatype() == XSDString:
		return []byte(t.Value()), nil
	case t.Kind() != Literal || t.Datatype() != xsdBase64Binary:
		return nil, errors.New("expected a string or xsd:base64Binary")
	}
	data, err := base64.StdEncoding.Strict().DecodeString(t.Value())
	if err != nil {
		return nil, errors.New("it is not base64 with padding")
	}
	return data, nil
}
