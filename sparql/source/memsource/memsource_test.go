// The source in memory keeps the contract.

package memsource_test

import (
	"testing"
	"time"

	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/source/sourcetest"
	"github.com/trefoildb/trefoil/triple"
)

func TestSource(t *testing.T) {
	sourcetest.Check(t, uint64(time.Now().UnixNano()), testing.Short(), func(triples []triple.Triple) source.Source {
		return memsource.New(triples)
	})
}
