// The place in the feed of a function that is registered again with another pattern.

package functions

import (
	"context"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/feed"
)

// Selection is what a registration selects of the feed.
type Selection struct {
	Pattern string   `json:"pattern"`
	Kinds   []string `json:"kinds"`
	Loads   bool     `json:"loads,omitempty"`
}

func (r *Registration) selection() *Selection { return &Selection{r.Pattern, r.Kinds, r.Loads} }

func (s *Selection) equal(other *Selection) bool {
	return s.Pattern == other.Pattern && s.Loads == other.Loads && slices.Equal(s.Kinds, other.Kinds)
}

// matcher returns what selects the changes.
func (s *Selection) matcher() (*feed.Matcher, error) {
	r := Registration{Name: "former", Pattern: s.Pattern, Kinds: s.Kinds, Loads: s.Loads}.withDefaults()
	a, err := r.attach()
	if err != nil {
		return nil, fmt.Errorf("the former registration: %w", err)
	}
	return a.matcher, nil
}

// recount makes the place in the feed one of this registration. The state counts the changes of a
// request, and the feed sends others of it to another pattern: so the changes up to the last one that
// the former registration has processed are found, and counted anew. A load in work is in the order
// of its pattern, so it begins anew.
func (r *runner) recount(ctx context.Context) error {
	former := r.state.Selected
	if former == nil || former.equal(r.f.selection()) {
		return nil
	}
	if former.Pattern != r.f.Pattern {
		for i := range r.at.loads {
			r.at.loads[i].After = nil
		}
	}
	if len(r.at.partials) == 0 {
		return nil
	}
	// 1. Both count the changes that the feed sends them, in the same order.
	before, err := former.matcher()
	if err != nil {
		return err
	}
	counts := make([]int, len(r.at.partials))
	left := len(counts)
	// 2. Read the feed until all that was processed is found, or up to its end.
	err = feed.Each(ctx, r.feed, feed.Request{Since: r.at.position, MaxBytes: feedBytes}, func(batch *feed.Batch) (bool, error) {
		for i := range batch.Changes {
			c := &batch.Changes[i]
			q := slices.IndexFunc(r.at.partials, func(p Partial) bool { return p.contains(c) })
			if q < 0 || c.Key == nil || r.at.partials[q].seen == r.at.partials[q].Count {
				continue
			}
			p := &r.at.partials[q]
			was, err := before.Match(c)
			if err != nil {
				return false, err
			}
			is, err := r.f.matcher.Match(c)
			if err != nil {
				return false, err
			}
			if is {
				counts[q]++
			}
			if was {
				p.seen++
			}
			if p.seen == p.Count {
				left--
			}
		}
		return left <= 0, nil
	})
	if err != nil {
		return err
	}
	// 3. Requests of which nothing counts are not begun.
	for i := range counts {
		r.at.partials[i].Count, r.at.partials[i].seen = counts[i], 0
	}
	r.at.partials = slices.DeleteFunc(r.at.partials, func(p Partial) bool { return p.Count == 0 })
	return nil
}
