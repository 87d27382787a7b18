// Standard input and files.

package console

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/trefoildb/trefoil/rdfload/input"
)

// Open opens a document. If it is standard input, it is the command's.
func (e *Env) Open(source input.Source) (*input.Reader, error) {
	if source.IsStdin() {
		return input.NewReader(e.Input(), "standard input", input.Limits{})
	}
	return source.Open()
}

// OpenFile opens a file, or standard input if its name is -.
func (e *Env) OpenFile(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(e.Input()), nil
	}
	return os.Open(name)
}

// Input returns standard input. If the command is interrupted, reads end with the context's error.
func (e *Env) Input() io.Reader {
	file, ok := e.Stdin.(*os.File)
	if !ok {
		return contextReader{e.Ctx, e.Stdin}
	}
	// A read of a terminal or a pipe cannot be cancelled. So a goroutine reads. If the command is
	// interrupted, the goroutine is left behind, because the process ends soon.
	r, w := io.Pipe()
	context.AfterFunc(e.Ctx, func() { w.CloseWithError(e.Ctx.Err()) })
	go func() {
		_, err := io.Copy(w, file)
		w.CloseWithError(err)
	}()
	return r
}

// contextReader ends reads when a context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// SpoolStdin replaces standard input by a temporary file, because it can then be read twice.
// cleanup removes it, and must be called.
func SpoolStdin(e *Env, sources []input.Source) (_ []input.Source, cleanup func(), err error) {
	at := slices.IndexFunc(sources, input.Source.IsStdin)
	if at < 0 {
		return sources, func() {}, nil
	}
	spool, err := os.CreateTemp("", "trefoil-stdin-*")
	if err != nil {
		return nil, nil, err
	}
	cleanup = func() {
		spool.Close()
		os.Remove(spool.Name())
	}
	if _, err := io.Copy(spool, e.Input()); err != nil {
		cleanup()
		return nil, nil, fmt.Errorf("read standard input: %w", err)
	}
	sources = slices.Clone(sources)
	sources[at] = input.File(sources[at].Name, spool.Name())
	return sources, cleanup, nil
}
