// Tests of the size of rows.

package backfill

import (
	"math"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// The largest possible row, with its operation, must fit into a message. The test measures the
// bytes around its terms.
func TestLargestRowFits(t *testing.T) {
	const length = 2000
	iri := func(of string) triple.Term { return triple.NewIRI("u:" + strings.Repeat(of, length-2)) }
	long := triple.Triple{Subject: iri("s"), Predicate: iri("p"), Object: iri("o"), Graph: iri("g")}
	key, _ := triple.AppendKey(nil, triple.SPO, long)
	at := triple.Stamp{Epoch: math.MaxUint64, Sequence: math.MaxUint64}
	row := replica.FillRow{
		Table: store.TableStorage, Key: key, Value: triple.AppendValue(nil, at, long),
		InFlight:  replica.Origin{Sequencer: 1, Incarnation: math.MaxUint64, Batch: math.MaxUint64},
		Operation: &replica.Operation{Kind: store.OperationAdd, Stamp: at, Key: key, Long: triple.AppendValue(nil, triple.Stamp{}, long)},
	}
	body := EncodeRows([]replica.FillRow{row, row})
	around := len(body)/2 - 2*4*length
	// Beside it, what else had come together when it was added.
	if around < 0 || 2*4*triple.MaxTermBytes+around+1<<10+MessageBytes > peer.MaxBody {
		t.Errorf("%d bytes around the terms", around)
	}
}
