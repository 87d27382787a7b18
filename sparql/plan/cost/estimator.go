// What a plan knows of the rows of the source.

package cost

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// surveyed holds the source's answers by range, so a query requests each once.
type surveyed map[rangeKey]knownRange

// Estimator estimates how many rows patterns have, and keeps the answers of the source.
type Estimator struct {
	Exec    *exec.Execution
	Columns *columns.View // nil if the source has none
	known   surveyed
	guessed map[algebra.Node]float64 // see RowsOf
	texts   map[*algebra.TextJoin]exec.TextSearch
	// candidates are those of the index of literals, by predicate and texts.
	candidates map[string]candidates
	scored     float64 // pages with a score of PageRank; 0 while it is not known
}

// New returns an estimator that knows nothing yet. view may be nil.
func New(q *exec.Execution, view *columns.View) *Estimator {
	return &Estimator{Exec: q, Columns: view, known: surveyed{}, guessed: map[algebra.Node]float64{}}
}

type rangeKey struct{ lo, hi string }

type knownRange struct {
	source.Finding
	sampled bool
}

// request returns answers to questions. It sends a question only if its answer is missing.
func (e *Estimator) request(requests []source.Question) ([]source.Finding, error) {
	var open []source.Question
	for _, one := range requests {
		if known, ok := e.known[keyOfRange(one.Range)]; !ok || one.Places > 0 && !known.sampled {
			open = append(open, one)
		}
	}
	if len(open) > 0 {
		found, err := source.Survey(e.Exec.Ctx, e.Exec.Source, open)
		if err != nil {
			return nil, err
		}
		for i, one := range open {
			e.known[keyOfRange(one.Range)] = knownRange{found[i], one.Places > 0}
		}
	}
	all := make([]source.Finding, len(requests))
	for i, one := range requests {
		all[i] = e.known[keyOfRange(one.Range)].Finding
	}
	return all, nil
}

func keyOfRange(r triple.Range) rangeKey { return rangeKey{string(r.Lo), string(r.Hi)} }

// Changed reports whether the operations before this one, of the same update, may change triples with a predicate. Then
// only the source has these.
func (e *Estimator) Changed(predicate string) bool {
	changed := e.Exec.Options.Changed
	return changed != nil && changed(predicate)
}

// CheckCommitted returns an error if an index lacks changes of triples with some predicates; none stands for any.
func (e *Estimator) CheckCommitted(index string, predicates ...string) error {
	if len(predicates) == 0 {
		predicates = []string{""}
	}
	if slices.ContainsFunc(predicates, e.Changed) {
		return fmt.Errorf("%w, and %s has these changes only after the update; send two updates", exec.ErrChanged, index)
	}
	return nil
}
