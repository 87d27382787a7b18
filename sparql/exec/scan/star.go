// The join with several patterns of one subject.

package scan

import (
	"errors"

	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
)

// Star joins its input with patterns of one subject. All patterns are read in one pass,
// because rows of a subject lie close together. Each row is multiplied with the matches of its
// subject.
type Star struct {
	Exec    *exec.Execution
	Input   exec.Operator
	Plan    *explain.Plan
	Subject int // slot
	Parts   []StarPart
	Alone   bool // no variable of the patterns but the subject is bound before

	Batch *solution.Batch
	more  *solution.Batch // of [fill]
	at    int             // the next row of input to look up
	Chunk int
	Finder
	refs []int32 // of the rows of the chunk: the first of its ranges in the finder
	row  int     // of the input, to be given next
	ref  int
	Pick []int
	busy bool // row is not given to its end
}

// StarPart is a pattern of a star. Ranges of parts of one group do not overlap.
type StarPart struct {
	Reader pattern.Reader
	Access *pattern.Access
	Group  uint8
}

func (s *Star) Next(out *solution.Batch) error {
	for {
		if err := s.Exec.Check(); err != nil {
			return err
		}
		switch {
		case s.ref < len(s.refs):
			s.emit(out)
		case s.at < s.Batch.Len:
			if err := s.lookUp(); err != nil {
				return err
			}
		default:
			s.at = 0
			if err := fill(s.Input, s.Batch, &s.more, s.Chunk); err != nil || s.Batch.Len == 0 {
				return err
			}
		}
		if out.Full() || out.Len > 0 && s.ref >= len(s.refs) {
			return nil
		}
	}
}

// lookUp looks up the next chunk of the input.
func (s *Star) lookUp() error {
	n := min(s.Chunk, s.Batch.Len-s.at)
	for {
		// 1. Request all patterns of each row. If nothing else is bound, rows of one subject
		// share the answer.
		s.Finder.clear()
		s.refs, s.ref, s.row = s.refs[:0], 0, s.at
		for i := s.at; i < s.at+n; i++ {
			row := s.Batch.Row(i)
			if s.Alone && i > s.at && row[s.Subject] == s.Batch.Row(i - 1)[s.Subject] {
				s.refs = append(s.refs, s.refs[len(s.refs)-1])
				continue
			}
			s.refs = append(s.refs, int32(len(s.requests)))
			for k := range s.Parts {
				part := &s.Parts[k]
				s.request(&part.Reader, part.Access, row, part.Group)
			}
		}
		// 2. Find them. If they have too many matches, a smaller chunk is tried.
		err := s.find(s.Exec, s.Plan, n > 1)
		if errors.Is(err, errOverflow) {
			s.drop()
			n = max(1, n/4)
			s.Chunk = n
			continue
		}
		if err != nil {
			s.refs = s.refs[:0]
			return err
		}
		// 3. Chunks grow while they find little.
		s.at += n
		if len(s.found) < maxFound/4 && s.Chunk < exec.LastChunkRows {
			s.Chunk *= 2
		}
		return nil
	}
}

// emit gives the rows of the chunk, until out is full.
func (s *Star) emit(out *solution.Batch) {
	for s.ref < len(s.refs) {
		if !s.busy && !s.begin() {
			s.row++
			s.ref++
			continue
		}
		for s.busy {
			if out.Full() {
				return
			}
			s.multiply(out)
		}
		s.row++
		s.ref++
	}
}

// begin reports whether every pattern has something for the row.
func (s *Star) begin() bool {
	first := int(s.refs[s.ref])
	for k := range s.Parts {
		if len(s.matches(first+k)) == 0 {
			return false
		}
	}
	clear(s.Pick)
	s.busy = true
	return true
}

// multiply gives one row, and moves on to the next.
func (s *Star) multiply(out *solution.Batch) {
	first := int(s.refs[s.ref])
	row := out.Add(s.Batch.Row(s.row), s.Batch.Origin[s.row])
	for k := range s.Parts {
		part := &s.Parts[k]
		found := &s.matches(first + k)[s.Pick[k]]
		for _, position := range part.Access.Free {
			row[part.Reader.Pattern.Places[position].Slot] = found[position]
			out.AddWeight(found[position])
		}
	}
	for k := len(s.Parts) - 1; k >= 0; k-- {
		if s.Pick[k]++; s.Pick[k] < len(s.matches(first+k)) {
			return
		}
		s.Pick[k] = 0
	}
	s.busy = false
}

func (s *Star) Reset() {
	s.refs, s.ref, s.at, s.busy = s.refs[:0], 0, 0, false
	s.Batch.Clear()
	s.Input.Reset()
}

func (s *Star) Close() { s.drop(); s.Input.Close() }
