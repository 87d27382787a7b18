// Tests of queries whose patterns nest deep.

package plan_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
)

// nest returns a query of a number of unions or sub-selects in one another, each beside a pattern.
func nest(levels int, unions bool) string {
	begin, end := "{ SELECT ?s { ", " } }"
	if unions {
		begin, end = "{ ", " } UNION { ?s <x:other> 1 }"
	}
	var q strings.Builder
	q.WriteString("SELECT ?s { ?s ?p ?o . ")
	for i := range levels {
		fmt.Fprintf(&q, "%s?s <x:p%d> ?o%d . ", begin, i, i)
	}
	q.WriteString("?s <x:last> ?o" + strings.Repeat(end, levels) + " }")
	return q.String()
}

// TestNestedPlans checks that the work of planning grows with the depth of a query, and not with its
// square.
func TestNestedPlans(t *testing.T) {
	src := memsource.New(nil)
	for name, unions := range map[string]bool{"sub-selects": false, "unions": true} {
		work := func(levels int) float64 {
			p, err := sparql.Prepare(nest(levels, unions), sparql.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return testing.AllocsPerRun(2, func() {
				if _, err := p.Explain(t.Context(), src); err != nil {
					t.Fatal(err)
				}
			})
		}
		if half, full := work(100), work(200); full > 2.5*half {
			t.Errorf("%s: %.0f allocations for 100 levels, %.0f for 200", name, half, full)
		}
	}
}

// stoppedSource counts what it is asked after it has cancelled a query.
type stoppedSource struct {
	source.Source
	cancel context.CancelFunc
	asked  int
}

func (s *stoppedSource) Survey(_ context.Context, asked []source.Question) ([]source.Finding, error) {
	s.asked++
	s.cancel()
	return make([]source.Finding, len(asked)), nil
}

// TestNestedPlanStops checks that planning ends when the time of the query is over.
func TestNestedPlanStops(t *testing.T) {
	p, err := sparql.Prepare(nest(200, true), sparql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	src := &stoppedSource{Source: memsource.New(nil), cancel: cancel}
	if _, err := p.Explain(ctx, src); !errors.Is(err, context.Canceled) || src.asked != 1 {
		t.Errorf("%d questions, %v", src.asked, err)
	}
}
