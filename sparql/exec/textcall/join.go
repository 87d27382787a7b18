// The join of rows with the literals of a search.

package textcall

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// Join joins its input with the hits of a search, in the order of the input. For a row that leaves the literal unbound
// these are all hits, the best first; they are read as they are needed. For the others the search scores the literals of
// a batch of rows. If there are more rows than hits, and few hits, all hits are read once and looked up. If the graph
// matters, a hit counts once for each graph that has it.
type Join struct {
	Exec   *exec.Execution
	Input  exec.Operator
	Node   *algebra.TextJoin
	Search exec.TextSearch
	// Goal is about the number of rows that the query needs; 0 if it is not known.
	Goal int64
	// Graphs are the graphs that must have the literals. Other modes than OneGraph, EachGraph and SomeGraphs are all graphs.
	Graphs pattern.Graphs
	Looped bool // a [exec.GraphLoop] moves the name of Graphs
	memory.Holder

	Batch    *solution.Batch
	at       int // the row to join
	give     int // of the hits, for a row that leaves the literal unbound; else of those of its literal
	soft     int // rows of the next batch of hits
	found    int // hits of the search so far
	hits     []entry
	finder   *graphFinder
	complete bool           // these are all
	places   map[string]int // of the first hit of a literal
	// scored has the hits of bound literals, of the batch or of a loop over graphs: nil for a literal that is none.
	// scoredBytes is their part of the holder. bound counts the literals that were looked up.
	scored      map[string][]entry
	scoredBytes int64
	bound       int64
}

const (
	firstHits = 64
	hitGrowth = 8
	// mostHits bounds the hits of one page.
	mostHits = 1 << 14
	hitBytes = 64
	// mostLookups bounds the hits that are read to look literals up.
	mostLookups = 1 << 16
	// mostRanges bounds the ranges of rows in which scored literals are looked up at a time.
	mostRanges = 1 << 14
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
			j.at = 0
			if !j.loops() || len(j.scored) > mostLookups {
				j.forget()
			}
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
		found, err := j.lookUp(literal)
		if err != nil {
			return err
		}
		for j.give < len(found) {
			if out.Full() {
				return nil
			}
			if err := j.put(out, row, &found[j.give]); err != nil {
				return err
			}
			j.give++
		}
		j.give = 0
	}
	return nil
}

// lookUp returns the hits of a literal: one, or one for each graph if the graph matters.
func (j *Join) lookUp(literal string) ([]entry, error) {
	// 1. Score the literals of the batch, unless all hits are cheaper.
	found, known := j.scored[literal]
	if !known && j.places == nil {
		literals := j.literals()
		j.bound += int64(len(literals))
		if n := j.Search.Estimate(); n <= j.bound && n <= mostLookups {
			if err := j.readAll(2 * mostLookups); err != nil {
				return nil, err
			}
		}
		if j.places == nil {
			if err := j.score(literals); err != nil {
				return nil, err
			}
			found = j.scored[literal]
		}
	}
	if j.places == nil {
		return found, nil
	}
	// 2. Or look it up among all hits.
	first, ok := j.places[literal]
	end := first
	for ok && end < len(j.hits) && j.hits[end].Literal == literal {
		end++
	}
	return j.hits[first:end], nil
}

// literals returns the different literals that the rest of the batch binds, without those that are scored.
func (j *Join) literals() (list []string) {
	seen := map[string]bool{}
	for at := j.at; at < j.Batch.Len; at++ {
		literal := j.Batch.Row(at)[j.Node.Literal.Slot]
		if _, known := j.scored[literal]; literal != "" && !known && !seen[literal] {
			seen[literal] = true
			list = append(list, literal)
		}
	}
	return list
}

// score finds the hits among some literals, and their graphs if these matter.
func (j *Join) score(literals []string) error {
	hits, err := j.Search.Scores(j.Exec.Ctx, literals)
	if err != nil {
		return err
	}
	// 1. The literals themselves.
	held, bytes := j.Held, 0
	defer func() { j.scoredBytes += j.Held - held }()
	for _, literal := range literals {
		bytes += len(literal) + hitBytes
	}
	if err := j.Grow(bytes); err != nil {
		return err
	}
	if j.scored == nil {
		j.scored = make(map[string][]entry, len(literals))
	}
	for _, literal := range literals {
		j.scored[literal] = nil
	}
	// 2. The entries of the hits.
	for len(hits) > 0 {
		// A literal may have all of the searched predicates, so the ranges of few hits are looked up at a time.
		n := len(hits)
		if !j.inAllGraphs() {
			n = min(n, max(mostRanges/max(len(hits[0].Predicates), 1), 1))
		}
		entries, err := j.entries(hits[:n])
		if err != nil {
			return err
		}
		for i := range entries {
			j.scored[entries[i].Literal] = append(j.scored[entries[i].Literal], entries[i])
		}
		hits = hits[n:]
	}
	return nil
}

// forget drops the scores of literals.
func (j *Join) forget() {
	j.ShrinkTo(j.Held - j.scoredBytes)
	j.scored, j.scoredBytes = nil, 0
}

