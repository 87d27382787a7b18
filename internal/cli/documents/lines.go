// Triples as lines.

package documents

import (
	"bufio"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/triple"
)

// WriteItems writes all items of a listing. write appends one.
func WriteItems(e *console.Env, list *target.Listing, write func([]byte, target.Statement) ([]byte, error)) error {
	out := bufio.NewWriterSize(e.Stdout, 1<<16)
	var line []byte
	for it, err := range list.Items {
		if err == nil {
			line, err = write(line[:0], it)
		}
		if err == nil {
			_, err = out.Write(line)
		}
		if err != nil {
			out.Flush() // the lines before the error are correct
			return err
		}
	}
	return out.Flush()
}

// WriteNQuad appends an item as a line of N-Quads.
func WriteNQuad(dst []byte, it target.Statement) ([]byte, error) {
	return triple.AppendNQuad(dst, it.Triple), nil
}

// withAnnotations returns a write function that adds an item's annotations to its line.
func withAnnotations(write func([]byte, target.Statement) ([]byte, error)) func([]byte, target.Statement) ([]byte, error) {
	var statement []byte
	return func(dst []byte, it target.Statement) ([]byte, error) {
		if len(it.Attached) == 0 {
			return write(dst, it)
		}
		var err error
		if statement, err = write(statement[:0], it); err != nil {
			return dst, err
		}
		return triple.AppendAnnotated(dst, statement, it.Attached), nil
	}
}

// WriteJSON appends an item as a line of JSON.
func WriteJSON(dst []byte, it target.Statement) ([]byte, error) {
	return append(triple.AppendTripleJSON(dst, it.Triple), '\n'), nil
}

// writeCanonical writes a triple in the canonical form of RDF 1.2.
func writeCanonical(dst []byte, it target.Statement) ([]byte, error) {
	return triple.AppendCanonical(dst, it.Triple), nil
}

// writeNDJSON writes a triple and its annotations as lines of JSON.
func writeNDJSON(dst []byte, it target.Statement) ([]byte, error) {
	return triple.AppendNDJSON(dst, it.Triple, it.Attached), nil
}
