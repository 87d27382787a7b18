package cli

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/triple"
)

// deleteCmd deletes the triples of files, or those that match a pattern.
type deleteCmd struct {
	door
	documents
	Pattern string `placeholder:"PATTERN" help:"Delete what matches instead: '<http://example.org/ann> ? ?'."`
	JSON    bool   `help:"Print JSON: {\"deleted\":n,\"missing\":m}."`
}

func (c *deleteCmd) Run(e *env) (err error) {
	if (c.Pattern == "") == (len(c.Files) == 0) {
		return usagef("name files whose triples to delete, or a --pattern")
	}
	p, err := triple.ParsePattern(c.Pattern)
	if err != nil {
		return usagef("--pattern: %w", err)
	}
	if c.Pattern != "" && p == (triple.Pattern{}) {
		return usagef("--pattern %s matches everything: name a term or a graph, or remove the data directory", c.Pattern)
	}
	w, err := c.openWriter(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
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
		return partial(err, deleted, "deleted")
	}
	if c.JSON {
		return e.printJSON(struct {
			Deleted int64 `json:"deleted"`
			Missing int64 `json:"missing"`
		}{deleted, missing})
	}
	e.sayf("deleted %s, %s not there", plural(deleted, "triple"), number(missing))
	return nil
}
