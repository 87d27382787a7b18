// trefoil links label: the labels of pages.

package cli

import (
	"strconv"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
)

type linksLabelCmd struct {
	serverFlags
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

func (c *linksLabelCmd) Run(e *env) error {
	// 1. Set or remove labels if a flag says so.
	sets := c.Weight != nil || c.Text != nil
	if sets && c.Remove {
		return usagef("--remove is not for --weight and --text")
	}
	label := cell.NoLabel
	if c.Weight != nil {
		label.Weight = *c.Weight
	}
	if c.Text != nil {
		label.Anchor = *c.Text
	}
	if sets && label == cell.NoLabel {
		return usagef("weight 1 without a text is no label; --remove removes one")
	}
	if sets || c.Remove {
		return askGraph(e, &c.serverFlags, func(g links.Graph) error {
			return c.each(e, c.serverNames(e), func(batch []string) error { return setLabels(e, g, batch, label) })
		})
	}
	// 2. Print them otherwise.
	return askGraph(e, &c.serverFlags, func(g links.Graph) error {
		names, out := resolver{e: e, graph: g}, e.newPrinter(c.JSON)
		err := c.each(e, c.serverNames(e), func(batch []string) error {
			pages, err := names.resolve(batch)
			if err != nil {
				return err
			}
			labels, err := g.PageLabels(e.ctx, pages)
			for i := 0; err == nil && i < len(labels); i++ {
				err = c.print(out, batch[i], labels[i])
			}
			return err
		})
		names.tell()
		return out.end(err)
	})
}

// setLabels gives pages a label. Pages must be URLs.
func setLabels(e *env, g links.Graph, batch []string, label links.Label) error {
	var changes []links.Change
	for _, url := range batch {
		changes = append(changes, links.Change{Kind: links.LabelPage, Source: url, Labels: []links.Label{label}})
	}
	_, err := g.Update(e.ctx, changes)
	return err
}

// print prints the label of a page, if it has one.
func (c *linksLabelCmd) print(out *printer, page string, label links.Label) error {
	if c.JSON {
		one := pageLabelJSON{Page: page, Text: label.Anchor}
		if label != cell.NoLabel {
			one.Weight = &label.Weight
		}
		return out.object(one)
	}
	if label == cell.NoLabel {
		return nil
	}
	return out.fields(page, strconv.FormatFloat(label.Weight, 'g', -1, 64), oneLine(label.Anchor))
}
