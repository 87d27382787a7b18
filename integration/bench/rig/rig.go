// One run of the benchmark: its flags, parts and data files.

package rig

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/rdfload"
)

// Rig is one run.
type Rig struct {
	Trefoil string // the binary under test
	Dir     string // of data files and stores
	Seed    uint64 // of the data and of the questions
	Report  Report
}

// Flags defines the flags of all suites. size says how much the suite needs in -dir.
func (r *Rig) Flags(f *flag.FlagSet, dir, size string) {
	f.StringVar(&r.Trefoil, "trefoil", "bin/trefoil", "the `binary` to measure")
	f.StringVar(&r.Dir, "dir", filepath.Join(os.TempDir(), dir), "`directory` of data and stores; "+size)
	f.Uint64Var(&r.Seed, "seed", 1, "`seed` of the data and of the questions")
}

// Begin checks the flags and prints the machine and the seed. note is more about the data.
func (r *Rig) Begin(remark string) (err error) {
	if r.Trefoil, err = filepath.Abs(r.Trefoil); err != nil {
		return err
	}
	if _, err := os.Stat(r.Trefoil); err != nil {
		return fmt.Errorf("-trefoil: %w (make build makes it)", err)
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return err
	}
	r.Report.print("%s, %d processors, %s; seed %d%s\n", cpuName(), runtime.NumCPU(), runtime.Version(), r.Seed, remark)
	return nil
}

// cpuName returns the processor's name, or the architecture if the name is unknown.
func cpuName() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// Part is one measurement of a suite, as -parts names it.
type Part struct {
	Name string
	Run  func(context.Context) error
}

// Names returns the names of parts, with commas between them: the default of -parts.
func Names(parts []Part) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Name
	}
	return strings.Join(names, ",")
}

// RunParts runs the parts that a list names, in the order of the list. begin is called before
// each. A limit that is not 0 bounds the time of a part.
func RunParts(ctx context.Context, parts []Part, list string, limit time.Duration, begin func(name string)) error {
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(parts, func(p Part) bool { return p.Name == name })
		if i < 0 {
			return fmt.Errorf("no part %q; the parts are %s", name, Names(parts))
		}
		begin(name)
		timed, cancel := ctx, context.CancelFunc(func() {})
		if limit > 0 {
			timed, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than -limit %s", limit))
		}
		err := parts[i].Run(timed)
		if err != nil && context.Cause(timed) != nil {
			err = fmt.Errorf("%w (%w)", context.Cause(timed), err)
		}
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// File returns the path of a file in the directory. If the file is missing, write makes it.
func (r *Rig) File(name string, write func(io.Writer) error) (path string, err error) {
	path = filepath.Join(r.Dir, name)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	f, err := os.CreateTemp(r.Dir, name+"-*.new")
	if err != nil {
		return "", err
	}
	if err = errors.Join(write(f), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return path, nil
}

// Data returns the path of a generated data set.
func (r *Rig) Data(ctx context.Context, kind string, triples int64) (path string, err error) {
	g, err := dataset.New(kind, r.Seed, triples)
	if err != nil {
		return "", err
	}
	return r.File(fmt.Sprintf("%s-%d-%d.nt", kind, triples, r.Seed), func(w io.Writer) error {
		_, err := g.Generate(ctx, w)
		return err
	})
}

// Command returns a command of the binary. Its environment names no server, and it is killed
// when ctx ends.
func (r *Rig) Command(ctx context.Context, args ...string) *exec.Cmd {
	return command(ctx, r.Trefoil, args...)
}

func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TREFOIL_") })
	return cmd
}

// Output runs a command and returns its standard output. An error has its standard error.
func Output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%v: %w: %s", cmd.Args, err, exit.Stderr)
	}
	return out, err
}

// Loaded is the result of a bulk load.
type Loaded struct {
	rdfload.Summary
	Took time.Duration // of the whole process
}

// Load runs `trefoil load` with more arguments.
func (r *Rig) Load(ctx context.Context, file string, args ...string) (l Loaded, err error) {
	begun := time.Now()
	out, err := Output(r.Command(ctx, append([]string{"load", "--json", file}, args...)...))
	if err != nil {
		return l, err
	}
	l.Took = time.Since(begun)
	if err := json.Unmarshal(out, &l.Summary); err != nil {
		return l, fmt.Errorf("summary of trefoil load: %w", err)
	}
	return l, nil
}

// DirSize returns the bytes of the files below dir. Files that disappear meanwhile count as
// nothing, and so does a missing dir.
func DirSize(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				total += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return total, err
}

// WaitFor calls check, with a pause after each call, until check returns nil. It fails when
// waitLimit has passed.
func WaitFor(ctx context.Context, pause time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ended := retry.Sleep(ctx, pause); ended != nil {
			return errors.Join(ended, err)
		}
	}
}
