// The join of rows with the pages and results of a function.

package linkcall

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// Join joins its input with the solutions of a function that ranks nothing, in the order of the input.
//
// A row that leaves the page unbound, or binds it to what is no page, has no solution. Only PageRank then
// has all pages, the best first.
type Join struct {
	Exec  *exec.Execution
	Input exec.Operator
	Call  *algebra.LinkCall
	// Reverse: a distance is searched from the other page, against the links.
	Reverse bool
	// Goal is about the number of rows that the query needs; 0 if it is not known.
	Goal int64
	memory.Holder

	Batch *solution.Batch
	chunk int // rows of the next chunk
	at    int // the row to join
	end   int // of the chunk
	give  int // of the row's solutions

	of   *answers // of the chunk, and of some before it
	best *best    // of all rows; nil until a row needs it
	soft int      // rows of the next batch of best pages
}

// Sizes of chunks, in rows. A chunk is one search for distances, so it must not be large.
const (
	firstChunk = 16
	lastChunk  = 256
	// keptBytes of answers are kept for the next chunks, and up to a part of the limit if they suffice.
	keptBytes = 1 << 20
	keptPart  = 4
)

func (j *Join) Next(out *solution.Batch) error {
	for {
		if err := j.Exec.Check(); err != nil {
			return err
		}
		switch {
		case j.at < j.end:
			if err := j.join(out); err != nil {
				return err
			}
		case j.end < j.Batch.Len:
			if err := j.begin(); err != nil {
				return err
			}
		default:
			j.Batch.Clear()
			j.at, j.end = 0, 0
			if err := j.Input.Next(j.Batch); err != nil || j.Batch.Len == 0 {
				return err
			}
		}
		// Return after each chunk, because a LIMIT above may want no more.
		if out.Full() || out.Len > 0 && (j.at >= j.end || j.best != nil) {
			return nil
		}
	}
}

// begin queries the graph for the next chunk of rows.
func (j *Join) begin() error {
	j.chunk = min(max(2*j.chunk, firstChunk), lastChunk)
	j.end = min(j.at+j.chunk, j.Batch.Len)
	j.give = 0
	// 1. Answers about other pages are kept while they are few, or if they suffice: a search from one page may
	// serve all rows.
	if j.Held > j.Account.Limit/keptPart || j.Held > keptBytes && !j.isAnswered() {
		j.drop()
	}
	if j.of == nil {
		j.of = newAnswers(j)
	}
	// 2. Query the chunk.
	for i := j.at; i < j.end; i++ {
		start, other := j.ends(j.Batch.Row(i))
		if err := j.of.addRow(start, other); err != nil {
			return failed(j.Call, err)
		}
	}
	if err := j.of.find(); err != nil {
		return failed(j.Call, err)
	}
	return nil
}

// isAnswered reports whether the answers have all starts of the chunk.
func (j *Join) isAnswered() bool {
	for i := j.at; i < j.end; i++ {
		start, _ := j.ends(j.Batch.Row(i))
		if start != "" && !j.of.starts[start] {
			return false
		}
	}
	return true
}

// failed returns an error of a function with its place in the text.
func failed(call *algebra.LinkCall, err error) error {
	return fmt.Errorf("%s at %s: %w", call.Function, call.Pos, err)
}

// ends returns the bindings of the page that the function starts from, and of the other one. Both may be "".
func (j *Join) ends(row []string) (start, other string) {
	start = bound(j.Call.Page, row)
	if ofPages(j.Call.Function) {
		other = bound(j.Call.Results[0], row)
	}
	if j.Reverse {
		return other, start
	}
	return start, other
}

// ofPages reports whether the first result of a function is a page.
func ofPages(f ast.LinkFunction) bool {
	return f == ast.LinkDistance || f == ast.LinkSample || f == ast.LinkSampleBackward
}

// bound returns the binding of a place, "" if it is unbound.
func bound(at algebra.VarOrTerm, row []string) string {
	if at.IsVar() {
		return row[at.Slot]
	}
	return solution.Encode(at.Term)
}

// join gives the solutions of the chunk's rows.
func (j *Join) join(out *solution.Batch) error {
	for ; j.at < j.end; j.at++ {
		row := j.Batch.Row(j.at)
		start, other := j.ends(row)
		// 1. Every page, if the row has none. They are read as they are needed.
		if start == "" && j.Call.Function == ast.LinkPageRank {
			if more, err := j.joinBest(out, row); err != nil || more {
				return err
			}
			continue
		}
		// 2. Otherwise the solutions of the row's page.
		for ; ; j.give++ {
			if out.Full() {
				return nil
			}
			found, ok := j.of.solution(start, other, j.give)
			if !ok {
				break
			}
			if err := j.put(out, row, found); err != nil {
				return err
			}
		}
		j.give = 0
	}
	return nil
}

// joinBest joins a row with all pages, and reports whether more of them are left.
func (j *Join) joinBest(out *solution.Batch, row []string) (more bool, err error) {
	if j.best == nil {
		j.best = &best{exec: j.Exec, most: j.Goal, holder: j.Account.NewHolder(j.Name)}
		j.soft = max(int(min(j.Goal, solution.BatchRows)), firstChunk)
	}
	// Few rows are given at first, because the caller may need no more.
	most := out.Len + j.soft
	j.soft = min(2*j.soft, solution.BatchRows)
	for !out.Full() && out.Len < most {
		page, ok, err := j.best.solutionAt(j.give)
		if err != nil {
			return false, failed(j.Call, err)
		}
		if !ok {
			j.give = 0
			return false, nil
		}
		j.give++
		if err := j.put(out, row, page); err != nil {
			return false, err
		}
	}
	return true, nil
}

// put adds a row with the bindings of a solution, unless the row has others.
func (j *Join) put(out *solution.Batch, row []string, found found) error {
	if found.first == "" || found.start == "" {
		return nil // the page has gone
	}
	next := out.Add(row, j.Batch.Origin[j.at])
	places := j.Call.Places()
	values := [3]string{found.start, found.first, found.second}
	if j.Reverse {
		values[0], values[1] = values[1], values[0]
	}
	for i, at := range places {
		if at.IsVar() && next[at.Slot] == "" {
			next[at.Slot] = values[i]
			out.AddWeight(values[i])
		}
		if bound(at, next) != values[i] {
			out.DropLast()
			return nil
		}
	}
	return j.Exec.Tick()
}

// drop frees the answers of a chunk.
func (j *Join) drop() {
	j.of = nil
	j.Free()
}

func (j *Join) stop() {
	j.drop()
	j.Batch.Clear()
	j.at, j.end, j.give, j.chunk = 0, 0, 0, 0
	if j.best != nil {
		j.best.holder.Free()
		j.best = nil
	}
}

func (j *Join) Reset() { j.stop(); j.Input.Reset() }
func (j *Join) Close() { j.stop(); j.Batch.Free(); j.Input.Close() }
