// The demo of links, as `make demo-links` runs it.

package processes

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// demo starts a demo's script in a process group of its own. Its end is awaited by the returned
// function, which reports processes that are left in the group.
func demo(t *testing.T, script string) (running *exec.Cmd, out *bytes.Buffer, wait func() error) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	// 1. Start it.
	out = &bytes.Buffer{}
	running = exec.Command(bash, filepath.Join("..", "..", "scripts", script), binary)
	running.Env = append(os.Environ(), "PAGES=3k", "TMPDIR="+t.TempDir())
	running.Stdout, running.Stderr = out, out
	running.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, running.Start())
	group := -running.Process.Pid
	// 2. Whatever happens, end what it started.
	t.Cleanup(func() { _ = syscall.Kill(group, syscall.SIGKILL) })
	return running, out, func() error {
		err := running.Wait()
		if kill := syscall.Kill(group, 0); !errors.Is(kill, syscall.ESRCH) {
			t.Errorf("processes of the demo are left: %v", kill)
		}
		return err
	}
}

// TestDemoLinks: the demo ends well in a minute. It compares its own answers with the generated
// links, before and after the loss of a machine, so it is enough that it reaches its end.
func TestDemoLinks(t *testing.T) {
	seed.Long(t)
	if testing.Short() {
		t.Skip("20 seconds")
	}
	t.Parallel()
	begun := time.Now()
	_, out, wait := demo(t, "demo-links.sh")
	if err := wait(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, text := range []string{"Nodes 2 and 3 rank in the same way", "$ kill -9 ", "whole again, on two", "/#query=SELECT%20", "Try next"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("the demo does not print %q:\n%s", text, out)
		}
	}
	if took := time.Since(begun); took > time.Minute {
		t.Logf("the demo took %s; a machine at rest takes less than a minute", took)
	}
}

// TestDemoLinksInterrupted: an interrupted demo leaves no process.
func TestDemoLinksInterrupted(t *testing.T) {
	t.Parallel()
	running, _, wait := demo(t, "demo-links.sh")
	dir := running.Env[len(running.Env)-1][len("TMPDIR="):]
	until(t, "a node runs", func() error {
		logs, _ := filepath.Glob(filepath.Join(dir, "*", "n1.log"))
		if len(logs) == 0 {
			return errors.New("no node has a log yet")
		}
		return nil
	})
	require.NoError(t, running.Process.Signal(syscall.SIGTERM))
	var failed *exec.ExitError
	if err := wait(); !errors.As(err, &failed) || failed.ExitCode() != 130 {
		t.Errorf("an interrupted demo ends with %v, want exit code 130", err)
	}
}
