// The dataset of a query: its default graph and its named graphs.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// Dataset is the dataset of FROM and FROM NAMED. If both are empty, the dataset is the store's.
type Dataset struct {
	Default, Named []string
	// AllNamed makes every named graph of the store one of the dataset's: WITH of
	// an update names the default graph only.
	AllNamed bool
}

// defaultGraphs returns the default graph of the dataset. With union it is the merge of all
// graphs if the dataset is the store's.
func (d Dataset) defaultGraphs(union bool) pattern.Graphs {
	if len(d.Default) == 0 && len(d.Named) == 0 {
		if union {
			return pattern.Graphs{Mode: pattern.AnyGraph}
		}
		return pattern.Graphs{Mode: pattern.DefaultGraph}
	}
	if len(d.Default) == 1 {
		name := solution.KeyOfIRI(d.Default[0])
		return pattern.Graphs{Mode: pattern.OneGraph, Name: &name}
	}
	return pattern.Graphs{Mode: pattern.SomeGraphs, Set: keySet(d.Default)}
}

func keySet(iris []string) map[string]bool {
	set := make(map[string]bool, len(iris))
	for _, iri := range iris {
		set[solution.KeyOfIRI(iri)] = true
	}
	return set
}

// namedSet returns the names of the dataset's named graphs; nil for the store's.
func (d Dataset) namedSet() map[string]bool {
	if d.AllNamed || len(d.Default) == 0 && len(d.Named) == 0 {
		return nil
	}
	return keySet(d.Named)
}
