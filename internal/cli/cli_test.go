// The command line: exit codes, help, serving, interruption and broken pipes.

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs a command line in this process.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, messages bytes.Buffer
	code = Run(t.Context(), args, strings.NewReader(stdin), &out, &messages)
	return code, out.String(), messages.String()
}

func TestRun(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	const line = "<http://e.x/s> <http://e.x/p> \"-1\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n"
	for _, step := range []struct {
		stdin  string
		args   []string
		code   int
		stdout string
	}{
		{line, []string{"load", "--data", data, "--from", "nt", "--json", "-"}, exitDone, ""},
		{"", []string{"match", "--data", data}, exitDone, line},
		{"", []string{"range", "--data", data, "--order", "pos", "--prefix", "<http://e.x/p>", "--ge", "-1", "--lt", "-0.5"}, exitDone, line},
		{"x", []string{"load", "--data", data, "--from", "nt", "-"}, exitFailed, ""},
		{"x\n" + line, []string{"load", "--data", data, "--from", "nt", "--keep-going", "-"}, exitRejected, ""},
		{"", []string{"count", "--data", data, "? ? ?"}, exitDone, "1\n"},
		{line, []string{"delete", "--data", data, "--from", "nt", "-"}, exitDone, ""},
		{"", []string{"count", "--data", data}, exitDone, "0\n"},
		{"", []string{"count", "--data", data, "--estimate"}, exitDone, "0\n"},
		{"", []string{"range", "--data", data}, exitUsage, ""},
		{"", nil, exitUsage, ""},
	} {
		code, stdout, stderr := run(t, step.stdin, step.args...)
		if code != step.code || step.stdout != "" && stdout != step.stdout {
			t.Errorf("%q: code %d, want %d\nstdout: %s\nstderr: %s", step.args, code, step.code, stdout, stderr)
		}
	}
}

// A command alone has the help, and tells the mistakes, that it has among the others.
func TestGrammarFor(t *testing.T) {
	seed.Slow(t)
	if testing.Short() {
		t.Skip("short: it builds the whole grammar many times")
	}
	parsed := func(grammar any, args []string) string {
		var out bytes.Buffer
		parser := newParser(grammar, &out, &out, func(int) {})
		_, err := parser.Parse(args)
		return fmt.Sprintf("%s%v", out.String(), err)
	}
	commands := 0
	for command := range reflect.TypeFor[grammar]().Fields() {
		name := strings.ToLower(command.Name)
		commands++
		for _, args := range [][]string{{name, "--help"}, {name, "--no-such-flag"}, {name, "no-such-command", "x", "y", "--limit"}} {
			alone := grammarFor(args)
			if n := reflect.TypeOf(alone).Elem().NumField(); n != 1 {
				t.Errorf("%q: the grammar of %d commands", args, n)
			}
			if got, want := parsed(alone, args), parsed(new(grammar), args); got != want {
				t.Errorf("%q: alone it says\n%s\namong the others\n%s", args, got, want)
			}
		}
	}
	for _, args := range [][]string{nil, {"--help"}, {"no-such-command"}, {"Load"}} {
		if n := reflect.TypeOf(grammarFor(args)).Elem().NumField(); n != commands {
			t.Errorf("%q: the grammar of %d commands, want all %d", args, n, commands)
		}
	}
}

