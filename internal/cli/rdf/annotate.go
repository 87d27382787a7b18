// trefoil annotate and trefoil annotations: what applications attach to triples.

package rdf

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/triple"
)

// AnnotateCmd sets or removes annotations: one of a triple, or a batch.
type AnnotateCmd struct {
	target.PatternArgs
	target.StoreFlags
	target.DiskFlags
	App    string  `placeholder:"ID" help:"The application whose annotation it is."`
	Text   *string `help:"The content."`
	File   string  `placeholder:"F" help:"File with the content, up to 1 MiB; - is standard input."`
	Type   string  `placeholder:"TYPE" help:"The content's media type. text/plain by default with --text, else application/octet-stream."`
	Remove bool    `help:"Remove the annotation."`
	Match  *string `placeholder:"VERSION" help:"Only if the annotation has this version, as trefoil annotations shows it."`
	New    bool    `help:"Only if the application has no annotation on the triple yet."`
	Batch  string  `placeholder:"F" help:"File of changes, one JSON object a line as POST /annotations takes it (docs/api/annotations.md); - is standard input."`
}

func (c *AnnotateCmd) Run(e *console.Env) error {
	// 1. Check the flags, and read the changes.
	var changes iter.Seq2[triple.AnnotationChange, error]
	if c.Batch != "" {
		if len(c.Pattern) > 0 || c.App != "" || c.Text != nil || c.File != "" || c.Type != "" || c.Remove || c.Match != nil || c.New {
			return console.Usagef("--batch has all changes: leave out the triple and the other flags")
		}
		in, err := e.OpenFile(c.Batch)
		if err != nil {
			return err
		}
		defer in.Close()
		changes = batchOf(in, c.Batch)
	} else {
		one, err := c.change(e)
		if err != nil {
			return err
		}
		changes = func(yield func(triple.AnnotationChange, error) bool) { yield(one, nil) }
	}
	// 2. Make them, and print what failed.
	return c.With(e, c.Changing(), func(s target.Store) error { return annotate(e, s, changes) })
}

func annotate(e *console.Env, to target.Store, all iter.Seq2[triple.AnnotationChange, error]) error {
	result, err := to.Annotations.Change(e.Ctx, all)
	for _, failed := range result.Errors {
		e.Sayf("change %d: %v", failed.Change+1, failed.Err)
	}
	if err != nil {
		return err
	}
	e.Sayf("set %s, removed %s", console.Plural(result.Set, "annotation"), console.Number(result.Removed))
	if result.Failed > 0 {
		return fmt.Errorf("%s failed", console.Plural(result.Failed, "change"))
	}
	return nil
}

// change returns the change of the flags.
func (c *AnnotateCmd) change(e *console.Env) (a triple.AnnotationChange, err error) {
	// 1. The triple, and what must hold.
	t, err := c.Triple(c.Names(e))
	if err != nil {
		return a, err
	}
	if c.App == "" {
		return a, console.Usagef("--app names the application whose annotation it is")
	}
	a = triple.AnnotationChange{Triple: t, ApplicationID: c.App, Remove: c.Remove, Media: c.Type, Absent: c.New}
	switch {
	case c.Match == nil:
	case c.New:
		return a, console.Usagef("--new and --match exclude each other")
	case *c.Match == "":
		return a, console.Usagef("--match is empty; leave it out if the annotation may have any version")
	default:
		a.Version = *c.Match
	}
	given := 0
	for _, is := range []bool{c.Text != nil, c.File != "", c.Remove} {
		if is {
			given++
		}
	}
	// 2. The content.
	switch {
	case given != 1:
		return a, console.Usagef("give one of --text, --file and --remove, or a --batch")
	case c.Text != nil:
		if a.Content = []byte(*c.Text); a.Media == "" {
			a.Media = "text/plain; charset=utf-8"
		}
	case c.File != "":
		in, err := e.OpenFile(c.File)
		if err != nil {
			return a, err
		}
		defer in.Close()
		if a.Content, err = io.ReadAll(io.LimitReader(in, triple.MaxAnnotationContent+1)); err != nil {
			return a, fmt.Errorf("%s: %w", c.File, err)
		}
	}
	if len(a.Content) > triple.MaxAnnotationContent {
		return a, console.Usagef("the content has more than %d bytes", triple.MaxAnnotationContent)
	}
	return a, nil
}

