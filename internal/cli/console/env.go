// Package console is what all commands share: the environment of a run ([Env]), errors for people ([Usagef],
// [WithHint]), and output for a terminal, a pipe or a file (progress, tables of fields, figures).
package console

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

// Env is the environment of a command, besides its flags.
type Env struct {
	Ctx    context.Context
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Width is the number of columns of the terminal that standard output is; 0 if it is none.
	Width int

	Variables []string // messages about unknown variables of the environment; see variables.go

	Links links.Graph // replaces the server's graph; only tests set it
}

// Sayf writes a message to standard error. Results must go to standard output instead.
func (e *Env) Sayf(format string, args ...any) {
	fmt.Fprintf(e.Stderr, "trefoil: "+format+"\n", args...)
}

// SayEmpty writes why an answer is empty, if a text says so.
func (e *Env) SayEmpty(warning string) {
	if warning != "" {
		e.Sayf("warning: the answer is empty. %s", warning)
	}
}

// WarnVariables passes the messages about unknown variables to warn, once.
func (e *Env) WarnVariables(warn func(message string)) {
	for _, message := range e.Variables {
		warn(message)
	}
	e.Variables = nil
}

// PrintJSON writes a value as one line of JSON.
func (e *Env) PrintJSON(value any) error {
	out := json.NewEncoder(e.Stdout)
	out.SetEscapeHTML(false)
	return out.Encode(value)
}

// Print prints a value as JSON, or by text. If err is not nil, it only returns it.
func Print[T any](e *Env, asJSON bool, value T, err error, text func(io.Writer, T) error) error {
	switch {
	case err != nil:
		return err
	case asJSON:
		return e.PrintJSON(value)
	}
	return text(e.Stdout, value)
}

// WithOutput calls do with standard output, or with a file in its place if it has a name.
func (e *Env) WithOutput(file string, do func(e *Env) error) error {
	if file == "" {
		return do(e)
	}
	for _, unknown := range []string{".bz2", ".xz"} {
		if strings.HasSuffix(file, unknown) {
			return Usagef("--output %s: a file is compressed as .gz or .zst only", file)
		}
	}
	// Write beside the file, so that what is there stays until the new one is complete.
	return atomicfile.Replace(atomicfile.OS, file, 0o600, func(w io.Writer) error {
		compressed, err := compressor(file, w)
		if err != nil {
			return err
		}
		to := *e
		to.Stdout = compressed
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
