// Triples as lines.

package cli

import (
	"bufio"

	"github.com/trefoildb/trefoil/triple"
)

// writeItems writes all items of a listing. write appends one.
func writeItems(e *env, list *listing, write func([]byte, item) ([]byte, error)) error {
	out := bufio.NewWriterSize(e.stdout, 1<<16)
	var line []byte
	for it, err := range list.items {
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

func writeNQuad(dst []byte, it item) ([]byte, error) { return it.appendNQuad(dst) }

// withAnnotations returns a write function that adds an item's annotations to its line.
func withAnnotations(write func([]byte, item) ([]byte, error)) func([]byte, item) ([]byte, error) {
	var statement []byte
	return func(dst []byte, it item) ([]byte, error) {
		annotations := it.annotations()
		if len(annotations) == 0 {
			return write(dst, it)
		}
		var err error
		if statement, err = write(statement[:0], it); err != nil {
			return dst, err
		}
		return triple.AppendAnnotated(dst, statement, annotations), nil
	}
}

func writeJSON(dst []byte, it item) ([]byte, error) {
	t, err := it.decode()
	if err != nil {
		return dst, err
	}
	return append(triple.AppendTripleJSON(dst, t), '\n'), nil
}

// writeCanonical writes a triple in the canonical form of RDF 1.2.
func writeCanonical(dst []byte, it item) ([]byte, error) {
	t, err := it.decode()
	if err != nil {
		return dst, err
	}
	return triple.AppendCanonical(dst, t), nil
}

// writeNDJSON writes a triple and its annotations as lines of JSON.
func writeNDJSON(dst []byte, it item) ([]byte, error) {
	t, err := it.decode()
	if err != nil {
		return dst, err
	}
	return triple.AppendNDJSON(dst, t, it.annotations()), nil
}
