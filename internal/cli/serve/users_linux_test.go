// Passwords that are typed at a terminal.

package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/password"
)

// openTerminal returns both ends of a pseudo-terminal: what a person has, and what a command has.
func openTerminal(t *testing.T) (person, command *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("LEFT OUT, because there are no terminals: ", err)
	}
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	command, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { command.Close() })
	return person, command
}

// echoes reports whether a terminal shows what is typed.
func echoes(t *testing.T, f *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// TestUsersHashTyped: a typed password is asked for twice and never shown; an interruption gives the echo back.
func TestUsersHashTyped(t *testing.T) {
	for name, c := range map[string]struct {
		typed []string
		err   string // "" for a hash
	}{
		"the same twice": {[]string{"secret word", "secret word"}, ""},
		"two":            {[]string{"secret word", "secret world"}, "differ"},
		"nothing":        {[]string{"", ""}, "1 to"},
		"interrupted":    {nil, "canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			person, command := openTerminal(t)
			ctx, interrupt := context.WithCancel(t.Context())
			var out strings.Builder
			asked := make(chan string, 10)
			ended := make(chan error, 1)
			go func() {
				ended <- (&usersHashCmd{}).Run(&console.Env{Ctx: ctx, Stdin: command, Stdout: &out, Stderr: writerFunc(func(p []byte) (int, error) {
					asked <- string(p)
					return len(p), nil
				})})
			}()
			// 1. Type when there is no echo.
			typed := func(text string) {
				if got := <-asked; got != "Password: " && got != "Again: " {
					t.Errorf("asked %q", got)
				}
				for echoes(t, command) {
					time.Sleep(time.Millisecond)
				}
				if _, err := person.WriteString(text); err != nil {
					t.Fatal(err)
				}
			}
			for _, line := range c.typed {
				typed(line + "\n")
				if got := <-asked; got != "\n" {
					t.Errorf("after a line: %q", got)
				}
			}
			if c.typed == nil {
				typed("") // Ctrl-C would make the terminal forget what was typed
			}
			interrupt()
			// 2. The hash is of the password, and the terminal has shown nothing of it.
			err := <-ended
			if !echoes(t, command) {
				t.Error("the echo stays off")
			}
			if c.typed == nil { // a line ends the read that was left behind, before another file gets its descriptor
				if _, err := person.WriteString("\n"); err != nil {
					t.Fatal(err)
				}
				goleak.VerifyNone(t, before)
			}
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || c.typed == nil && !errors.Is(err, context.Canceled) {
					t.Errorf("%v, want %s", err, c.err)
				}
			} else if hash, parseErr := password.Parse(strings.TrimSuffix(out.String(), "\n")); err != nil || parseErr != nil || !hash.Verify(c.typed[0]) {
				t.Errorf("%s %v %v", out.String(), err, parseErr)
			}
			if _, err := command.WriteString("end\n"); err != nil {
				t.Fatal(err)
			}
			shown := make([]byte, 100)
			n, err := person.Read(shown)
			if err != nil || bytes.Contains(shown[:n], []byte("sec")) {
				t.Errorf("the terminal has shown %q, %v", shown[:n], err)
			}
		})
	}
}

// writerFunc is a writer that is a function.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
