// trefoil prefixes: the names of IRIs that a store keeps.

package cli

import (
	"bufio"
	"context"
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

// prefixWriter changes prefixes, in this process or on a server.
type prefixWriter interface {
	setPrefix(ctx context.Context, name, iri string) error
	// keepPrefixes adds those of documents. Names that the store has keep their IRIs.
	keepPrefixes(ctx context.Context, found prefixes.Names) error
	removePrefix(ctx context.Context, name string) error
}

type prefixesListCmd struct {
	storeFlags
	Format string `enum:"text,json,ttl" default:"text" help:"text, json, or ttl: lines of @prefix, which load reads. ${default} by default."`
}

func (c *prefixesListCmd) Run(e *env) (err error) {
	// 1. Read them.
	r, err := c.open(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	kept, err := r.prefixes(e.ctx)
	if err != nil {
		return err
	}
	// 2. Print them. Those of the store come first.
	wellKnown := prefixes.WellKnown()
	maps.DeleteFunc(wellKnown, func(name, _ string) bool { return kept[name] != "" })
	if c.Format == "json" {
		return e.printJSON(client.Prefixes{Kept: kept, WellKnown: wellKnown})
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
		return usageError{err}
	}
	w, err := c.openWriter(e, c.diskFlags)
	if err != nil {
		return err
	}
	return errors.Join(w.setPrefix(e.ctx, name, iri), w.Close())
}

type prefixesRemoveCmd struct {
	storeFlags
	diskFlags
	Name string `arg:"" help:"The prefix, with or without its colon."`
}

func (c *prefixesRemoveCmd) Run(e *env) error {
	w, err := c.openWriter(e, c.diskFlags)
	if err != nil {
		return err
	}
	return errors.Join(w.removePrefix(e.ctx, strings.TrimSuffix(c.Name, ":")), w.Close())
}

func (l *local) prefixes(ctx context.Context) (prefixes.Names, error) {
	return prefixes.Read(ctx, l.store)
}

func (l localWriter) setPrefix(ctx context.Context, name, iri string) error {
	return prefixes.Set(ctx, l.store, name, iri)
}

func (l localWriter) keepPrefixes(ctx context.Context, found prefixes.Names) error {
	return prefixes.Keep(ctx, l.store, found)
}

func (l localWriter) removePrefix(ctx context.Context, name string) error {
	return prefixes.Remove(ctx, l.store, name)
}

func (r *remote) prefixes(ctx context.Context) (prefixes.Names, error) {
	p, err := r.client.Prefixes(ctx)
	return p.Kept, err
}

func (r *remote) setPrefix(ctx context.Context, name, iri string) error {
	return r.client.SetPrefix(ctx, name, iri)
}

func (r *remote) keepPrefixes(ctx context.Context, found prefixes.Names) error {
	if len(found) == 0 {
		return nil
	}
	return r.client.KeepPrefixes(ctx, found)
}

func (r *remote) removePrefix(ctx context.Context, name string) error {
	return r.client.RemovePrefix(ctx, name)
}
