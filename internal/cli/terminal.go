// Output for a terminal, a pipe or a file, and numbers for people.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
)

// isTerminal reports whether w is a terminal that can redraw a line.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// defaultWidth is the width of a terminal that does not report one.
const defaultWidth = 80

// widthOf returns the number of columns of a terminal; 0 if w is no terminal.
func widthOf(w io.Writer) int {
	if !isTerminal(w) {
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

// readPassword prompts for a line of a terminal and reads it without an echo. If ctx ends, the echo is on again.
func readPassword(ctx context.Context, f *os.File, prompt io.Writer, name string) (string, error) {
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

// newProgress returns the display of a long work's progress on w. If w is a terminal, it is a bar
// that redraws itself; otherwise it is a line every few seconds.
func newProgress(w io.Writer) progress {
	if isTerminal(w) {
		return newBar(w)
	}
	return &lines{w: w, every: 5 * time.Second, pace: pace{started: time.Now()}}
}

// frames shows one state after the other. On a terminal each replaces the one before. Elsewhere a
// state is a line with the time, written only if it differs from the one before.
type frames struct {
	w      io.Writer
	redraw bool
	last   string
}

func newFrames(w io.Writer) *frames { return &frames{w: w, redraw: isTerminal(w)} }

// show shows a state. full is for terminals, line for anything else.
func (f *frames) show(full, line string) error {
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

// number writes n with its thousands grouped: 1,280,723.
func number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// size writes a number of bytes: 512 B, 1.5 KiB, 174.2 MiB.
func size(bytes int64) string {
	if bytes < 1<<10 {
		return strconv.FormatInt(bytes, 10) + " B"
	}
	value, unit := float64(bytes)/(1<<10), 0
	units := [...]string{"KiB", "MiB", "GiB", "TiB", "PiB"}
	for value >= 1023.95 && unit < len(units)-1 {
		value /= 1 << 10
		unit++
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// seconds writes a duration to a tenth of a second, or from a minute on to seconds: 0.4s, 12.3s,
// 1m20s.
func seconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// rate returns n per second of d, as a whole number.
func rate(n int64, d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64(float64(n) / d.Seconds())
}

// plural returns "1 triple", "2 triples".
func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(n) + " " + what + "s"
}
