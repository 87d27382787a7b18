// Output for a terminal, a pipe or a file, and numbers for people.

package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"
)

// IsTerminal reports whether w is a terminal that can redraw a line.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// defaultWidth is the width of a terminal that does not report one.
const defaultWidth = 80

// WidthOf returns the number of columns of a terminal; 0 if w is no terminal.
func WidthOf(w io.Writer) int {
	if !IsTerminal(w) {
		return 0
	}
	if width, _, err := term.GetSize(int(w.(*os.File).Fd())); err == nil && width > 0 {
		return width
	}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		return width
	}
	return defaultWidth
}

// ReadPassword prompts for a line of a terminal and reads it without an echo. If ctx ends, the echo is on again.
func ReadPassword(ctx context.Context, f *os.File, prompt io.Writer, name string) (string, error) {
	state, err := term.GetState(int(f.Fd()))
	if err != nil {
		return "", err
	}
	fmt.Fprint(prompt, name)
	defer fmt.Fprintln(prompt)
	type read struct {
		line []byte
		err  error
	}
	done := make(chan read, 1)
	// If the command is interrupted, the goroutine is left behind, because the process ends soon.
	go func() {
		line, err := term.ReadPassword(int(f.Fd()))
		done <- read{line, err}
	}()
	select {
	case r := <-done:
		return string(r.line), r.err
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(int(f.Fd()), state))
	}
}

// NewProgress returns the display of a long work's progress on w. If w is a terminal, it is a bar
// that redraws itself; otherwise it is a line every few seconds.
func NewProgress(w io.Writer) Progress {
	if IsTerminal(w) {
		return newBar(w)
	}
	return &lines{w: w, every: 5 * time.Second, pace: pace{started: time.Now()}}
}

// Frames shows one state after the other. On a terminal each replaces the one before. Elsewhere a
// state is a line with the time, written only if it differs from the one before.
type Frames struct {
	w      io.Writer
	redraw bool
	last   string
}

// NewFrames returns frames on w.
func NewFrames(w io.Writer) *Frames { return &Frames{w: w, redraw: IsTerminal(w)} }

// Show shows a state. full is for terminals, line for anything else.
func (f *Frames) Show(full, line string) error {
	if f.redraw {
		const home, clear = "\x1b[H", "\x1b[2J"
		_, err := io.WriteString(f.w, home+clear+full)
		return err
	}
	if line == f.last {
		return nil
	}
	f.last = line
	_, err := fmt.Fprintf(f.w, "%s %s\n", time.Now().Format(time.TimeOnly), line)
	return err
}
