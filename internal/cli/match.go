package cli

import (
	"errors"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// pattern is an argument that is a triple pattern, in one word or several.
type pattern struct {
	Pattern []string `arg:"" optional:"" help:"Subject, predicate, object and maybe graph in N-Triples syntax; ? matches any term. Quote it for the shell: '? <http://example.org/name> \"Ann\"'."`
}

func (p *pattern) parse() (triple.Pattern, error) {
	parsed, err := triple.ParsePattern(strings.Join(p.Pattern, " "))
	if err != nil {
		return parsed, usagef("pattern: %w", err)
	}
	return parsed, nil
}

// matchCmd lists the triples that match a pattern.
type matchCmd struct {
	pattern
	door
	paging
}

func (c *matchCmd) Run(e *env) (err error) {
	p, err := c.parse()
	if err != nil {
		return err
	}
	r, err := c.door.open(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return c.print(e, r.match(e.ctx, p, page{limit: int64(c.Limit), cursor: c.Cursor}))
}
