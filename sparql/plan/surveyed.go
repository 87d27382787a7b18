// Answers of the source, so a query requests each range once.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// surveyed holds the source's answers by range, so a query requests each once.
type surveyed map[rangeKey]knownRange

// estimator estimates how many rows patterns have, and keeps the answers of the source.
type estimator struct {
	*query
	known   surveyed
	guessed map[algebra.Node]float64 // see rowsOf
	texts   map[*algebra.TextJoin]exec.TextSearch
	// candidates are those of the index of literals, by predicate and texts.
	candidates map[string]candidates
	scored     float64 // pages with a score of PageRank; 0 while it is not known
}

type rangeKey struct{ lo, hi string }

type knownRange struct {
	source.Finding
	sampled bool
}

// ask returns answers to questions. It sends a question only if its answer is missing.
func (e *estimator) ask(asked []source.Question) ([]source.Finding, error) {
	var open []source.Question
	for _, one := range asked {
		if known, ok := e.known[keyOfRange(one.Range)]; !ok || one.Places > 0 && !known.sampled {
			open = append(open, one)
		}
	}
	if len(open) > 0 {
		found, err := source.Survey(e.exec.Ctx, e.exec.Source, open)
		if err != nil {
			return nil, err
		}
		for i, one := range open {
			e.known[keyOfRange(one.Range)] = knownRange{found[i], one.Places > 0}
		}
	}
	all := make([]source.Finding, len(asked))
	for i, one := range asked {
		all[i] = e.known[keyOfRange(one.Range)].Finding
	}
	return all, nil
}

func keyOfRange(r triple.Range) rangeKey { return rangeKey{string(r.Lo), string(r.Hi)} }
