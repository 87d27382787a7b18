// The answer of SERVICE <urn:trefoil:annotations>, computed while it is read.

package engine

import (
	"bytes"
	"fmt"
	"io"
	"iter"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/results"
	"github.com/trefoildb/trefoil/triple"
)

// maxAnnotationRow bounds the terms of one solution in bytes.
const maxAnnotationRow = 32 << 20

// keptAnswer is the size of the text that stays allocated between two solutions.
const keptAnswer = 256 << 10

// annotationAnswer is a result as JSON. Only the solution that is being read is in memory. It must
// be closed.
type annotationAnswer struct {
	result *sparql.Result
	next   func() ([]triple.Term, error, bool)
	stop   func()
	out    *results.Writer
	text   bytes.Buffer
	ended  bool

	reserve func(bytes int64) error // counts bytes of the query; see [exec.Options].Reserve
	held    int64                   // reserved for the annotations and the text
	kept    int64                   // part of it for the text
}

// newAnnotationAnswer returns the answer of a result. It takes over the held bytes.
func newAnnotationAnswer(result *sparql.Result, reserve func(int64) error, held int64) *annotationAnswer {
	a := &annotationAnswer{result: result, reserve: reserve, held: held}
	a.next, a.stop = iter.Pull2(result.Rows())
	a.out = results.NewWriter(&a.text, results.JSON, result.Vars)
	return a
}

func (a *annotationAnswer) Read(p []byte) (int, error) {
	for a.text.Len() == 0 {
		if a.ended {
			return 0, io.EOF
		}
		if err := a.writeNext(); err != nil {
			return 0, err
		}
	}
	return a.text.Read(p)
}

// writeNext writes the next solution, or the end, to the empty text.
func (a *annotationAnswer) writeNext() error {
	// 1. A large buffer is given back first.
	if a.text.Reset(); a.text.Cap() > keptAnswer {
		a.text = bytes.Buffer{}
	}
	row, err, ok := a.next()
	if err != nil {
		return err
	}
	if !ok {
		a.ended = true
		return a.out.Close()
	}
	// 2. The text is counted before it is made. Escapes make it longer than the terms.
	size := int64(0)
	for _, t := range row {
		size += int64(64 + len(t.Value()))
	}
	if size > maxAnnotationRow {
		return fmt.Errorf("%w: a solution has more than %d MiB", ErrAnnotationsSize, maxAnnotationRow>>20)
	}
	if size = max(2*size, int64(a.text.Cap())); size > a.kept || a.kept > 4*keptAnswer {
		if err := a.reserve(size - a.kept); err != nil {
			return err
		}
		a.held += size - a.kept
		a.kept = size
	}
	if err := a.out.Write(row); err != nil {
		return err
	}
	return a.out.Flush()
}

func (a *annotationAnswer) Close() error {
	a.stop()
	a.result.Close()
	err := a.reserve(-a.held)
	a.held = 0
	return err
}
