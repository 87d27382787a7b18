// Tests of text:matches with an index of the test's own.

package sparql_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/triple"
)

// hundred is an index, and a search, that finds a hundred literals. snippet is called for each snippet.
type hundred struct {
	given   bool
	snippet func()
}

func (h *hundred) Search(context.Context, exec.TextRequest) (exec.TextSearch, error) { return h, nil }
func (h *hundred) Restart() exec.TextSearch                                          { return &hundred{snippet: h.snippet} }
func (h *hundred) Estimate() int64                                                   { return 100 }
func (h *hundred) ScannedBytes() int64                                               { return 0 }

func (h *hundred) Next(context.Context, int) (list []exec.TextHit, err error) {
	for i := range 100 {
		if !h.given {
			list = append(list, exec.TextHit{Literal: solution.Encode(triple.NewString(fmt.Sprint(i)))})
		}
	}
	h.given = true
	return list, nil
}

func (h *hundred) Scores(context.Context, []string) ([]exec.TextHit, error) { return nil, nil }

func (h *hundred) Snippet(exec.TextHit) string {
	h.snippet()
	return "a part"
}

// TestSnippetsEnd: a query that is cancelled makes no further snippet, because each may take a tenth of a second.
func TestSnippetsEnd(t *testing.T) {
	for at := 1; at <= 100; at++ {
		ctx, cancel := context.WithCancel(t.Context())
		made := 0
		index := &hundred{snippet: func() {
			if made++; made == at {
				cancel()
			}
		}}
		src := memsource.New(nil)
		err := drain(ctx, src, `PREFIX text: <urn:trefoil:text:> SELECT ?l ?t { ?l text:matches "a" ; text:snippet ?t }`, sparql.Options{Options: exec.Options{Text: index}})
		if !errors.Is(err, context.Canceled) && at < 100 || made != at {
			t.Errorf("cancelled at snippet %d: %d were made, and the error is %v", at, made, err)
		}
		cancel()
	}
}
