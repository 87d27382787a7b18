// Versions of RDF and SPARQL that a client announces.

package sparql

import (
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/triple"
)

// Labels of versions, each a part of the next (RDF 1.2 Concepts, section 2.1).
const (
	version11    = "1.1"
	version12    = "1.2"
	versionBasic = "1.2-basic" // without triple terms
)

var versions = []string{version11, versionBasic, version12}

// checkVersion returns an error if a version is none of the labels. "" is no version.
func checkVersion(version string, kind problem.Kind, where string) error {
	if version == "" || slices.Contains(versions, version) {
		return nil
	}
	return problem.Errorf(kind, where, "there is no version %q; there are %s", problem.Clip(version), strings.Join(versions, ", "))
}

// inVersion returns the format with the version of RDF that Accept requests for its media type. The answer
// announces it. Without one, an answer has all terms and announces nothing.
func (f *answerFormat) inVersion(accept []string) (*answerFormat, error) {
	version := response.Parameter(accept, f.mediaType, "version")
	if version == "" {
		return f, nil
	}
	if err := checkVersion(version, problem.KindNotAcceptable, "Accept"); err != nil {
		return nil, err
	}
	g := *f
	g.version = version
	g.contentType += ";version=" + version
	return &g, nil
}

// allows returns an error if a term is not one of the requested version.
func (f *answerFormat) allows(t triple.Term) error {
	if f.version == "" || f.version == version12 {
		return nil
	}
	what := ""
	switch {
	case t.Kind() == triple.TripleTerm:
		what = "a triple term"
	case f.version == version11 && t.Direction() != "":
		what = "a string with a base direction"
	default:
		return nil
	}
	return problem.Errorf(problem.KindNotAcceptable, "Accept", "the answer has %s, %s, which version %s of RDF has not: accept version=1.2, or leave the version away",
		what, problem.Clip(t.String()), f.version)
}

// allowsAll returns an error if one of some terms is not of the requested version.
func (f *answerFormat) allowsAll(terms ...triple.Term) error {
	if f.version == "" || f.version == version12 {
		return nil
	}
	for _, t := range terms {
		if err := f.allows(t); err != nil {
			return err
		}
	}
	return nil
}
