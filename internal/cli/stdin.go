package cli

// This file reads standard input so that a signal ends the reading.

import (
	"context"
	"io"
	"os"
)

// input returns standard input. Reads end with the context's error once the
// command is told to end.
func (e *env) input() io.Reader {
	file, ok := e.stdin.(*os.File)
	if !ok {
		return contextReader{e.ctx, e.stdin}
	}
	// A read of a terminal or a pipe cannot be called off. It is left to a
	// goroutine, which a command that is interrupted leaves behind: the process
	// is about to end.
	r, w := io.Pipe()
	context.AfterFunc(e.ctx, func() { w.CloseWithError(e.ctx.Err()) })
	go func() {
		_, err := io.Copy(w, file)
		w.CloseWithError(err)
	}()
	return r
}

// contextReader ends reads when a context does.
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
