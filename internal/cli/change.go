// trefoil add and trefoil delete: changes of single triples.

package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// batchTriples is the number of triples in one add or delete, because each costs an fsync.
const batchTriples = 10_000

// addCmd adds the triples of files, with their annotations.
type addCmd struct {
	storeFlags
	diskFlags
	documents
	Blank string `enum:"fresh,keep" default:"fresh" help:"fresh gives the documents' blank nodes labels that no other document has; keep adds them as written. ${default} by default."`
	JSON  bool   `help:"Print JSON: {\"added\":n,\"existing\":m}."`
}

func (c *addCmd) Run(e *env) (err error) {
	// 1. Open the store, and choose the prefix of fresh blank nodes.
	prefix := ""
	if c.Blank == "fresh" {
		prefix = "a" + rand.Text()[:16]
	}
	w, err := c.openWriter(e, c.diskFlags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	// 2. Add the triples in batches.
	var added, existing int64
	err = c.eachBatch(e, prefix, func(ctx context.Context, batch []statement) error {
		a, x, err := w.add(ctx, batch)
		added, existing = added+a, existing+x
		return err
	})
	if err != nil {
		return partial(c.notFile(err, "The argument names a file. A triple by itself: trefoil update 'INSERT DATA { ... }', or on standard input with -."), added, "added")
	}
	// 3. Keep the prefixes of the documents, and print the result.
	if err := w.keepPrefixes(e.ctx, c.found.Names()); err != nil {
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

// partial adds to an error the amount of work done before it.
func partial(err error, n int64, done string) error {
	if n == 0 {
		return err
	}
	return hinted{err, fmt.Sprintf("Before that %s %s. The command can be repeated.", plural(n, "triple"), done)}
}

// notFile adds a hint to an error if a file is missing whose name is rather a triple or a pattern.
func (d *documents) notFile(err error, hint string) error {
	if errors.Is(err, fs.ErrNotExist) && slices.ContainsFunc(d.Files, func(name string) bool { return len(strings.Fields(name)) > 2 }) {
		return hinted{err, hint}
	}
	return err
}

// deleteCmd deletes the triples of files, or the matches of a pattern.
type deleteCmd struct {
	storeFlags
	diskFlags
	documents
	Pattern string `placeholder:"PATTERN" help:"Delete what matches instead: '<http://example.org/ann> ? ?'."`
	JSON    bool   `help:"Print JSON: {\"deleted\":n,\"missing\":m}."`
}

func (c *deleteCmd) Run(e *env) (err error) {
	// 1. Check the flags. A pattern that matches everything must not be a slip.
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
	w, err := c.openWriter(e, c.diskFlags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	// 2. Delete by pattern, or in batches.
	var deleted, missing int64
	if c.Pattern != "" {
		deleted, err = w.deleteMatch(e.ctx, p)
	} else {
		err = c.eachBatch(e, "", func(ctx context.Context, batch []statement) error {
			d, m, err := w.delete(ctx, triplesOf(batch))
			deleted, missing = deleted+d, missing+m
			return err
		})
	}
	if err != nil {
		return partial(c.notFile(err, "The argument names a file. To delete what matches a pattern: --pattern '<http://example.org/ann> ? ?'."), deleted, "deleted")
	}
	// 3. Print the result.
	if c.JSON {
		return e.printJSON(struct {
			Deleted int64 `json:"deleted"`
			Missing int64 `json:"missing"`
		}{deleted, missing})
	}
	e.sayf("deleted %s, %s not there", plural(deleted, "triple"), number(missing))
	return nil
}