func TestServe(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	ctx, stop := context.WithCancel(t.Context())
	messages, stderr := io.Pipe()
	ended := make(chan int)
	go func() {
		code := Run(ctx, []string{"serve", "--data", data, "--listen", "127.0.0.1:0"}, nil, io.Discard, stderr)
		stderr.Close()
		ended <- code
	}()
	var said strings.Builder
	url := ""
	for buffer := make([]byte, 1<<10); url == ""; {
		n, err := messages.Read(buffer)
		if err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		said.Write(buffer[:n])
		url = regexp.MustCompile(`http://[^\s"]+`).FindString(said.String())
	}
	rest := make(chan string)
	go func() {
		text, _ := io.ReadAll(messages)
		rest <- string(text)
	}()
	if code, stdout, stderr := run(t, "", "status", "--to", url); code != exitDone || !strings.Contains(stdout, "segments") {
		t.Errorf("status: %d %s %s", code, stdout, stderr)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if code := <-ended; code != exitDone {
		t.Errorf("serve: exit code %d", code)
	}
	if text := <-rest; !strings.Contains(text, "ended") {
		t.Errorf("serve said: %s", text)
	}
}

// A command that reads or writes without an end stops when it is told to.
func TestInterrupted(t *testing.T) {
	for _, args := range [][]string{
		{"convert", "--from", "nt", "-"}, {"generate", "--triples", "1G"},
		{"load", "--data", filepath.Join(t.TempDir(), "store"), "--from", "nt", "-"},
		{"add", "--data", filepath.Join(t.TempDir(), "store"), "--from", "nt", "-"},
	} {
		ctx, stop := context.WithCancel(t.Context())
		var stderr bytes.Buffer
		forever := &forever{text: []byte("<http://e.x/s> <http://e.x/p> <http://e.x/o> .\n"), meanwhile: stop}
		out := &drain{meanwhile: stop}
		code := Run(ctx, args, forever, out, &stderr)
		if code != exitFailed || !strings.Contains(stderr.String(), "interrupted") {
			t.Errorf("%q: code %d, %s", args, code, stderr.String())
		}
	}
}

// soon is after how many reads or writes meanwhile is called.
func soon() int {
	if testing.Short() {
		return 10
	}
	return 100
}

// forever is a reader without an end that calls meanwhile when it has been read
// from soon times.
type forever struct {
	text      []byte
	at, n     int
	meanwhile func()
}

func (f *forever) Read(p []byte) (n int, err error) {
	if f.n++; f.n == soon() {
		f.meanwhile()
	}
	for n < len(p) {
		k := copy(p[n:], f.text[f.at:])
		f.at = (f.at + k) % len(f.text)
		n += k
	}
	return n, nil
}

// drain is the same for writes.
type drain struct {
	n         int
	meanwhile func()
}

func (f *drain) Write(p []byte) (int, error) {
	if f.n++; f.n == soon() {
		f.meanwhile()
	}
	return len(p), nil
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", syscall.EPIPE) }

func TestBrokenPipe(t *testing.T) {
	var stderr bytes.Buffer
	code := Run(t.Context(), []string{"generate", "--triples", "10k"}, nil, brokenPipe{}, &stderr)
	if code != exitFailed || stderr.Len() > 0 {
		t.Errorf("code %d, %s", code, stderr.String())
	}
}

// TestHelpOfErrors: an error of usage names the command whose help explains it.
func TestHelpOfErrors(t *testing.T) {
	for command, args := range map[string][]string{
		"trefoil":              {"quary"},
		"trefoil query":        {"query"},
		"trefoil load":         {"load", "--nothing"},
		"trefoil cluster":      {"cluster"},
		"trefoil prefixes add": {"prefixes", "add", "a b", "http://example.org/"},
	} {
		code, _, stderr := run(t, "", args...)
		if code != exitUsage || !strings.HasSuffix(stderr, "\n  See: "+command+" --help\n") {
			t.Errorf("%q: code %d, %s", args, code, stderr)
		}
	}
}

func TestExitCode(t *testing.T) {
	place := &triple.SyntaxError{Source: "a.nt", Line: 3, Column: 14, Msg: "oh"}
	for _, test := range []struct {
		err  error
		code int
		says string
	}{
		{nil, exitDone, ""},
		{console.ErrRejected, exitRejected, ""},
		{console.ErrReported, exitFailed, ""},
		{console.Usagef("no %s", "so"), exitUsage, "trefoil: no so\n  See: trefoil load --help\n"},
		{fmt.Errorf("load: %w", place), exitFailed, "a.nt:3:14: oh\n"},
		{console.WithHint(place, "do this"), exitFailed, "a.nt:3:14: oh\n  do this\n"},
		{errors.New("broken"), exitFailed, "trefoil: broken\n"},
		{console.WithHint(errors.New("broken"), "mend it"), exitFailed, "trefoil: broken\n  mend it\n"},
		{fmt.Errorf("read: %w", context.Canceled), exitFailed, "trefoil: read: context canceled\n"}, // nobody cancelled us
	} {
		var stderr bytes.Buffer
		if code := exitCode(t.Context(), test.err, "trefoil load", &stderr); code != test.code || stderr.String() != test.says {
			t.Errorf("%v: code %d, %q; want %d, %q", test.err, code, stderr.String(), test.code, test.says)
		}
	}
}