// joinAll joins a row with all hits, and reports whether more of them are left.
func (j *Join) joinAll(out *solution.Batch, row []string) (more bool, err error) {
	j.soft = min(max(2*j.soft, int(min(j.Goal, solution.BatchRows)), 16), solution.BatchRows)
	most := out.Len + j.soft
	for !out.Full() && out.Len < most {
		if j.give == len(j.hits) {
			if err := j.readMore(); err != nil {
				return false, err
			}
		}
		if j.give == len(j.hits) {
			j.give = 0
			return false, nil
		}
		if err := j.put(out, row, &j.hits[j.give]); err != nil {
			return false, err
		}
		j.give++
	}
	return true, nil
}

// readMore reads more hits, if there are any. In some graphs there may be none among many of the search.
func (j *Join) readMore() error {
	for before := len(j.hits); !j.complete && len(j.hits) == before; {
		if err := j.Exec.Check(); err != nil {
			return err
		}
		if err := j.readSome(); err != nil {
			return err
		}
	}
	return nil
}

// readSome reads the next hits of the search.
func (j *Join) readSome() error {
	// 1. The hits, more of them each time.
	n := min(max((hitGrowth-1)*j.found, firstHits, int(min(j.Goal, mostHits))), mostHits)
	hits, err := j.Search.Next(j.Exec.Ctx, n)
	if err != nil {
		return err
	}
	j.found += len(hits)
	j.complete = len(hits) == 0
	bytes := 0
	for i := range hits {
		bytes += len(hits[i].Literal) + hitBytes
	}
	if err := j.Grow(bytes); err != nil {
		return err
	}
	// 2. Their graphs, if these matter.
	entries, err := j.entries(hits)
	j.hits = append(j.hits, entries...)
	return err
}

// loops reports whether a loop over the graphs moves the name of the graph.
func (j *Join) loops() bool { return j.Graphs.Mode == pattern.OneGraph && j.Looped }

// entries returns the entries of hits, in their order: one for each of the graphs if these matter. In a loop these are all
// named graphs, because the hits stay.
func (j *Join) entries(hits []exec.TextHit) ([]entry, error) {
	if j.inAllGraphs() {
		list := make([]entry, len(hits))
		for i := range hits {
			list[i].TextHit = hits[i]
		}
		return list, nil
	}
	if j.finder == nil {
		g := j.Graphs
		if j.loops() {
			g = pattern.Graphs{Mode: pattern.EachGraph}
		}
		j.finder = newGraphFinder(j.Exec, g, g.Mode == pattern.EachGraph, &j.Holder)
	}
	return j.finder.find(hits)
}

// inAllGraphs reports whether a literal counts in whatever graph it is.
func (j *Join) inAllGraphs() bool {
	switch j.Graphs.Mode {
	case pattern.OneGraph, pattern.EachGraph, pattern.SomeGraphs:
		return false
	}
	return true
}

// readAll reads all hits, and makes them be found by their literals. If there are more than most, it leaves places nil.
func (j *Join) readAll(most int) error {
	if j.places != nil {
		return nil
	}
	for !j.complete {
		if len(j.hits) > most {
			return nil
		}
		if err := j.readMore(); err != nil {
			return err
		}
	}
	if err := j.Grow(len(j.hits) * hitBytes); err != nil {
		return err
	}
	j.places = make(map[string]int, len(j.hits))
	for i := range j.hits {
		if _, known := j.places[j.hits[i].Literal]; !known {
			j.places[j.hits[i].Literal] = i
		}
	}
	return nil
}

// put adds a row with the bindings of a hit, unless the row has others.
func (j *Join) put(out *solution.Batch, row []string, hit *entry) error {
	// 1. In a loop the hit counts for the present graph only.
	if j.loops() && string(solution.AppendKeyForm(nil, hit.graph)) != *j.Graphs.Name {
		return j.Exec.Tick()
	}
	// 2. Bind what the row leaves unbound.
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
	if same && j.Graphs.Mode == pattern.EachGraph {
		same = bind(algebra.VarOrTerm{Slot: j.Graphs.Slot}, hit.graph)
	}
	if same && j.Node.HasSnippet {
		// A snippet of a long literal takes a tenth of a second.
		if err := j.Exec.Check(); err != nil {
			return err
		}
		same = bind(j.Node.Snippet, solution.Encode(triple.NewString(j.Search.Snippet(hit.TextHit))))
	}
	if !same {
		out.DropLast()
	}
	return j.Exec.Tick()
}

// Reset begins again. The hits stay, because the search goes on behind them. In a loop scores stay, too, because they are
// of all graphs.
func (j *Join) Reset() {
	j.Batch.Clear()
	j.at, j.give, j.soft = 0, 0, 0
	j.Input.Reset()
}

// Close frees the hits.
func (j *Join) Close() {
	j.hits, j.places, j.finder, j.scored, j.scoredBytes = nil, nil, nil, nil, 0
	j.Free()
	j.Batch.Free()
	j.Input.Close()
}
