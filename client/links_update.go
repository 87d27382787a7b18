// Changes of links.

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"net/http"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
)

const (
	// updateBytes is about the size of a request to change links.
	updateBytes = 4 << 20
	// lineTargets and lineBytes bound the targets of one line.
	lineTargets = 50_000
	lineBytes   = 4 << 20
)

// linkChange is a line of /links/update.
type linkChange struct {
	Op     string    `json:"op"`
	Src    string    `json:"src"`
	Dst    []string  `json:"dst,omitzero"`
	Weight []float64 `json:"weight,omitempty"`
	Anchor []string  `json:"anchor,omitempty"`
}

var changeNames = map[links.ChangeKind]string{links.AddLinks: "add", links.DeleteLinks: "delete", links.ReplaceLinks: "replace", links.LabelPage: "label"}

// Update makes changes. They are durable when it returns; see [links.Graph]. If it fails, the
// result counts the work of the requests before the failed one, of some 4 MiB each. See the package
// on retries.
func (l *Links) Update(ctx context.Context, changes []links.Change) (links.UpdateResult, error) {
	return l.UpdateAll(ctx, func(yield func(links.Change, error) bool) {
		for _, c := range changes {
			if !yield(c, nil) {
				return
			}
		}
	})
}

// UpdateAll is Update for a stream of changes. If the stream yields an error, the changes before it
// are made.
func (l *Links) UpdateAll(ctx context.Context, changes iter.Seq2[links.Change, error]) (total links.UpdateResult, err error) {
	// 1. flush sends the collected lines.
	var lines []byte
	flush := func() error {
		if len(lines) == 0 {
			return nil
		}
		result, err := l.sendChanges(ctx, lines)
		total.Added += result.Added
		total.Deleted += result.Deleted
		total.Pages += result.Pages
		total.Epoch = result.Epoch // the greatest, because it includes the changes before
		lines = nil                // a transport may still read it
		return err
	}
	// 2. Check and collect the changes. A request is sent when it is large enough.
	for c, err := range changes {
		if err == nil {
			err = checkChange(c)
		}
		if err != nil {
			if failed := flush(); failed != nil {
				err = failed
			}
			return total, fmt.Errorf("links: update: %w", err)
		}
		for line := range linesOf(c) {
			if lines, err = appendLine(lines, line); err != nil {
				return total, fmt.Errorf("links: update: %w", err)
			}
			if len(lines) < updateBytes {
				continue
			}
			if err := flush(); err != nil {
				return total, linksError("update", err)
			}
		}
	}
	return total, linksError("update", flush())
}

func (l *Links) sendChanges(ctx context.Context, lines []byte) (result links.UpdateResult, err error) {
	text, err := l.change(ctx, call{method: http.MethodPost, target: l.endpoint("/links/update", nil), body: lines,
		header: http.Header{"Content-Type": {"application/x-ndjson"}}}, false)
	if err == nil {
		err = decodeJSON(text, &result)
	}
	return result, err
}

// checkChange rejects a change if JSON cannot express it exactly.
func checkChange(c links.Change) error {
	// 1. The kind, and the number of labels.
	invalid := func(message string, args ...any) error {
		return fmt.Errorf("%w: %s: %s", links.ErrInvalid, c.Source, fmt.Sprintf(message, args...))
	}
	if changeNames[c.Kind] == "" {
		return invalid("a change of kind %d", c.Kind)
	}
	expected := len(c.Targets)
	if c.Kind == links.LabelPage {
		expected = 1
	}
	if c.Labels != nil && len(c.Labels) != expected || c.Kind == links.LabelPage && (c.Labels == nil || len(c.Targets) > 0) {
		return invalid("%d labels of %d targets", len(c.Labels), len(c.Targets))
	}
	// 2. Texts must be UTF-8 and weights finite, because JSON would replace or reject them.
	if !utf8.ValidString(c.Source) {
		return invalid("is not UTF-8")
	}
	for _, url := range c.Targets {
		if !utf8.ValidString(url) {
			return invalid("the target %q is not UTF-8", url)
		}
	}
	for i, label := range c.Labels {
		switch {
		case math.IsNaN(label.Weight) || math.IsInf(label.Weight, 0):
			return invalid("the weight of label %d is %v", i, label.Weight)
		case !utf8.ValidString(label.Anchor):
			return invalid("the anchor of label %d is not UTF-8", i)
		}
	}
	return nil
}

// linesOf cuts a change into lines. If a list is replaced, the first line replaces it and the
// others add the rest.
func linesOf(c links.Change) iter.Seq[links.Change] {
	return func(yield func(links.Change) bool) {
		// A label of a page is one line.
		if c.Kind == links.LabelPage {
			yield(c)
			return
		}
		for first := true; first || len(c.Targets) > 0; first = false {
			n, bytes := 0, 0
			for n < len(c.Targets) && n < lineTargets && (n == 0 || bytes < lineBytes) {
				bytes += len(c.Targets[n])
				if c.Labels != nil {
					bytes += len(c.Labels[n].Anchor)
				}
				n++
			}
			line := c
			line.Targets, c.Targets = c.Targets[:n], c.Targets[n:]
			if c.Labels != nil {
				line.Labels, c.Labels = c.Labels[:n], c.Labels[n:]
			}
			if !yield(line) {
				return
			}
			if c.Kind == links.ReplaceLinks {
				c.Kind = links.AddLinks
			}
		}
	}
}

func appendLine(dst []byte, c links.Change) ([]byte, error) {
	line := linkChange{Op: changeNames[c.Kind], Src: c.Source, Dst: c.Targets}
	if c.Kind == links.LabelPage {
		line.Dst = nil
	} else if line.Dst == nil {
		line.Dst = []string{}
	}
	if cell.Labelled(c.Labels) && c.Kind != links.DeleteLinks {
		for _, label := range c.Labels {
			line.Weight, line.Anchor = append(line.Weight, label.Weight), append(line.Anchor, label.Anchor)
		}
	}
	out := bytes.NewBuffer(dst)
	in := json.NewEncoder(out)
	in.SetEscapeHTML(false)
	err := in.Encode(line)
	return out.Bytes(), err
}
