// Tests of batches of annotations.

package annotations

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// groupStore takes annotations and checks how many are in progress.
type groupStore struct {
	store.Triples
	t     *testing.T
	batch *batch
}

// Write implements [store.Writer].
func (g *groupStore) Write(_ context.Context, c store.Change) (store.Result, error) {
	if n := len(g.batch.group); c.Kind != store.KindAnnotate || n > groupChanges {
		g.t.Errorf("%s, and %d changes in progress, at most %d", c.Kind, n, groupChanges)
	}
	return store.Result{Version: triple.Stamp{Sequence: 1}}, nil
}

// TestGroupsOfOneLine checks that the annotations of one line are set in groups, because each change
// in progress needs memory.
func TestGroupsOfOneLine(t *testing.T) {
	// 1. A line with several groups, and some.
	const n = 5*groupChanges + 7
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"app":"a%d","data":""}`, i)
	}
	line := `{"s":"<a:a>","p":"<a:b>","o":"1","annotations":[` + strings.Join(list, ",") + "]}"
	// 2. All are set.
	r := httptest.NewRequest("POST", "/annotations", nil)
	s := &groupStore{t: t}
	b := &batch{
		api:     New(&endpoint.Shared{Store: s}),
		request: &request.Request{Request: r, Caller: access.NewTokens("", "", nil).Caller(r)},
		account: limits.NewAccount(&limits.Budget{Max: 1 << 20}, r),
		names:   map[name]bool{},
	}
	s.batch = b
	defer b.account.Release()
	if err := b.read(strings.NewReader(line)); err != nil || b.answer.Set != n || b.answer.Failed != 0 {
		t.Errorf("%+v, %v", b.answer, err)
	}
}
