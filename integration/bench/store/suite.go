// The flags and the parts of the suite.

// Package store measures one store and one server on generated data.
//
// Each figure stands beside the asked one. Bounds are measured in the same run: what Pebble
// does with the same rows without trefoil, and how fast another parser decodes the same file.
package store

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/internal/store"
)

// bench is one run of the suite.
type bench struct {
	rig.Rig
	triples int64 // of the LUBM-like data
	texts   int64 // of the text-heavy data
}

// Suite defines the flags of the suite and returns the function that measures.
func Suite(f *flag.FlagSet) func(context.Context, []string) error {
	b := &bench{}
	all := []rig.Part{{Name: "load", Run: b.load}, {Name: "read", Run: b.read}, {Name: "http", Run: b.http},
		{Name: "sparql", Run: b.sparql}, {Name: "write", Run: b.write}, {Name: "text", Run: b.text}, {Name: "workload", Run: b.workload}}
	b.Flags(f, "trefoil-bench", "some 10 GB at the default sizes")
	f.Int64Var(&b.triples, "triples", 10_000_000, "size of the LUBM-like data")
	f.Int64Var(&b.texts, "texts", 1_000_000, "size of the text-heavy data")
	parts := f.String("parts", rig.Names(all), "which parts to run")
	return func(ctx context.Context, _ []string) error {
		if err := b.Begin(fmt.Sprintf(", %d LUBM-like triples, %d text-heavy ones", b.triples, b.texts)); err != nil {
			return err
		}
		b.Report.Heading()
		return rig.RunParts(ctx, all, *parts, 0, func(string) {})
	}
}

// dir returns the directory of a store.
func (b *bench) dir(name string) string { return filepath.Join(b.Dir, "store-"+name) }

// lubm returns the file of the LUBM-like data.
func (b *bench) lubm(ctx context.Context) (string, error) { return b.Data(ctx, "lubm", b.triples) }

// openLoaded opens the store of the LUBM-like data. If the part load did not run, it loads it.
func (b *bench) openLoaded(ctx context.Context) (*store.Store, error) {
	if size, err := rig.DirSize(b.dir("lubm")); err != nil {
		return nil, err
	} else if size == 0 {
		file, err := b.lubm(ctx)
		if err != nil {
			return nil, err
		}
		if err := b.loadOnce(ctx, "lubm", "", "500,000", file); err != nil {
			return nil, err
		}
	}
	return store.Open(b.dir("lubm"), store.Options{})
}
