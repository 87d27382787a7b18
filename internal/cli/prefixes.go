// trefoil prefixes: the names of IRIs that a store keeps.

package cli

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/prefixes"
)

// prefixesCmd shows and changes the prefixes of a store.
type prefixesCmd struct {
	List   prefixesListCmd   `cmd:"" default:"withargs" help:"List the prefixes; the default."`
	Add    prefixesAddCmd    `cmd:"" help:"Give a prefix its IRI, whatever it was before."`
	Remove prefixesRemoveCmd `cmd:"" help:"Remove a prefix of the store."`
}

type prefixesListCmd struct {
	storeFlags
	Format string `enum:"text,json,ttl" default:"text" help:"text, json, or ttl: lines of @prefix, which load reads. ${default} by default."`
}

func (c *prefixesListCmd) Run(e *env) error {
	return c.with(e, reading, func(s target) error {
		kept, err := keptPrefixes(e.ctx, s)
		if err != nil {
			return err
		}
		return c.print(e, kept)
	})
}

// print prints the prefixes. Those of the store come first.
func (c *prefixesListCmd) print(e *env, kept prefixes.Names) error {
	wellKnown := prefixes.WellKnown()
	maps.DeleteFunc(wellKnown, func(name, _ string) bool { return kept[name] != "" })
	if c.Format == "json" {
		return e.printJSON(client.PrefixList{Kept: kept, WellKnown: wellKnown})
	}
	out := bufio.NewWriter(e.stdout)
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
	storeFlags
	diskFlags
	Name string `arg:"" help:"The prefix, with or without its colon: ex."`
	IRI  string `arg:"" help:"What it stands for: http://example.org/."`
}

func (c *prefixesAddCmd) Run(e *env) error {
	name, iri := strings.TrimSuffix(c.Name, ":"), strings.TrimSuffix(strings.TrimPrefix(c.IRI, "<"), ">")
	if err := prefixes.Check(name, iri); err != nil {
		return usage(err)
	}
	return c.with(e, c.changing(), func(s target) error { return s.SetPrefix(e.ctx, name, iri) })
}

type prefixesRemoveCmd struct {
	storeFlags
	diskFlags
	Name string `arg:"" help:"The prefix, with or without its colon."`
}

func (c *prefixesRemoveCmd) Run(e *env) error {
	return c.with(e, c.changing(), func(s target) error { return s.RemovePrefix(e.ctx, strings.TrimSuffix(c.Name, ":")) })
}
