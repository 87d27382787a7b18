package rdfload

import (
	"io"
	"time"

	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
)

// Source is one document to load.
type Source struct {
	Name    string    // for messages, and to find an interrupted load again
	Size    int64     // as stored, in bytes; -1 where it is not known
	ModTime time.Time // zero where it is not known: the load cannot be resumed
	// Path, if not "", is the file that Open opens. A resumed load begins in the
	// middle of it, where it can.
	Path string
	// Open opens the document, decompressed. A load calls it once, but again where
	// it goes on after an interruption.
	Open func() (*input.Reader, error)
	// Syntax is the document's, unless it is a link file; zero: by name, else by content.
	Syntax syntax.Syntax
}

// Files returns the sources that arguments name: files, directories, patterns
// and "-" for standard input (see [input.List]).
func Files(args ...string) ([]Source, error) {
	listed, err := input.List(args)
	if err != nil {
		return nil, err
	}
	sources := make([]Source, len(listed))
	for i, in := range listed {
		sources[i] = Source{Name: in.Name, Path: in.Path, Size: in.Size, ModTime: in.ModTime,
			Open: func() (*input.Reader, error) { return input.Open(in, input.Limits{}) }}
	}
	return sources, nil
}

// Document returns the source that r is: it can be read once, so that its load
// cannot be resumed. A size of -1 is not known; a zero syntax is told by name or
// content.
func Document(name string, r io.Reader, size int64, s syntax.Syntax) Source {
	return Source{Name: name, Size: size, Syntax: s,
		Open: func() (*input.Reader, error) { return input.NewReader(r, name, input.Limits{}) }}
}