// maxBatchLine is the greatest length of a line of a batch.
const maxBatchLine = 16 << 20

// batchOf yields the changes of a batch. Its first malformed line ends it.
func batchOf(in io.Reader, name string) iter.Seq2[triple.AnnotationChange, error] {
	return func(yield func(triple.AnnotationChange, error) bool) {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, maxBatchLine)
		// 1. Yield the changes of each line.
		number := 1
		for ; lines.Scan(); number++ {
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			changes, err := triple.ParseAnnotationChanges(lines.Bytes())
			if err != nil {
				yield(triple.AnnotationChange{}, fmt.Errorf("%s:%d: %w", name, number, err))
				return
			}
			for _, change := range changes {
				if !yield(change, nil) {
					return
				}
			}
		}
		// 2. The scanner does not say which line was too long.
		err := lines.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("line %d has more than %d bytes", number, maxBatchLine)
		}
		if err != nil {
			yield(triple.AnnotationChange{}, fmt.Errorf("%s: %w", name, err))
		}
	}
}

// AnnotationsCmd lists the annotations of the matches of a pattern.
type AnnotationsCmd struct {
	target.PatternArgs
	target.StoreFlags
	App  string `placeholder:"ID" help:"Only those of this application."`
	JSON bool   `help:"Print each triple with its annotations as a line of JSON, or several if they are long, which trefoil annotate --batch reads."`
}

func (c *AnnotationsCmd) Run(e *console.Env) error {
	return c.Read(e, &c.StoreFlags, func(from target.Store, p triple.Pattern) error { return c.list(e, from, p) })
}

// list prints the triples of a pattern that have annotations.
func (c *AnnotationsCmd) list(e *console.Env, from target.Store, p triple.Pattern) error {
	// Only a triple that has annotations is printed.
	out := bufio.NewWriter(e.Stdout)
	for it, err := range from.ListMatches(e.Ctx, p, target.Page{Annotations: true}).Items {
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		found := it.Attached
		if c.App != "" {
			var own []triple.ApplicationData
			for _, a := range found {
				if a.ApplicationID == c.App {
					own = append(own, a)
				}
			}
			found = own
		}
		if err := c.print(e.Ctx, out, from, it.Triple, found); err != nil {
			return err
		}
	}
	return out.Flush()
}

// print prints a triple and its annotations: the ID, the media type, the size and the version.
func (c *AnnotationsCmd) print(ctx context.Context, out *bufio.Writer, from target.Store, t triple.Triple, found []triple.ApplicationData) error {
	if len(found) == 0 {
		return nil
	}
	if c.JSON {
		_, err := out.Write(triple.AppendNDJSON(nil, t, found))
		return err
	}
	// Listings of a server come without versions.
	all, err := from.Annotations.List(ctx, t)
	if err != nil && !errors.Is(err, client.ErrNotFound) {
		return err
	}
	versions := map[string]string{}
	for _, a := range all {
		versions[a.ApplicationID] = a.Version
	}
	if _, err := out.Write(triple.AppendNQuad(nil, t)); err != nil {
		return err
	}
	for _, a := range found {
		media, content := triple.CutMedia(a.Data)
		if _, err := fmt.Fprintf(out, "  %s  %s  %s  version %s\n", strings.ToValidUTF8(a.ApplicationID, "\uFFFD"), media, console.Plural(int64(len(content)), "byte"), versions[a.ApplicationID]); err != nil {
			return err
		}
	}
	return nil
}
