// The join of rows with the literals of a search.

package textcall

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// Join joins its input with the hits of a search, in the order of the input. For a row that leaves the literal unbound
// these are all hits, the best first; they are read as they are needed. For the others the search scores the literals of
// a batch of rows. If there are more rows than hits, and few hits, all hits are read once and looked up.
type Join struct {
	Exec   *exec.Execution
	Input  exec.Operator
	Node   *algebra.TextJoin
	Search exec.TextSearch
	// Goal is about the number of rows that the query needs; 0 if it is not known.
	Goal int64
	memory.Holder

	Batch    *solution.Batch
	at       int // the row to join
	give     int // of the hits, for a row that leaves the literal unbound
	soft     int // rows of the next batch of hits
	hits     []exec.TextHit
	complete bool // these are all
	places   map[string]int
	// scores are those of the bound literals of the batch; 0 is no hit. bound counts the literals of all batches.
	scores map[string]float64
	bound  int64
}

const (
	firstHits = 64
	hitGrowth = 8
	// mostHits bounds the hits of one page.
	mostHits = 1 << 14
	hitBytes = 64
	// mostLookups bounds the hits that are read to look literals up.
	mostLookups = 1 << 16
)

// Next gives the next rows.
func (j *Join) Next(out *solution.Batch) error {
	for {
		if err := j.Exec.Check(); err != nil {
			return err
		}
		if j.at < j.Batch.Len {
			if err := j.join(out); err != nil {
				return fmt.Errorf("text:matches at %s: %w", j.Node.Call.Pos, err)
			}
		} else {
			j.Batch.Clear()
			j.at, j.scores = 0, nil
			if err := j.Input.Next(j.Batch); err != nil || j.Batch.Len == 0 {
				return err
			}
		}
		// Return early, because a LIMIT above may want no more.
		if out.Full() || out.Len > 0 && (j.at >= j.Batch.Len || j.give > 0) {
			return nil
		}
	}
}

// join gives the solutions of some rows.
func (j *Join) join(out *solution.Batch) error {
	for ; j.at < j.Batch.Len; j.at++ {
		row := j.Batch.Row(j.at)
		// 1. All hits, few at first.
		literal := row[j.Node.Literal.Slot]
		if literal == "" {
			if more, err := j.joinAll(out, row); err != nil || more {
				return err
			}
			continue
		}
		// 2. Or that of the row's literal.
		if out.Full() {
			return nil
		}
		hit, ok, err := j.lookUp(literal)
		if err != nil {
			return err
		}
		if ok {
			if err := j.put(out, row, hit); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookUp returns the hit of a literal.
func (j *Join) lookUp(literal string) (hit exec.TextHit, ok bool, err error) {
	// 1. Score the literals of the batch, unless all hits are cheaper.
	if j.scores == nil && j.places == nil {
		literals := j.literals()
		j.bound += int64(len(literals))
		if n := j.Search.Estimate(); n <= j.bound && n <= mostLookups {
			if err := j.readAll(); err != nil {
				return hit, false, err
			}
		}
		if j.places == nil {
			if err := j.score(literals); err != nil {
				return hit, false, err
			}
		}
	}
	// 2. Look the literal up.
	if j.places != nil {
		i, ok := j.places[literal]
		if ok {
			hit = j.hits[i]
		}
		return hit, ok, nil
	}
	score := j.scores[literal]
	return exec.TextHit{Literal: literal, Score: score}, score > 0, nil
}

// literals returns the different literals that the rest of the batch binds.
func (j *Join) literals() (list []string) {
	seen := map[string]bool{}
	for at := j.at; at < j.Batch.Len; at++ {
		if literal := j.Batch.Row(at)[j.Node.Literal.Slot]; literal != "" && !seen[literal] {
			seen[literal] = true
			list = append(list, literal)
		}
	}
	return list
}

// score reads the scores of some literals.
func (j *Join) score(literals []string) error {
	scores, err := j.Search.Scores(j.Exec.Ctx, literals)
	if err != nil {
		return err
	}
	j.scores = make(map[string]float64, len(literals))
	for i, literal := range literals {
		j.scores[literal] = scores[i]
	}
	return nil
}

// joinAll joins a row with all hits, and reports whether more of them are left.
func (j *Join) joinAll(out *solution.Batch, row []string) (more bool, err error) {
	j.soft = min(max(2*j.soft, int(min(j.Goal, solution.BatchRows)), 16), solution.BatchRows)
	most := out.Len + j.soft
	for !out.Full() && out.Len < most {
		if j.give == len(j.hits) {
			if err := j.read(); err != nil {
				return false, err
			}
		}
		if j.give == len(j.hits) {
			j.give = 0
			return false, nil
		}
		if err := j.put(out, row, j.hits[j.give]); err != nil {
			return false, err
		}
		j.give++
	}
	return true, nil
}

// read reads more hits, if there are any.
func (j *Join) read() error {
	if j.complete {
		return nil
	}
	n := min(max((hitGrowth-1)*len(j.hits), firstHits, int(min(j.Goal, mostHits))), mostHits)
	hits, err := j.Search.Next(j.Exec.Ctx, n)
	if err != nil {
		return err
	}
	bytes := 0
	for i := range hits {
		bytes += len(hits[i].Literal) + hitBytes
	}
	if err := j.Grow(bytes); err != nil {
		return err
	}
	j.hits = append(j.hits, hits...)
	j.complete = len(hits) == 0
	return nil
}

// readAll reads all hits, and makes them be found by their literals. If there are more than estimated, it leaves places
// nil.
func (j *Join) readAll() error {
	for !j.complete {
		if len(j.hits) > 2*mostLookups {
			return nil
		}
		if err := j.Exec.Check(); err != nil {
			return err
		}
		if err := j.read(); err != nil {
			return err
		}
	}
	if err := j.Grow(len(j.hits) * hitBytes); err != nil {
		return err
	}
	j.places = make(map[string]int, len(j.hits))
	for i := range j.hits {
		j.places[j.hits[i].Literal] = i
	}
	return nil
}

// put adds a row with the bindings of a hit, unless the row has others.
func (j *Join) put(out *solution.Batch, row []string, hit exec.TextHit) error {
	next := out.Add(row, j.Batch.Origin[j.at])
	bind := func(at algebra.VarOrTerm, value string) bool {
		if next[at.Slot] == "" {
			next[at.Slot] = value
			out.AddWeight(value)
		}
		return next[at.Slot] == value
	}
	same := bind(j.Node.Literal, hit.Literal)
	if same && j.Node.HasScore {
		same = bind(j.Node.Score, solution.Encode(expr.FromDouble(hit.Score).Term()))
	}
	if same && j.Node.HasSnippet {
		same = bind(j.Node.Snippet, solution.Encode(triple.NewString(j.Search.Snippet(hit))))
	}
	if !same {
		out.DropLast()
	}
	return j.Exec.Tick()
}

// Reset begins again. The hits stay, because the search goes on behind them.
func (j *Join) Reset() {
	j.Batch.Clear()
	j.at, j.give, j.soft, j.scores = 0, 0, 0, nil
	j.Input.Reset()
}

// Close frees the hits.
func (j *Join) Close() {
	j.hits, j.places, j.scores = nil, nil, nil
	j.Free()
	j.Batch.Free()
	j.Input.Close()
}
