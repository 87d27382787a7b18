// The commands backup and restore.

package cli

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// TestBackupChain makes a chain in a directory, from a data directory and from a server, and restores
// it to several moments.
func TestBackupChain(t *testing.T) {
	dir := t.TempDir()
	data, chain := filepath.Join(dir, "data"), filepath.Join(dir, "chain")+"/"
	must := func(args ...string) (stdout, stderr string) {
		t.Helper()
		code, stdout, stderr := run(t, "", args...)
		if code != exitDone {
			t.Fatalf("%q: %d, %s", args, code, stderr)
		}
		return stdout, stderr
	}
	statement := func(n int) string { return fmt.Sprintf("<http://ex/s%d> <http://ex/p> \"o\" . #@ app=AQI=\n", n) }
	add := func(n int, flags ...string) {
		t.Helper()
		text := "#@trefoil-annotations 1\n" + statement(n)
		if code, _, stderr := run(t, text, append([]string{"add", "--from", "nq", "-"}, flags...)...); code != exitDone {
			t.Fatal(stderr)
		}
	}
	// 1. A full backup and an increment of the directory, and an increment from a server.
	add(1, "--data", data)
	must("backup", "--data", data, chain)
	add(2, "--data", data)
	must("backup", "--data", data, chain)
	between := time.Now()
	for !time.Now().After(between.Add(5 * time.Millisecond)) {
		time.Sleep(time.Millisecond)
	}
	url, stop := serveFor(t, data)
	add(3, "--to", url)
	if _, stderr := must("backup", "--to", url, "--since", chain, chain); !strings.Contains(stderr, "00000003-increment.tar") {
		t.Error(stderr)
	}
	alone := filepath.Join(dir, "alone.tar")
	must("backup", "--to", url, "--since", chain, alone)
	stop()
	// 2. Restore all of it, the first two, and as of a time.
	restored := func(want int, args ...string) string {
		t.Helper()
		into := filepath.Join(t.TempDir(), "restored")
		must(append([]string{"restore", "--data", into}, args...)...)
		text := "#@trefoil-annotations 1\n"
		for n := 1; n <= want; n++ {
			text += statement(n)
		}
		if got, _ := must("dump", "--data", into); got != text {
			t.Errorf("%q: %s", args, got)
		}
		return into
	}
	into := restored(3, chain)
	restored(2, filepath.Join(chain, "00000001-full.tar"), filepath.Join(chain, "00000002-increment.tar"))
	restored(2, "--until", between.UTC().Format(time.RFC3339Nano), chain)
	// 3. Report what cannot be done.
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"restore", "--data", filepath.Join(dir, "x"), filepath.Join(chain, "00000002-increment.tar")}, exitFailed, "full backup"},
		{[]string{"restore", "--data", filepath.Join(dir, "x"), filepath.Join(chain, "00000001-full.tar"), alone}, exitFailed, "does not continue"},
		{[]string{"restore", "--data", filepath.Join(dir, "x"), "--until", "2020-01-01", chain}, exitFailed, "ends after it"},
		{[]string{"restore", "--data", filepath.Join(dir, "x"), "--until", "2099-01-01T00:00:00Z", chain}, exitFailed, "ends before it"},
		{[]string{"restore", "--data", filepath.Join(dir, "x"), "--until", "yesterday", chain}, exitUsage, "neither a time"},
		{[]string{"restore", "--data", into, chain}, exitFailed, "not empty"},
		{[]string{"restore", chain}, exitUsage, "--data"},
		{[]string{"restore", "--data", filepath.Join(dir, "x"), dir}, exitFailed, "no backups"},
		{[]string{"backup", "--data", into, "--since", alone, filepath.Join(dir, "y.tar")}, exitFailed, "full backup"},
		{[]string{"backup", "--data", data, "--since", alone, chain}, exitUsage, "--since"},
		{[]string{"backup", "--data", data, "--full", filepath.Join(dir, "y.tar")}, exitUsage, "--full"},
	} {
		code, _, stderr := run(t, "", test.args...)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%q: %d, %s, want %q", test.args, code, stderr, test.want)
		}
		for _, name := range []string{"x", "y.tar"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				t.Errorf("%q left %s", test.args, name)
			}
		}
	}
	// 4. The restored store has a chain of its own.
	add(4, "--data", into)
	must("backup", "--data", into, "--full", chain)
	restored(4, chain)
}

