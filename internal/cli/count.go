package cli

import (
	"errors"
	"fmt"
)

// countCmd counts the triples that match a pattern.
type countCmd struct {
	pattern
	door
	Estimate bool `help:"Fast, from the tables' metadata; may be off."`
	JSON     bool `help:"Print JSON: {\"count\":n,\"exact\":true}."`
}

func (c *countCmd) Run(e *env) (err error) {
	p, err := c.parse()
	if err != nil {
		return err
	}
	r, err := c.door.open(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	n, exact, err := r.count(e.ctx, p, c.Estimate)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.printJSON(struct {
			Count int64 `json:"count"`
			Exact bool  `json:"exact"`
		}{n, exact})
	}
	_, err = fmt.Fprintln(e.stdout, n)
	return err
}
