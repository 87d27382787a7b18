// Tests of states: a merge of parts must be the aggregate of the whole.

package expr_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// TestAggregateStates: written and merged accumulators must give the same as one accumulator of
// all solutions.
func TestAggregateStates(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 3))
	value := func() triple.Term { // sums of them are exact in any order
		switch random.IntN(12) {
		case 0:
			return triple.NewTyped(fmt.Sprint(random.IntN(9), ".", 25*random.IntN(4)), triple.XSDDecimal)
		case 1:
			return triple.NewTyped(fmt.Sprint(1+random.IntN(4), "e1"), triple.XSDDouble)
		default:
			return triple.NewTyped(fmt.Sprint(random.IntN(30)-9), triple.XSDInteger)
		}
	}
	odd := []triple.Term{{}, triple.NewString("text, \x00 text"), triple.NewBlank("b"), triple.NewIRI("x:i"), triple.NewLang("a", "en")}
	for _, f := range []ast.AggregateFunc{ast.AggCount, ast.AggSum, ast.AggAvg, ast.AggMin, ast.AggMax, ast.AggSample, ast.AggGroupConcat} {
		for _, distinct := range []bool{false, true} {
			for round := range 60 {
				agg, err := expr.CompileAggregate(&ast.Aggregate{Func: f, Distinct: distinct, Separator: "|", Arg: &ast.Var{Slot: 0}}, expr.Scope{}, nil)
				require.NoError(t, err)
				env := &expr.Env{}
				whole, merged, part := agg.New(nil), agg.New(nil), agg.New(nil)
				flush := func() {
					require.NoError(t, merged.Merge(string(part.AppendState(nil))))
					part = agg.New(nil)
				}
				for range random.IntN(40) {
					term := value()
					if round%6 == 0 && random.IntN(9) == 0 {
						term = odd[random.IntN(len(odd))]
					}
					for _, acc := range []*expr.Accumulator{whole, part} {
						require.NoError(t, acc.Add(env, expr.Terms{term}))
					}
					if random.IntN(5) == 0 {
						flush()
					}
				}
				flush()
				got, want := merged.Result(), whole.Result()
				if got.Term() != want.Term() || (got.Err() == nil) != (want.Err() == nil) {
					t.Fatalf("seed %d: %v distinct %v: %v (%v), want %v (%v)", seed, f, distinct, got.Term(), got.Err(), want.Term(), want.Err())
				}
			}
		}
	}
}

// TestDamagedStates: invalid bytes must give an error, never a panic.
func TestDamagedStates(t *testing.T) {
	agg, err := expr.CompileAggregate(&ast.Aggregate{Func: ast.AggGroupConcat, Distinct: true, Arg: &ast.Var{Slot: 0}}, expr.Scope{}, nil)
	require.NoError(t, err)
	acc := agg.New(nil)
	for i := range 5 {
		require.NoError(t, acc.Add(&expr.Env{}, expr.Terms{triple.NewString(fmt.Sprint("value ", i))}))
	}
	state := acc.AppendState(nil)
	for n := range len(state) {
		_ = agg.New(nil).Merge(string(state[:n])) // a cut between values cannot be seen
	}
	for _, bad := range []string{"", "\x00", "\x00\x07\x00\x00", string(state[:len(state)-1]), "\x01\x02\x01\xff\x00"} {
		if err := agg.New(nil).Merge(bad); err == nil {
			t.Errorf("%q is a state", bad)
		}
	}
	full := errors.New("full")
	limited := agg.New(func(int) error { return full })
	if err := limited.Merge(string(state)); !errors.Is(err, full) {
		t.Errorf("without memory: %v", err)
	}
}
