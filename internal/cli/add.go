package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
)

// batchTriples is how many triples one add or delete takes: one fsync each.
const batchTriples = 10_000

// addCmd adds the triples of files, with their annotations.
type addCmd struct {
	door
	documents
	Blank string `enum:"fresh,keep" default:"fresh" help:"fresh gives the documents' blank nodes labels that no other document has; keep adds them as written. ${default} by default."`
	JSON  bool   `help:"Print JSON: {\"added\":n,\"existing\":m}."`
}

func (c *addCmd) Run(e *env) (err error) {
	prefix := ""
	if c.Blank == "fresh" {
		prefix = "a" + rand.Text()[:16]
	}
	w, err := c.openWriter(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	var added, existing int64
	err = c.eachBatch(e, prefix, func(ctx context.Context, batch []statement) error {
		a, x, err := w.add(ctx, batch)
		added, existing = added+a, existing+x
		return err
	})
	if err != nil {
		return partial(err, added, "added")
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

// partial adds to an error how much was done before it.
func partial(err error, n int64, done string) error {
	if n == 0 {
		return err
	}
	return hinted{err, fmt.Sprintf("Before that %s %s. The command can be repeated.", plural(n, "triple"), done)}
}
