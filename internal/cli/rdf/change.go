// trefoil add and trefoil delete: changes of single triples.

package rdf

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/documents"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/triple"
)

// AddCmd adds the triples of files, with their annotations.
type AddCmd struct {
	target.StoreFlags
	target.DiskFlags
	documents.InputFlags
	Blank string `enum:"fresh,keep" default:"fresh" help:"fresh gives the documents' blank nodes labels that no other document has; keep adds them as written. ${default} by default."`
	JSON  bool   `help:"Print JSON: {\"added\":n,\"existing\":m}."`
}

func (c *AddCmd) Run(e *console.Env) error {
	prefix := ""
	if c.Blank == "fresh" {
		prefix = "a" + rand.Text()[:16]
	}
	return c.With(e, c.Changing(), func(s target.Store) error { return c.add(e, s, prefix) })
}

func (c *AddCmd) add(e *console.Env, to target.Store, prefix string) error {
	// 1. Add the triples in batches.
	var added, existing int64
	err := c.EachBatch(e, prefix, func(ctx context.Context, batch []target.Statement) error {
		r, err := addBatch(ctx, to, batch)
		added, existing = added+r.Added, existing+r.Existing
		return err
	})
	if err != nil {
		return partial(c.NotFile(err, "The argument names a file. A triple by itself: trefoil update 'INSERT DATA { ... }', or on standard input with -."), added, "added")
	}
	// 2. Keep the prefixes of the documents, and print the result.
	if err := target.KeepPrefixes(e.Ctx, to.Prefixes, c.PrefixesFound().Names()); err != nil {
		e.Sayf("warning: the triples are added, but not the prefixes of the documents: %v", err)
	}
	if c.JSON {
		return e.PrintJSON(map[string]int64{"added": added, "existing": existing})
	}
	e.Sayf("added %s, %s there already", console.Plural(added, "triple"), console.Number(existing))
	return nil
}

// addBatch adds statements. Those without annotations need fewer requests.
func addBatch(ctx context.Context, to target.Store, batch []target.Statement) (client.AddResult, error) {
	annotations, some := make([][]triple.ApplicationData, len(batch)), false
	for i, s := range batch {
		annotations[i] = s.Attached
		some = some || len(s.Attached) > 0
	}
	if some {
		return to.Annotations.AddTriples(ctx, documents.TriplesOf(batch), annotations)
	}
	return to.Add(ctx, documents.TriplesOf(batch))
}

// partial adds to an error the amount of work done before it.
func partial(err error, n int64, done string) error {
	if n == 0 {
		return err
	}
	return console.WithHint(err, fmt.Sprintf("Before that %s %s. The command can be repeated.", console.Plural(n, "triple"), done))
}

// DeleteCmd deletes the triples of files, or the matches of a pattern.
type DeleteCmd struct {
	target.StoreFlags
	target.DiskFlags
	documents.InputFlags
	Pattern string `placeholder:"PATTERN" help:"Delete what matches instead: '<http://example.org/ann> ? ?'."`
	JSON    bool   `help:"Print JSON: {\"deleted\":n,\"missing\":m}."`
}

func (c *DeleteCmd) Run(e *console.Env) error {
	// A pattern that matches everything must not be a slip.
	if (c.Pattern == "") == (len(c.Files) == 0) {
		return console.Usagef("name files whose triples to delete, or a --pattern")
	}
	names := c.Names(e)
	p, err := names.Text().Pattern(c.Pattern)
	if err != nil {
		return names.Cause(console.Usagef("--pattern: %w", err))
	}
	if c.Pattern != "" && p == (triple.Pattern{}) {
		return console.Usagef("--pattern %s matches everything: name a term or a graph, or remove the data directory", c.Pattern)
	}
	return c.With(e, c.Changing(), func(s target.Store) error { return c.delete(e, s, p) })
}

func (c *DeleteCmd) delete(e *console.Env, from target.Store, p triple.Pattern) (err error) {
	// 1. Delete by pattern, or in batches.
	var deleted, missing int64
	if c.Pattern != "" {
		var r client.DeleteResult
		r, err = from.DeleteMatch(e.Ctx, p)
		deleted = r.Deleted
	} else {
		err = c.EachBatch(e, "", func(ctx context.Context, batch []target.Statement) error {
			r, err := from.Delete(ctx, documents.TriplesOf(batch))
			deleted, missing = deleted+r.Deleted, missing+r.Missing
			return err
		})
	}
	if err != nil {
		return partial(c.NotFile(err, "The argument names a file. To delete what matches a pattern: --pattern '<http://example.org/ann> ? ?'."), deleted, "deleted")
	}
	// 2. Print the result.
	if c.JSON {
		return e.PrintJSON(map[string]int64{"deleted": deleted, "missing": missing})
	}
	e.Sayf("deleted %s, %s not there", console.Plural(deleted, "triple"), console.Number(missing))
	return nil
}
