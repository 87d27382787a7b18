// Processes of tests.

package testbinary

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// Command makes a command whose environment names no server, and leaves 64 MiB of the disk free.
func Command(ctx context.Context, words ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TREFOIL_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "TREFOIL_KEEP_FREE=64MiB")
	return cmd
}

// ExitCode returns the exit code of a process that ended by itself; a signal is -1, as in
// os.ProcessState.
func ExitCode(t testing.TB, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

// Outcome is what became of a command.
type Outcome struct {
	Stdout, Stderr string
	Code           int
}

// Run runs a command to its end. ctx is that of the command, and ends after limit.
func Run(t testing.TB, ctx context.Context, limit time.Duration, cmd *exec.Cmd) Outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%s: still running after %s\n%s", strings.Join(cmd.Args, " "), limit, stderr.String())
	}
	return Outcome{stdout.String(), stderr.String(), ExitCode(t, err)}
}

// Process is a command that goes on while the test does other things. Its methods are safe for
// concurrent use.
type Process struct {
	Cmd    *exec.Cmd
	More   chan struct{} // has a token after a line of standard error, for one receiver
	Ended  chan struct{} // closed when it has ended and all of its output is here
	Result error         // of Cmd.Wait, once Ended is closed

	mu    sync.Mutex
	lines []string // of standard error so far
}

// Start starts a command and reads its standard error. The caller must kill it.
func Start(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Cmd: cmd, More: make(chan struct{}, 1), Ended: make(chan struct{})}
	cmd.WaitDelay = 10 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.follow(stderr)
	return p
}

func (p *Process) follow(stderr io.Reader) {
	in := bufio.NewScanner(stderr)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		p.mu.Lock()
		p.lines = append(p.lines, in.Text())
		p.mu.Unlock()
		select {
		case p.More <- struct{}{}:
		default:
		}
	}
	p.Result = p.Cmd.Wait()
	close(p.Ended)
}

// Said returns its standard error so far.
func (p *Process) Said() string { return p.Tail(1 << 30) }

// Tail returns the last lines of its standard error so far.
func (p *Process) Tail(n int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines[max(0, len(p.lines)-n):], "\n")
}

// Over reports whether it has ended.
func (p *Process) Over() bool {
	select {
	case <-p.Ended:
		return true
	default:
		return false
	}
}

// FindLine waits until standard error has a line that matches, and returns its last group. ok is
// false if the process ended without one.
func (p *Process) FindLine(t testing.TB, limit time.Duration, expression string) (group string, ok bool) {
	t.Helper()
	re := regexp.MustCompile(expression)
	timeout := time.After(limit)
	for seen, ended := 0, false; ; {
		p.mu.Lock()
		lines := p.lines[seen:]
		seen = len(p.lines)
		p.mu.Unlock()
		for _, line := range lines {
			if m := re.FindStringSubmatch(line); m != nil {
				return m[len(m)-1], true
			}
		}
		// The last lines may have come just before the end, so they are read once more after it.
		if ended {
			return "", false
		}
		select {
		case <-p.More:
		case <-p.Ended:
			ended = true
		case <-timeout:
			t.Fatalf("no line matches %s after %s:\n%s", expression, limit, p.Tail(40))
		}
	}
}

// Wait waits for the process to end and returns its exit code; that of a signal is -1.
func (p *Process) Wait(t testing.TB, limit time.Duration) int {
	t.Helper()
	select {
	case <-p.Ended:
	case <-time.After(limit):
		t.Fatalf("still running after %s:\n%s", limit, p.Tail(40))
	}
	return ExitCode(t, p.Result)
}
