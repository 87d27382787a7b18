// Bulk loads, and the speed of the parser.

package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/knakk/rdf"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/triple"
)

// load measures bulk loads, each by its own process into an empty store, and the bytes that
// they leave on disk.
func (b *bench) load(ctx context.Context) error {
	file, err := b.lubm(ctx)
	if err != nil {
		return err
	}
	if err := b.parse(file); err != nil {
		return err
	}
	for _, l := range []struct{ name, memory, target string }{
		{"lubm", "", "500,000"},
		{"lubm-512", "512MiB", "-"},
		{"lubm-64", "64MiB", "-"},
	} {
		if err := b.loadOnce(ctx, l.name, l.memory, l.target, file); err != nil {
			return err
		}
	}
	os.RemoveAll(b.dir("lubm-512"))
	os.RemoveAll(b.dir("lubm-64"))
	return nil
}

func (b *bench) loadOnce(ctx context.Context, name, memory, target, file string) error {
	dir := b.dir(name)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	args, shown := []string{"--data", dir}, "the default budget"
	if memory != "" {
		shown = "--memory " + memory
		args = append(args, "--memory", memory)
	}
	l, err := b.Load(ctx, file, args...)
	if err != nil {
		return err
	}
	size, err := rig.DirSize(filepath.Join(dir, "store"))
	if err != nil {
		return err
	}
	b.Report.Row(fmt.Sprintf("load %s, %s: triples/s, whole process", filepath.Base(file), shown), target,
		"%s (%.1f s, VmHWM %d MiB, %d run files)", rig.Thousands(rig.PerSecond(l.Read, l.Took)), l.Took.Seconds(), l.PeakMemory>>20, l.Runs)
	b.Report.Row("on disk, all orders together: bytes a triple", "40", "%.1f", float64(size)/float64(l.New))
	return nil
}

// parse measures the scanner of package triple and knakk/rdf's decoder on the same lines.
func (b *bench) parse(file string) error {
	const lines = 1_000_000
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()

	// 1. Package triple, on the first lines.
	begun := time.Now()
	n := int64(0)
	sc := triple.NewScanner(f, triple.ScanOptions{Source: file})
	for n < lines && sc.Scan() {
		n++
	}
	if err := sc.Err(); err != nil {
		return err
	}
	ours := rig.PerSecond(n, time.Since(begun))

	// 2. The bound, on the same lines.
	if _, err := f.Seek(0, 0); err != nil {
		return err
	}
	begun = time.Now()
	dec := rdf.NewTripleDecoder(f, rdf.NTriples)
	for i := range n {
		if _, err := dec.Decode(); err != nil {
			return fmt.Errorf("knakk/rdf at triple %d: %w", i, err)
		}
	}
	theirs := rig.PerSecond(n, time.Since(begun))
	b.Report.Row("parse N-Triples with all checks, one core: triples/s", "-", "%s", rig.Thousands(ours))
	b.Report.Row("knakk/rdf decodes the same lines: triples/s", "bound", "%s (ours is %.1fx)", rig.Thousands(theirs), ours/theirs)
	return nil
}
