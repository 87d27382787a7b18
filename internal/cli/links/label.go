// trefoil links label: the labels of pages.

package links

import (
	"strconv"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
)

type linksLabelCmd struct {
	target.ServerFlags
	Weight *float64 `placeholder:"W" help:"Set a label with this weight; 1 if only --text is given."`
	Text   *string  `placeholder:"T" help:"Set a label with this text."`
	Remove bool     `help:"Remove the labels."`
	JSON   bool     `help:"Print JSON, a line for each page."`
	pageArgs
}

// pageLabelJSON is the label of a page in JSON.
type pageLabelJSON struct {
	Page   string   `json:"page"`
	Weight *float64 `json:"weight,omitempty"`
	Text   string   `json:"text,omitempty"`
}

func (c *linksLabelCmd) Run(e *console.Env) error {
	// 1. Set or remove labels if a flag says so.
	sets := c.Weight != nil || c.Text != nil
	if sets && c.Remove {
		return console.Usagef("--remove is not for --weight and --text")
	}
	label := cell.NoLabel
	if c.Weight != nil {
		label.Weight = *c.Weight
	}
	if c.Text != nil {
		label.Anchor = *c.Text
	}
	if sets && label == cell.NoLabel {
		return console.Usagef("weight 1 without a text is no label; --remove removes one")
	}
	if sets || c.Remove {
		return target.WithGraph(e, &c.ServerFlags, func(g links.Graph) error {
			return c.each(e, c.ServerNames(e), func(batch []string) error { return setLabels(e, g, batch, label) })
		})
	}
	// 2. Print them otherwise.
	return target.WithGraph(e, &c.ServerFlags, func(g links.Graph) error {
		names, out := resolver{e: e, graph: g}, console.NewPrinter(e.Stdout, c.JSON)
		err := c.each(e, c.ServerNames(e), func(batch []string) error {
			pages, err := names.resolve(batch)
			if err != nil {
				return err
			}
			labels, err := g.PageLabels(e.Ctx, pages)
			for i := 0; err == nil && i < len(labels); i++ {
				err = c.print(out, batch[i], labels[i])
			}
			return err
		})
		names.reportUnknown()
		return out.End(err)
	})
}

// setLabels gives pages a label. Pages must be URLs.
func setLabels(e *console.Env, g links.Graph, batch []string, label links.Label) error {
	var changes []links.Change
	for _, url := range batch {
		changes = append(changes, links.Change{Kind: links.LabelPage, Source: url, Labels: []links.Label{label}})
	}
	_, err := g.Update(e.Ctx, changes)
	return err
}

// print prints the label of a page, if it has one.
func (c *linksLabelCmd) print(out *console.Printer, page string, label links.Label) error {
	if c.JSON {
		one := pageLabelJSON{Page: page, Text: label.Anchor}
		if label != cell.NoLabel {
			one.Weight = &label.Weight
		}
		return out.Object(one)
	}
	if label == cell.NoLabel {
		return nil
	}
	return out.Fields(page, strconv.FormatFloat(label.Weight, 'g', -1, 64), console.OneLine(label.Anchor))
}
