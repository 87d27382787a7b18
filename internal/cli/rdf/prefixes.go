// trefoil prefixes: the names of IRIs that a store keeps.

package rdf

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/prefixes"
)

// PrefixesCmd shows and changes the prefixes of a store.
type PrefixesCmd struct {
	List   prefixesListCmd   `cmd:"" default:"withargs" help:"List the prefixes; the default."`
	Add    prefixesAddCmd    `cmd:"" help:"Give a prefix its IRI, whatever it was before."`
	Remove prefixesRemoveCmd `cmd:"" help:"Remove a prefix of the store."`
}

type prefixesListCmd struct {
	target.StoreFlags
	Format string `enum:"text,json,ttl" default:"text" help:"text, json, or ttl: lines of @prefix, which load reads. ${default} by default."`
}

func (c *prefixesListCmd) Run(e *console.Env) error {
	return c.With(e, target.Reading, func(s target.Store) error {
		kept, err := target.KeptPrefixes(e.Ctx, s.Prefixes)
		if err != nil {
			return err
		}
		return c.print(e, kept)
	})
}

// print prints the prefixes. Those of the store come first.
func (c *prefixesListCmd) print(e *console.Env, kept prefixes.Names) error {
	wellKnown := prefixes.WellKnown()
	maps.DeleteFunc(wellKnown, func(name, _ string) bool { return kept[name] != "" })
	if c.Format == "json" {
		return e.PrintJSON(client.PrefixList{Kept: kept, WellKnown: wellKnown})
	}
	out := bufio.NewWriter(e.Stdout)
	lines := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, names := range []prefixes.Names{kept, wellKnown} {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if c.Format == "ttl" {
				fmt.Fprintf(lines, "@prefix %s: <%s> .\n", name, names[name])
			} else {
				fmt.Fprintf(lines, "%s:\t%s%s\n", name, names[name], []string{"", "\twell-known"}[i])
			}
		}
	}
	return errors.Join(lines.Flush(), out.Flush())
}

type prefixesAddCmd struct {
	target.StoreFlags
	target.DiskFlags
	Name string `arg:"" help:"The prefix, with or without its colon: ex."`
	IRI  string `arg:"" help:"What it stands for: http://example.org/."`
}

func (c *prefixesAddCmd) Run(e *console.Env) error {
	name, iri := strings.TrimSuffix(c.Name, ":"), strings.TrimSuffix(strings.TrimPrefix(c.IRI, "<"), ">")
	if err := prefixes.Check(name, iri); err != nil {
		return console.Usage(err)
	}
	return c.With(e, c.Changing(), func(s target.Store) error { return s.Prefixes.Set(e.Ctx, name, iri) })
}

type prefixesRemoveCmd struct {
	target.StoreFlags
	target.DiskFlags
	Name string `arg:"" help:"The prefix, with or without its colon."`
}

func (c *prefixesRemoveCmd) Run(e *console.Env) error {
	return c.With(e, c.Changing(), func(s target.Store) error { return s.Prefixes.Remove(e.Ctx, strings.TrimSuffix(c.Name, ":")) })
}
