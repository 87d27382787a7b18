package memsource_test

import (
	"testing"
	"time"

	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memsource"
	"github.com/trefoildb/trefoil/sparql/exec/sourcetest"
	"github.com/trefoildb/trefoil/triple"
)

func TestSource(t *testing.T) {
	sourcetest.Check(t, uint64(time.Now().UnixNano()), testing.Short(), func(triples []triple.Triple) exec.Source {
		return memsource.New(triples)
	})
}
