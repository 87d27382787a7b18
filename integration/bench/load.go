package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/knakk/rdf"

	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

// load measures bulk loads, each by a process of its own into an empty store,
// and what they leave on disk.
func (b *bench) load(ctx context.Context) error {
	file, err := b.data(ctx, "lubm", b.triples)
	if err != nil {
		return err
	}
	if err := b.parse(file); err != nil {
		return err
	}
	for _, l := range []struct{ name, memory, asked string }{
		{"lubm", "", "500,000"},
		{"lubm-512", "512MiB", "-"},
		{"lubm-64", "64MiB", "-"},
	} {
		if err := b.loadOnce(ctx, l.name, l.memory, l.asked, file); err != nil {
			return err
		}
	}
	os.RemoveAll(b.store("lubm-512"))
	os.RemoveAll(b.store("lubm-64"))
	return nil
}

func (b *bench) loadOnce(ctx context.Context, name, memory, asked, file string) error {
	dir := b.store(name)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	args := []string{"load", "--data", dir, "--json"}
	shown := "the default budget"
	if memory != "" {
		args = append(args, "--memory", memory)
		shown = "--memory " + memory
	}
	begun := time.Now()
	cmd := exec.CommandContext(ctx, b.trefoil, append(args, file)...)
	cmd.Stderr = nil
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("trefoil load: %w", err)
	}
	took := time.Since(begun)
	var s rdfload.Summary
	if err := json.Unmarshal(out, &s); err != nil {
		return fmt.Errorf("summary of trefoil load: %w", err)
	}
	size, err := dirSize(filepath.Join(dir, "store"))
	if err != nil {
		return err
	}
	b.report.row(fmt.Sprintf("load %s, %s: triples/s, whole process", filepath.Base(file), shown), asked,
		"%s (%.1f s, VmHWM %d MiB, %d run files)", thousands(perSecond(s.Read, took)), took.Seconds(), s.PeakMemory>>20, s.Runs)
	b.report.row("on disk, all orders together: bytes a triple", "40", "%.1f", float64(size)/float64(s.New))
	return nil
}

// parse measures our scanner and knakk/rdf's decoder on the same lines.
func (b *bench) parse(file string) error {
	const lines = 1_000_000
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	begun := time.Now()
	n := int64(0)
	sc := triple.NewScanner(f, triple.ScanOptions{Source: file})
	for n < lines && sc.Scan() {
		n++
	}
	if err := sc.Err(); err != nil {
		return err
	}
	ours := perSecond(n, time.Since(begun))
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
	theirs := perSecond(n, time.Since(begun))
	b.report.row("parse N-Triples with all checks, one core: triples/s", "-", "%s", thousands(ours))
	b.report.row("knakk/rdf decodes the same lines: triples/s", "bound", "%s (ours is %.1fx)", thousands(theirs), ours/theirs)
	return nil
}

// dirSize returns the bytes of the files below dir.
func dirSize(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
