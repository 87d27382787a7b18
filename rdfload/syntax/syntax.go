// Package syntax names the RDF syntaxes of trefoil and detects them. It parses and writes any of
// them through one API.
package syntax

import (
	"fmt"
	"mime"
	"path"
	"slices"
	"strings"
)

// Syntax is a concrete syntax of RDF 1.1, or NDJSON. The zero Syntax is none.
type Syntax uint8

// The syntaxes.
const (
	NTriples Syntax = iota + 1
	NQuads
	Turtle
	TriG
	RDFXML
	JSONLD
	// NDJSON is no recommendation: lines of [triple.ParseAnnotatedJSON].
	NDJSON
)

// description lists the names of a syntax. The first entry of each list is the one that the
// functions return.
type description struct {
	title      string
	names      []string // of command lines and options
	extensions []string // of files, with the dot
	mediaTypes []string
	graphs     bool // true if it can name graphs
}

var descriptions = [...]description{
	NTriples: {"N-Triples", []string{"nt", "ntriples", "n-triples"}, []string{".nt", ".ntriples"}, []string{"application/n-triples", "text/plain"}, false},
	NQuads:   {"N-Quads", []string{"nq", "nquads", "n-quads"}, []string{".nq", ".nquads"}, []string{"application/n-quads", "text/x-nquads"}, true},
	Turtle:   {"Turtle", []string{"ttl", "turtle"}, []string{".ttl", ".turtle"}, []string{"text/turtle", "application/x-turtle"}, false},
	TriG:     {"TriG", []string{"trig"}, []string{".trig"}, []string{"application/trig", "application/x-trig"}, true},
	RDFXML:   {"RDF/XML", []string{"rdf", "xml", "rdfxml", "rdf/xml"}, []string{".rdf", ".owl", ".rdfs", ".xml"}, []string{"application/rdf+xml", "application/xml", "text/xml"}, false},
	JSONLD:   {"JSON-LD", []string{"jsonld", "json-ld"}, []string{".jsonld"}, []string{"application/ld+json"}, true},
	NDJSON:   {"NDJSON", []string{"ndjson", "jsonl"}, []string{".ndjson", ".jsonl"}, []string{"application/x-ndjson", "application/ndjson", "application/jsonl"}, true},
}

// All returns all syntaxes.
func All() []Syntax { return []Syntax{NTriples, NQuads, Turtle, TriG, RDFXML, JSONLD, NDJSON} }

// HoldsAnnotations reports whether a document of the syntax can hold the annotations of triples.
func (s Syntax) HoldsAnnotations() bool {
	return s == NTriples || s == NQuads || s == TriG || s == NDJSON
}

func (s Syntax) known() bool { return s > 0 && int(s) < len(descriptions) }

// String returns the syntax's title, such as "N-Triples".
func (s Syntax) String() string {
	if !s.known() {
		return fmt.Sprintf("syntax %d", uint8(s))
	}
	return descriptions[s].title
}

// Name returns the name for [ByName], such as "nt"; "" for the zero Syntax.
func (s Syntax) Name() string {
	if !s.known() {
		return ""
	}
	return descriptions[s].names[0]
}

// MediaType returns the registered media type, without parameters; "" for the zero Syntax.
func (s Syntax) MediaType() string {
	if !s.known() {
		return ""
	}
	return descriptions[s].mediaTypes[0]
}

// HasGraphs reports whether a document of the syntax can name graphs.
func (s Syntax) HasGraphs() bool { return s.known() && descriptions[s].graphs }

// Names lists the names for a message: "nt, nq, ttl, trig, rdf, jsonld or ndjson".
func Names() string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name())
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// ByName returns the syntax with this name, in letters of either case.
func ByName(name string) (Syntax, error) {
	for _, s := range All() {
		if slices.Contains(descriptions[s].names, strings.ToLower(name)) {
			return s, nil
		}
	}
	return 0, fmt.Errorf("there is no syntax %q; use %s", name, Names())
}

// ByFile returns the syntax of a file by the suffix of its name, in letters of either case. A
// suffix .gz, .bz2, .zst or .xz is cut off first. ok is false if the suffix is unknown.
func ByFile(name string) (Syntax, bool) {
	ext := extension(name)
	for _, s := range All() {
		if slices.Contains(descriptions[s].extensions, ext) {
			return s, true
		}
	}
	return 0, false
}

// extension returns the suffix of a file's name in lower case, before that of a compression.
func extension(name string) string {
	name = strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	for _, compressed := range []string{".gz", ".bz2", ".zst", ".xz"} {
		if rest, ok := strings.CutSuffix(name, compressed); ok {
			name = rest
			break
		}
	}
	return path.Ext(name)
}

// starExtensions are the suffixes of documents of the drafts of RDF-star.
var starExtensions = map[string]Syntax{".nts": NTriples, ".nqs": NQuads, ".ttls": Turtle, ".trigs": TriG}

// ByStarFile returns the syntax of a file whose suffix says that it is of the drafts of RDF-star, such as
// .ttls. ok is false for other files.
func ByStarFile(name string) (s Syntax, ok bool) {
	s, ok = starExtensions[extension(name)]
	return s, ok
}

// ByMediaType returns the syntax of a Content-Type. Parameters are ignored, but a charset must be
// UTF-8 or US-ASCII; any other is an error. That of RDF/XML is ignored, because the document declares it.
func ByMediaType(contentType string) (Syntax, error) {
	mediaType, params, err := mime.ParseMediaType(contentType)
	if err != nil && mediaType == "" {
		return 0, fmt.Errorf("media type %q: %w", contentType, err)
	}
	for _, s := range All() {
		if !slices.Contains(descriptions[s].mediaTypes, mediaType) {
			continue
		}
		switch charset := strings.ToLower(params["charset"]); {
		case s == RDFXML, slices.Contains([]string{"", "utf-8", "utf8", "us-ascii"}, charset):
			return s, nil
		default:
			return 0, fmt.Errorf("charset %q is not supported; send UTF-8", charset)
		}
	}
	if strings.HasSuffix(mediaType, "star") {
		return 0, fmt.Errorf("media type %q is of the RDF-star drafts; send its document to /load?rdf-star=true as N-Triples, N-Quads, Turtle or TriG", mediaType)
	}
	var types []string
	for _, s := range All() {
		types = append(types, s.MediaType())
	}
	return 0, fmt.Errorf("media type %q is not one of RDF's; use one of %s", mediaType, strings.Join(types, ", "))
}