// TestBackupsAtOnce: of several backups into one directory at the same time, one is written, and the
// others fail or come after it. None replaces another one.
func TestBackupsAtOnce(t *testing.T) {
	dir := t.TempDir()
	data, chain := filepath.Join(dir, "data"), filepath.Join(dir, "chain")+"/"
	if code, _, stderr := run(t, "<a:s> <a:p> <a:o> .\n", "add", "--from", "nq", "--data", data, "-"); code != exitDone {
		t.Fatal(stderr)
	}
	url, stop := serveFor(t, data)
	defer stop()
	// 1. While one is being written, others are refused and write nothing.
	if err := os.MkdirAll(chain, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := directory.Lock(vfs.Default, chain)
	if err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(t, "", "backup", "--to", url, chain); code != exitFailed || !strings.Contains(stderr, "another backup is being written") {
		t.Errorf("%d, %s", code, stderr)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	// 2. All that succeed have a name of their own, and continue each other.
	const backups = 6
	var running sync.WaitGroup
	var done atomic.Int64
	for range backups {
		running.Go(func() {
			code, _, stderr := run(t, "", "backup", "--to", url, chain)
			switch {
			case code == exitDone:
				done.Add(1)
			case !strings.Contains(stderr, "another backup is being written"):
				t.Errorf("%d, %s", code, stderr)
			}
		})
	}
	running.Wait()
	files, err := filepath.Glob(filepath.Join(chain, "*.tar"))
	if err != nil || len(files) == 0 || int64(len(files)) != done.Load() {
		t.Errorf("%d backups were made, and there are %q, %v", done.Load(), files, err)
	}
	if code, _, stderr := run(t, "", "restore", "--data", filepath.Join(dir, "restored"), chain); code != exitDone {
		t.Error(stderr)
	}
	// 3. The lock does not count as a backup.
	if code, _, stderr := run(t, "", "backup", "--to", url, chain); code != exitDone {
		t.Error(stderr)
	}
}

// TestRestoreTo: a server takes backups with rows if it is empty, and rejects damaged ones.
func TestRestoreTo(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	url, stop := serveFor(t, data)
	defer stop()
	golden := filepath.Join("..", "backup", "testdata", "full.tar")
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.tar")
	if err := os.WriteFile(damaged, text[:len(text)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	files := filepath.Join(t.TempDir(), "files.tar")
	if code, _, stderr := run(t, "", "backup", "--to", url, files); code != exitDone {
		t.Fatal(stderr)
	}
	for path, want := range map[string]string{damaged: "ends before its trailer", files: "--data"} {
		if code, _, stderr := run(t, "", "restore", "--to", url, path); code != exitFailed || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d, %s", path, code, stderr)
		}
	}
	// The client verifies files, but a stream is verified while it is restored.
	if code, _, stderr := run(t, string(text[:len(text)/2]), "restore", "--to", url, "-"); code != exitFailed || !strings.Contains(stderr, "backup") {
		t.Errorf("a broken stream: %d, %s", code, stderr)
	}
	run(t, "", "update", "--to", url, "-e", "CLEAR ALL")
	if code, _, stderr := run(t, "", "restore", "--to", url, golden); code != exitDone || !strings.Contains(stderr, "6 triples with 1 annotation") {
		t.Fatalf("%d, %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "restore", "--to", url, golden); code != exitFailed || !strings.Contains(stderr, "only an empty one") {
		t.Errorf("into a store with triples: %d, %s", code, stderr)
	}
	if code, stdout, _ := run(t, "", "dump", "--to", url); code != exitDone || strings.Count(stdout, "<http://ex/p>") != 7 {
		t.Errorf("%d: %s", code, stdout)
	}
}

// TestRestoreNoArchive: a file that is no archive is named as such, and neither a store nor a server is blamed.
func TestRestoreNoArchive(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"empty": "", "text": "no archive\n", "long": strings.Repeat("<http://a> <http://b> <http://c> .\n", 1000)} {
		path := filepath.Join(dir, name+".tar")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, c := range [][2]string{{path, ""}, {"-", text}} {
			code, _, stderr := run(t, c[1], "restore", "--data", filepath.Join(dir, "store"), c[0])
			if code != exitFailed || !strings.Contains(stderr, "is no archive that trefoil backup wrote") || strings.Contains(stderr, "corrupt") || strings.Contains(stderr, "server") {
				t.Errorf("%s from %s: %d, %s", name, c[0], code, stderr)
			}
		}
	}
}

// TestHangUpHint: only the end of a connection is a server that hung up.
func TestHangUpHint(t *testing.T) {
	seed.Slow(t)
	for name, linger := range map[string]int{"end": -1, "reset": 0} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				// A server that closes before the request is sent gives an error without a type.
				http.ReadRequest(bufio.NewReader(conn))
				conn.(*net.TCPConn).SetLinger(linger)
				conn.Close()
			}
		}()
		if code, _, stderr := run(t, "", "count", "--to", "http://"+listener.Addr().String()); code != exitFailed || !strings.Contains(stderr, "hung up") {
			t.Errorf("%s: %d, %s", name, code, stderr)
		}
	}
	if hint := target.Hint(fmt.Errorf("read a file: %w", io.EOF)); hint != "" {
		t.Error(hint)
	}
}
