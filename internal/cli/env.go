// What a command has besides its flags: its streams, its messages and its output.

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/klauspost/compress/zstd"

	"github.com/trefoildb/trefoil/internal/atomicfile"
	"github.com/trefoildb/trefoil/links"
)

// env is the environment of a command, besides its flags.
type env struct {
	ctx    context.Context
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	// width is the number of columns of the terminal that standard output is; 0 if it is none.
	width int

	variables []string // messages about unknown variables of the environment; see variables.go

	links links.Graph // replaces the server's graph; only tests set it
}

// sayf writes a message to standard error. Results must go to standard output instead.
func (e *env) sayf(format string, args ...any) {
	fmt.Fprintf(e.stderr, "trefoil: "+format+"\n", args...)
}

// sayEmpty writes why an answer is empty, if a text says so.
func (e *env) sayEmpty(warning string) {
	if warning != "" {
		e.sayf("warning: the answer is empty. %s", warning)
	}
}

// warnVariables passes the messages about unknown variables to warn, once.
func (e *env) warnVariables(warn func(message string)) {
	for _, message := range e.variables {
		warn(message)
	}
	e.variables = nil
}

// printJSON writes a value as one line of JSON.
func (e *env) printJSON(value any) error {
	out := json.NewEncoder(e.stdout)
	out.SetEscapeHTML(false)
	return out.Encode(value)
}

// into calls do with standard output, or with a file in its place if it has a name.
func (e *env) into(file string, do func(e *env) error) error {
	if file == "" {
		return do(e)
	}
	for _, unknown := range []string{".bz2", ".xz"} {
		if strings.HasSuffix(file, unknown) {
			return usagef("--output %s: a file is compressed as .gz or .zst only", file)
		}
	}
	// Write beside the file, so that what is there stays until the new one is complete.
	return atomicfile.Replace(atomicfile.OS, file, 0o600, func(w io.Writer) error {
		compressed, err := compressor(file, w)
		if err != nil {
			return err
		}
		to := *e
		to.stdout = compressed
		if err := do(&to); err != nil {
			return err
		}
		return compressed.Close()
	})
}

// compressor returns a writer that compresses as the name of a file says.
func compressor(name string, w io.Writer) (io.WriteCloser, error) {
	switch filepath.Ext(name) {
	case ".gz":
		return gzip.NewWriter(w), nil
	case ".zst":
		return zstd.NewWriter(w)
	}
	return struct {
		io.Writer
		io.Closer
	}{w, io.NopCloser(nil)}, nil
}
