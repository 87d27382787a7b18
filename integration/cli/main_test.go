// Helpers: the trefoil under test, its processes and their output.

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/testbinary"
)

// The exit codes, as documented.
const (
	done     = 0
	failed   = 1
	usage    = 2
	rejected = 3
)

// binary is the path of the trefoil that is tested.
var binary string

// limit bounds every process of these tests, so that one that hangs fails.
const limit = 2 * time.Minute

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	path, remove, err := testbinary.Trefoil(filepath.Join("..", ".."))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	binary = path
	return m.Run()
}

// outcome is what became of a command.
type outcome struct {
	stdout, stderr string
	code           int
}

// trefoil runs a command to its end, with nothing on standard input.
func trefoil(t *testing.T, args ...string) outcome {
	t.Helper()
	return trefoilWith(t, nil, args...)
}

// trefoilWith runs a command to its end with the given standard input.
func trefoilWith(t *testing.T, stdin io.Reader, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := command(ctx, args...)
	cmd.Stdin = stdin
	o := testbinary.Run(t, ctx, limit, cmd)
	return outcome{o.Stdout, o.Stderr, o.Code}
}

// command makes a command of the trefoil that is tested.
func command(ctx context.Context, args ...string) *exec.Cmd {
	return testbinary.Command(ctx, append([]string{binary}, args...)...)
}

// mustCode fails the test where the exit code is another.
func (o outcome) mustCode(t *testing.T, code int) outcome {
	t.Helper()
	if o.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %.2000s\nstderr: %.2000s", o.code, code, o.stdout, o.stderr)
	}
	return o
}

// mustSay fails the test where the messages miss a text.
func (o outcome) mustSay(t *testing.T, texts ...string) outcome {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(o.stderr, text) {
			t.Fatalf("stderr does not say %q:\n%.2000s", text, o.stderr)
		}
	}
	return o
}

// mustPrint fails the test where the answer is another.
func (o outcome) mustPrint(t *testing.T, want string) outcome {
	t.Helper()
	if o.stdout != want {
		t.Fatalf("stdout:\n%.2000s\nwant:\n%.2000s\nstderr: %.2000s", o.stdout, want, o.stderr)
	}
	return o
}

// lines returns the lines of the answer.
func (o outcome) lines() []string {
	if o.stdout == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(o.stdout, "\n"), "\n")
}

// process is a command that goes on while the test does other things.
type process struct {
	*testbinary.Process
	stdout *bytes.Buffer
}

// start starts a command. It is killed at the end of the test where it still
// runs.
func start(t *testing.T, stdin io.Reader, args ...string) *process {
	t.Helper()
	return startIn(t, nil, stdin, args...)
}

// startIn is start with more variables of the environment, as NAME=VALUE.
func startIn(t *testing.T, env []string, stdin io.Reader, args ...string) *process {
	t.Helper()
	cmd, stdout := command(context.Background(), args...), new(bytes.Buffer)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin, cmd.Stdout = stdin, stdout
	p := &process{testbinary.Start(t, cmd), stdout}
	t.Cleanup(func() {
		p.Cmd.Process.Kill()
		<-p.Ended
	})
	return p
}

// waitFor waits until standard error has a line that matches, and returns its last group. ok is
// false if the process ended without one.
func (p *process) waitFor(t *testing.T, expression string) (group string, ok bool) {
	t.Helper()
	return p.FindLine(t, limit, expression)
}

// wait waits for the process to end.
func (p *process) wait(t *testing.T) outcome {
	t.Helper()
	code := p.Wait(t, limit)
	return outcome{p.stdout.String(), p.Said(), code}
}

// kill ends the process at once, as a power cut would end it, and waits.
func (p *process) kill(t *testing.T) {
	t.Helper()
	p.Cmd.Process.Kill()
	<-p.Ended
}

// signal sends a signal to the process.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, p.Cmd.Process.Signal(s))
}

// server is a trefoil serve that has said where it listens.
type server struct {
	*process
	url string
}

// serve starts a server on a free port of loopback.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	p := start(t, nil, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	url, ok := p.waitFor(t, `(http://127\.0\.0\.1:\d+)`)
	if !ok {
		t.Fatalf("serve ended: %s", p.Said())
	}
	return &server{p, url}
}

// stop asks the server to end, as Ctrl-C does, and demands that it does so well.
func (s *server) stop(t *testing.T) {
	t.Helper()
	s.signal(t, syscall.SIGINT)
	s.wait(t).mustCode(t, done)
}

// get returns the answer to a GET request.
func (s *server) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	resp, err := http.Get(s.url + path)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

// file writes a file into a directory of the test and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// shared returns the path of the data beside the project, or skips the test
// where it is absent; CI must have it.
func shared(t *testing.T, elements ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{"..", "..", "..", "shared", "data"}, elements...)...)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI needs the data beside the project: %v", err)
		}
		t.Skipf("no data beside the project: %v", err)
	}
	return path
}
