// trefoil add and trefoil delete: changes of single triples.

package cli

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/triple"
)

// addCmd adds the triples of files, with their annotations.
type addCmd struct {
	storeFlags
	diskFlags
	documents
	Blank string `enum:"fresh,keep" default:"fresh" help:"fresh gives the documents' blank nodes labels that no other document has; keep adds them as written. ${default} by default."`
	JSON  bool   `help:"Print JSON: {\"added\":n,\"existing\":m}."`
}

func (c *addCmd) Run(e *env) error {
	prefix := ""
	if c.Blank == "fresh" {
		prefix = "a" + rand.Text()[:16]
	}
	return c.with(e, c.changing(), func(s target) error { return c.add(e, s, prefix) })
}

func (c *addCmd) add(e *env, to target, prefix string) error {
	// 1. Add the triples in batches.
	var added, existing int64
	err := c.eachBatch(e, prefix, func(ctx context.Context, batch []statement) error {
		r, err := addBatch(ctx, to, batch)
		added, existing = added+r.Added, existing+r.Existing
		return err
	})
	if err != nil {
		return partial(c.notFile(err, "The argument names a file. A triple by itself: trefoil update 'INSERT DATA { ... }', or on standard input with -."), added, "added")
	}
	// 2. Keep the prefixes of the documents, and print the result.
	if err := keepPrefixes(e.ctx, to, c.prefixesFound().Names()); err != nil {
		e.sayf("warning: the triples are added, but not the prefixes of the documents: %v", err)
	}
	if c.JSON {
		return e.printJSON(struct {
			Added    int64 `json:"added"`
			Existing int64 `json:"existing"`
		}{added, existing})
	}
	e.sayf("added %s, %s there already", plural(added, "triple"), number(existing))
	return nil
}

// addBatch adds statements. Those without annotations need fewer requests.
func addBatch(ctx context.Context, to changes, batch []statement) (client.AddResult, error) {
	annotations, some := make([][]triple.ApplicationData, len(batch)), false
	for i, s := range batch {
		annotations[i] = s.noted
		some = some || len(s.noted) > 0
	}
	if some {
		return to.AddAnnotated(ctx, triplesOf(batch), annotations)
	}
	return to.Add(ctx, triplesOf(batch))
}

// partial adds to an error the amount of work done before it.
func partial(err error, n int64, done string) error {
	if n == 0 {
		return err
	}
	return withHint(err, fmt.Sprintf("Before that %s %s. The command can be repeated.", plural(n, "triple"), done))
}

// deleteCmd deletes the triples of files, or the matches of a pattern.
type deleteCmd struct {
	storeFlags
	diskFlags
	documents
	Pattern string `placeholder:"PATTERN" help:"Delete what matches instead: '<http://example.org/ann> ? ?'."`
	JSON    bool   `help:"Print JSON: {\"deleted\":n,\"missing\":m}."`
}

func (c *deleteCmd) Run(e *env) error {
	// A pattern that matches everything must not be a slip.
	if (c.Pattern == "") == (len(c.Files) == 0) {
		return usagef("name files whose triples to delete, or a --pattern")
	}
	names := c.names(e)
	p, err := names.text().Pattern(c.Pattern)
	if err != nil {
		return names.cause(usagef("--pattern: %w", err))
	}
	if c.Pattern != "" && p == (triple.Pattern{}) {
		return usagef("--pattern %s matches everything: name a term or a graph, or remove the data directory", c.Pattern)
	}
	return c.with(e, c.changing(), func(s target) error { return c.delete(e, s, p) })
}

func (c *deleteCmd) delete(e *env, from changes, p triple.Pattern) (err error) {
	// 1. Delete by pattern, or in batches.
	var deleted, missing int64
	if c.Pattern != "" {
		var r client.DeleteResult
		r, err = from.DeleteMatch(e.ctx, p)
		deleted = r.Deleted
	} else {
		err = c.eachBatch(e, "", func(ctx context.Context, batch []statement) error {
			r, err := from.Delete(ctx, triplesOf(batch))
			deleted, missing = deleted+r.Deleted, missing+r.Missing
			return err
		})
	}
	if err != nil {
		return partial(c.notFile(err, "The argument names a file. To delete what matches a pattern: --pattern '<http://example.org/ann> ? ?'."), deleted, "deleted")
	}
	// 2. Print the result.
	if c.JSON {
		return e.printJSON(struct {
			Deleted int64 `json:"deleted"`
			Missing int64 `json:"missing"`
		}{deleted, missing})
	}
	e.sayf("deleted %s, %s not there", plural(deleted, "triple"), number(missing))
	return nil
}
