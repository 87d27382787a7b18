// Helpers: one process and its output.

package processes

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
	"syscall"
	"testing"
	"time"
)

// process is a trefoil that goes on while the test does other things.
type process struct {
	cmd *exec.Cmd

	mu     sync.Mutex
	lines  []string // of standard error so far
	more   chan struct{}
	ended  chan struct{} // closed when it has ended and all of its output is here
	result error
}

// command makes a command whose environment names no server, and leaves 64 MiB of the disk free.
func command(ctx context.Context, words ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TREFOIL_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "TREFOIL_KEEP_FREE=64MiB")
	return cmd
}

// begin starts a command in a process group of its own, which is killed at the
// end of the test where it still runs.
func begin(t *testing.T, words ...string) *process {
	t.Helper()
	p := &process{cmd: command(context.Background(), words...), more: make(chan struct{}, 1), ended: make(chan struct{})}
	p.cmd.SysProcAttr = attributes()
	p.cmd.WaitDelay = 10 * time.Second
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.follow(stderr)
	t.Cleanup(func() {
		if !p.over() {
			p.signal(t, syscall.SIGKILL)
			<-p.ended
		}
	})
	return p
}

func (p *process) follow(stderr io.Reader) {
	in := bufio.NewScanner(stderr)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		p.mu.Lock()
		p.lines = append(p.lines, in.Text())
		p.mu.Unlock()
		select {
		case p.more <- struct{}{}:
		default:
		}
	}
	p.result = p.cmd.Wait()
	close(p.ended)
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// tail returns the last lines of what it said.
func (p *process) tail(n int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines[max(0, len(p.lines)-n):], "\n")
}

func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// waitFor waits until standard error has a line that matches, and returns its
// last group.
func (p *process) waitFor(t *testing.T, expression string) (group string) {
	t.Helper()
	re := regexp.MustCompile(expression)
	timeout := time.After(waitLimit)
	for seen, ended := 0, false; ; {
		p.mu.Lock()
		lines := p.lines[seen:]
		seen = len(p.lines)
		p.mu.Unlock()
		for _, line := range lines {
			if m := re.FindStringSubmatch(line); m != nil {
				return m[len(m)-1]
			}
		}
		if ended {
			t.Fatalf("the process ended (%v) and no line matches %s:\n%s", p.result, expression, p.tail(40))
		}
		select {
		case <-p.more:
		case <-p.ended:
			ended = true
		case <-timeout:
			t.Fatalf("no line matches %s after %s:\n%s", expression, waitLimit, p.tail(40))
		}
	}
}

// wait waits for the process to end and returns its exit code; that of a signal
// is -1.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(waitLimit):
		t.Fatalf("still running after %s:\n%s", waitLimit, p.tail(40))
	}
	return exitCode(t, p.result)
}

func exitCode(t *testing.T, err error) int {
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

// signal sends a signal to the process and to those that it started.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(-p.cmd.Process.Pid, s); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
}

// outcome is what became of a command.
type outcome struct {
	stdout, stderr string
	code           int
}

// trefoil runs a command to its end.
func trefoil(t *testing.T, args ...string) outcome {
	t.Helper()
	return trefoilWith(t, nil, nil, args...)
}

// trefoilWith is trefoil with standard input and more of an environment.
func trefoilWith(t *testing.T, stdin io.Reader, env []string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	cmd := command(ctx, append([]string{binary}, args...)...)
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("trefoil %s: still running after %s\n%s", strings.Join(args, " "), waitLimit, stderr.String())
	}
	return outcome{stdout.String(), stderr.String(), exitCode(t, err)}
}

// must fails the test where the exit code is another.
func (o outcome) must(t *testing.T, code int) outcome {
	t.Helper()
	if o.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %.2000s\nstderr: %.2000s", o.code, code, o.stdout, o.stderr)
	}
	return o
}
