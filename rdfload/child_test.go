// Child processes of the tests, for loads that are killed or short of memory.

package rdfload_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
)

// child returns the command that runs this program as a child. runChild selects its task by name.
func child(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childTest+"="+name)
	return cmd
}

func runChild(name string) int {
	var err error
	switch args := os.Args[1:]; name {
	case "kill":
		err = killChild(args[0], args[1], args[2:])
	case "memory":
		err = memoryChild(args[0], args[1], args[2:])
	default:
		err = fmt.Errorf("no child %q", name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// killOptions are the options of the killed loads.
func killOptions() rdfload.Options {
	o := rdfload.Options{Workers: 2, Resume: true, KeepGoing: true}
	o.SetLimits(1, 3, 4000, 0, 1)
	return o
}

// killChild loads files, and kills itself at an event: the n-th call of a sink.
func killChild(dir, event string, files []string) error {
	s, err := store.Open(dir, store.Options{CacheBytes: 1 << 20, MemTableBytes: 1 << 20, MinFreeBytes: -1})
	if err != nil {
		return err
	}
	name, number, _ := strings.Cut(event, ":")
	at, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return err
	}
	var count atomic.Int64
	hook := func(e string) error {
		if e == name && count.Add(1) == at {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	}
	list, _, err := input.List(files, input.RDF)
	if err != nil {
		return err
	}
	_, err = rdfload.Load(ctx, hookedSink{s.Sink(), hook}, list, killOptions())
	return err
}

// TestKill kills loads in all phases. Either nothing or all of a load must be visible, and it must
// resume.
func TestKill(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("processes are not killed there like here")
	}
	top := tempDir(t)
	one, two := filepath.Join(top, "a.nt"), filepath.Join(top, "b.nt.gz")
	data := text(0, 1500) + text(1, 500)
	for name, content := range map[string][]byte{one: []byte(data), two: compressed(".gz", []byte(text(1, 800)))} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := parsed(t, data+text(1, 800))
	n := 0
	checkSome(t, 6, func(t *rapid.T) {
		n++
		dir := filepath.Join(top, fmt.Sprint(n))
		published := false // by this try or an earlier one
		for range rapid.IntRange(1, 2).Draw(t, "kills") {
			event := rapid.SampledFrom([]string{"begin:1", "room:1", "room:20", "room:60", "create:1", "create:9", "close:3", "set:1000", "set:5000", "publish:1", "published:1"}).Draw(t, "event")
			out, err := child("kill", dir, event, one, two).CombinedOutput()
			if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != -1) {
				t.Fatalf("the child ended by %v: %s", err, out)
			}
			store := openStore(t, dir)
			got := stored(t, store)
			closeStore(t, store)
			published = published || strings.HasPrefix(event, "published") || err == nil
			if !published && len(got) > 0 || published && len(got) != len(want) {
				t.Fatalf("after %s there are %d triples of %d", event, len(got), len(want))
			}
			if err == nil {
				return
			}
		}
		store := openStore(t, dir)
		defer closeStore(t, store)
		list, _, err := input.List([]string{one, two}, input.RDF)
		if err != nil {
			t.Fatal(err)
		}
		s, err := rdfload.Load(ctx, store.Sink(), list, killOptions())
		if err != nil || s.Read != 2800 || s.New != int64(len(want)) || s.Duplicates != 2800-s.New {
			t.Fatalf("%+v, %v", s, err)
		}
		checkStored(t, store, want)
		checkNoLoads(t, store.Sink())
		if loads, err := store.Loads(ctx); err != nil || len(loads) != 1 {
			t.Fatalf("%v, %v", loads, err)
		}
	})
}

// memoryChild loads standard input with the smallest budget, and prints its summary.
func memoryChild(dir, name string, maxLine []string) error {
	s, err := store.Open(dir, store.Options{CacheBytes: 16 << 20, MemTableBytes: 8 << 20, MinFreeBytes: -1})
	if err != nil {
		return err
	}
	opts := rdfload.Options{Memory: rdfload.MinMemory, KeepGoing: true}
	// The collector's heap must not be full of garbage, because the arenas have the budget.
	debug.SetMemoryLimit(64 << 20)
	if len(maxLine) > 0 {
		if opts.MaxLine, err = strconv.Atoi(maxLine[0]); err != nil {
			return err
		}
	}
	sum, err := rdfload.Load(ctx, s.Sink(), []input.Source{input.Document(name, os.Stdin, -1, 0)}, opts)
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	fmt.Println(sum.Read, sum.Rejected, sum.Runs, sum.PeakMemory)
	return nil
}

// peak is the memory of a load in a child.
type peak struct {
	read, rejected, runs, memory int64
}

// peakOf loads the output of write in a child process.
func peakOf(t *testing.T, name string, write func(io.Writer) error, args ...string) peak {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the peak of memory is known on Linux only")
	}
	if race.Enabled {
		t.Skip("the race detector takes memory of its own")
	}
	cmd := child("memory", append([]string{filepath.Join(t.TempDir(), "data"), name}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buffered := bufio.NewWriterSize(in, 1<<20)
	writeErr := write(buffered)
	if writeErr == nil {
		writeErr = buffered.Flush()
	}
	in.Close()
	err = cmd.Wait()
	var p peak
	if _, scanErr := fmt.Sscan(out.String(), &p.read, &p.rejected, &p.runs, &p.memory); err != nil || scanErr != nil || writeErr != nil {
		t.Fatalf("%v, %v: %s", err, writeErr, out.String())
	}
	t.Logf("%d statements, %d rejected, %d runs, %d MiB at the peak", p.read, p.rejected, p.runs, p.memory>>20)
	return p
}

// slack is the memory that a process may use beyond a load's budget.
const slack = 128 << 20

func TestMemory(t *testing.T) {
	seed.Slow(t)
	if testing.Short() {
		t.Skip("it takes long")
	}
	for name, test := range map[string]struct {
		kind string
		n    int64
	}{"lubm": {"lubm", 2_000_000}, "texts": {"texts", 200_000}} {
		t.Run(name, func(t *testing.T) {
			g, err := dataset.New(test.kind, 1, test.n)
			if err != nil {
				t.Fatal(err)
			}
			p := peakOf(t, "in.nt", func(w io.Writer) error {
				_, err := g.Generate(context.Background(), w)
				return err
			})
			if p.read != test.n || p.runs < 3 || p.memory > rdfload.MinMemory+slack {
				t.Errorf("%+v", p)
			}
		})
	}
}

// TestMemoryShapes has documents with shapes that need much memory.
func TestMemoryShapes(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	for _, test := range seed.Choose(t, []struct {
		name, file string
		line       func(i int) string
		n          int
		reads      bool
		slack      int64
	}{
		{"tiny terms", "a.nt", func(i int) string { return fmt.Sprintf("<a:%x> <b:%x> <c:%x>.\n", i, i, i) }, 300_000, true, slack},
		{"long terms", "a.nt", func(i int) string { return fmt.Sprintf("<a:a> <a:b> \"%d%s\".\n", i, strings.Repeat("x", 100<<10)) }, 1500, true, slack},
		{"long in turtle", "a.ttl", func(i int) string { return fmt.Sprintf("<a:a> <a:b> \"%d%s\".\n", i, strings.Repeat("x", 100<<10)) }, 1500, true, slack},
		{"16 MiB terms", "a.nt", func(i int) string { return fmt.Sprintf("<a:a> <a:b> \"%04d%s\".\n", i, strings.Repeat("x", 16<<20-4)) }, 12, true, 2 * slack},
		{"rejected", "a.nt", func(i int) string { return fmt.Sprintf("<a:%040d> <b:%040d> bad.\n", i, i) }, 500_000, false, slack},
		{"half rejected", "a.nt", func(i int) string { return fmt.Sprintf("<a:%040d> <b:%040d> \"\\z\" .\n", i, i) }, 500_000, false, slack},
		{"rejected turtle", "a.ttl", func(i int) string { return fmt.Sprintf("<a:a> %s .\n", strings.Repeat("bad! ", 10_000)) }, 1500, false, slack},
		{"one rejected line", "a.nt", func(i int) string { return "bad " }, 50 << 20, false, slack},
	}) {
		t.Run(test.name, func(t *testing.T) {
			p := peakOf(t, test.file, func(w io.Writer) error {
				for i := range test.n {
					if _, err := io.WriteString(w, test.line(i)); err != nil {
						return err
					}
				}
				return nil
			})
			if want := int64(test.n); test.reads && p.read != want || !test.reads && p.read > 0 || p.memory > rdfload.MinMemory+test.slack {
				t.Errorf("%+v", p)
			}
		})
	}
}

// TestLongLine has a line of 200 MB under a small cap.
func TestLongLine(t *testing.T) {
	p := peakOf(t, "a.nt", func(w io.Writer) error {
		_, err := io.WriteString(w, "<a:a> <a:b> \"")
		for i := 0; i < 200 && err == nil; i++ {
			_, err = io.WriteString(w, strings.Repeat("long", 250_000))
		}
		if err == nil {
			_, err = io.WriteString(w, "\" .\n<a:a> <a:b> <a:c> .\n")
		}
		return err
	}, "65536")
	if p.read != 1 || p.rejected != 1 || p.memory > rdfload.MinMemory {
		t.Errorf("%+v", p)
	}
}
