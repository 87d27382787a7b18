// Helpers: one process and its output.

package processes

import (
	"context"
	"io"
	"syscall"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/testbinary"
)

// process is a trefoil that goes on while the test does other things.
type process struct{ *testbinary.Process }

// begin starts a command in a process group of its own, which is killed at the
// end of the test where it still runs.
func begin(t *testing.T, words ...string) *process {
	t.Helper()
	cmd := testbinary.Command(context.Background(), words...)
	cmd.SysProcAttr = attributes()
	p := &process{testbinary.Start(t, cmd)}
	t.Cleanup(func() {
		if !p.Over() {
			p.signal(t, syscall.SIGKILL)
			<-p.Ended
		}
	})
	return p
}

// waitFor waits until standard error has a line that matches, and returns its
// last group.
func (p *process) waitFor(t *testing.T, expression string) (group string) {
	t.Helper()
	group, ok := p.FindLine(t, waitLimit, expression)
	if !ok {
		t.Fatalf("the process ended (%v) and no line matches %s:\n%s", p.Result, expression, p.Tail(40))
	}
	return group
}

// wait waits for the process to end and returns its exit code; that of a signal
// is -1.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	return p.Wait(t, waitLimit)
}

// signal sends a signal to the process and to those that it started.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(-p.Cmd.Process.Pid, s); err != nil {
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
	cmd := testbinary.Command(ctx, append([]string{binary}, args...)...)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin = stdin
	o := testbinary.Run(t, ctx, waitLimit, cmd)
	return outcome{o.Stdout, o.Stderr, o.Code}
}

// must fails the test where the exit code is another.
func (o outcome) must(t *testing.T, code int) outcome {
	t.Helper()
	if o.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %.2000s\nstderr: %.2000s", o.code, code, o.stdout, o.stderr)
	}
	return o
}
