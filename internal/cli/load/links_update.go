// trefoil links update, and changes of the links of a directory.

package load

import (
	"io"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
)

// LinksUpdateCmd is trefoil links update.
type LinksUpdateCmd struct {
	target.ServerFlags
	linkFlags
	Delete    bool             `help:"Delete the links of the files."`
	NoLabels  bool             `help:"Leave out what files say of links: weights and texts."`
	KeepGoing bool             `help:"Leave out what is malformed instead of stopping at the first; the exit code is then 3."`
	Rejects   string           `placeholder:"F" help:"Write what is left out, with its place and the reason, to this file."`
	MaxLine   console.ByteSize `default:"64MiB" placeholder:"SIZE" help:"Greatest line, field or record; ${default} by default."`
	JSON      bool             `help:"Print the result as JSON."`
	Files     []string         `arg:"" name:"file" help:"Link files, directories, globs; - is standard input. .gz, .bz2, .zst and .xz are recognized by content."`
}

// updated is the result of an update.
type updated struct {
	links.UpdateResult
	Read     int64 `json:"read"`
	Rejected int64 `json:"rejected"`
}

func (c *LinksUpdateCmd) Run(e *console.Env) error {
	// 1. Check the flags, and list the files.
	if c.Rejects != "" && !c.KeepGoing {
		return console.Usagef("--rejects is for --keep-going: without it the first malformed line stops the update")
	}
	reading, err := c.reading("", c.MaxLine)
	if err != nil {
		return err
	}
	listed, skipped, err := input.List(c.Files, c.names())
	if err != nil {
		return err
	}
	if warning := skipped.Warning(c.names()); warning != "" {
		e.Sayf("warning: %s", warning)
	}
	// 2. Read the files as changes, and send them in batches.
	display := console.NewProgress(e.Stderr)
	changes := &changeReader{ctx: e.Ctx, sources: toLoad(e, listed), reading: reading, keepGoing: c.KeepGoing,
		deletes: c.Delete, noLabels: c.NoLabels || c.Delete, watch: func(p rdfload.Progress) {
			p.Phase = updatePhase
			display.Show(p)
		}}
	var result updated
	err = target.WithGraph(e, &c.ServerFlags, func(g links.Graph) error {
		return (&Cmd{Rejects: c.Rejects}).withRejects(func(rejects io.Writer) error {
			defer display.End()
			changes.rejects = rejects
			return changes.each(linkPlace{}, func(batch []links.Change, _ linkPlace) error {
				r, err := g.Update(e.Ctx, batch)
				result.Added += r.Added
				result.Deleted += r.Deleted
				result.Pages += r.Pages
				result.Epoch = r.Epoch // the greatest, because it includes the changes before
				return err
			})
		})
	})
	if err != nil {
		return partialUpdate(err, result)
	}
	// 3. Rejected parts make an exit code of their own, after the result.
	result.Read, result.Rejected = changes.seen, changes.rejected
	if c.JSON {
		err = e.PrintJSON(result)
	} else {
		e.Sayf("added %s, deleted %s, %s new", console.Plural(result.Added, "link"), console.Number(result.Deleted), console.Plural(result.Pages, "page"))
	}
	if err != nil {
		return err
	}
	return (&Cmd{Rejects: c.Rejects}).reportRejected(e, result.Rejected)
}

// partialUpdate adds to an error the work done before it.
func partialUpdate(err error, r updated) error {
	if r.Added+r.Deleted == 0 {
		return err
	}
	return console.WithHint(err, "Before that "+console.Plural(r.Added, "link")+" were added and "+console.Number(r.Deleted)+" deleted. The command can be repeated.")
}
