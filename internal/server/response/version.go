// Versions of RDF and SPARQL that a client announces.

package response

import (
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/triple"
)

// Version is the label of a version of RDF and of SPARQL (RDF 1.2 Concepts, section 2.1); "" is none.
type Version string

// The versions, each a part of the next.
const (
	Version11    Version = "1.1"
	Version12Low Version = "1.2-basic" // without triple terms
	Version12    Version = "1.2"
)

// Versions are all versions.
var Versions = []Version{Version11, Version12Low, Version12}

// CheckVersion returns a problem of a kind at a place if a label is none of [Versions]. "" is no label.
func CheckVersion(label string, kind problem.Kind, where string) error {
	if label == "" || slices.Contains(Versions, Version(label)) {
		return nil
	}
	var names []string
	for _, v := range Versions {
		names = append(names, string(v))
	}
	return problem.Errorf(kind, where, "there is no version %q; there are %s", problem.Clip(label), strings.Join(names, ", "))
}

// VersionOf returns the version that an Accept header requests for a media type. An answer has all terms if
// the header requests none.
func VersionOf(accept []string, mediaType string) (Version, error) {
	label := Parameter(accept, mediaType, "version")
	return Version(label), CheckVersion(label, problem.KindNotAcceptable, "Accept")
}

// Announce returns a content type with the version.
func (v Version) Announce(contentType string) string {
	if v == "" {
		return contentType
	}
	return contentType + ";version=" + string(v)
}

// Check returns an error if a term is not one of the version.
func (v Version) Check(terms ...triple.Term) error {
	if v == "" || v == Version12 {
		return nil
	}
	for _, t := range terms {
		what := ""
		switch {
		case t.Kind() == triple.TripleTerm:
			what = "a triple term"
		case v == Version11 && t.Direction() != "":
			what = "a string with a base direction"
		default:
			continue
		}
		return problem.Errorf(problem.KindNotAcceptable, "Accept", "the answer has %s, %s, which version %s of RDF has not: accept version=1.2, or leave the version away",
			what, problem.Clip(t.String()), v)
	}
	return nil
}
