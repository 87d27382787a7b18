// Filters of the change feed in the parameters of a request.

package request

import (
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/server/problem"
)

// FilterParams are the parameters of [Params.Filter].
var FilterParams = slices.Concat(PatternParams, BoundsParams, []string{"kinds", "app"})

// Filter parses the parameters that select changes: a pattern, bounds, kinds and an application.
func (p Params) Filter() (f feed.Filter, err error) {
	if f.Pattern, err = p.Pattern(); err != nil {
		return f, err
	}
	if slices.ContainsFunc(BoundsParams, p.Has) {
		b, err := p.Bounds()
		if err != nil {
			return f, err
		}
		f.Bounds = &b
	}
	if names := p["kinds"]; names != "" {
		for name := range strings.SplitSeq(names, ",") {
			kind, err := feed.ParseKind(name)
			if err != nil {
				return f, problem.Errorf(problem.KindBadParameter, "kinds", "%v", err)
			}
			f.Kinds = append(f.Kinds, kind)
		}
	}
	f.Application = p["app"]
	if _, err := feed.NewMatcher(f); err != nil {
		return f, problem.Errorf(problem.KindBadParameter, "", "%v", err)
	}
	return f, nil
}
