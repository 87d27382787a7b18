// OFFSET over all triples: the scan begins behind most of what is to be skipped.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/triple"
)

// minSkip is the least offset for which the columns are asked.
const minSkip = 1000

// skip returns the subject at which a scan of all triples may begin for an offset, in its key form, and
// what is left of the offset. The order of the rows is that of a scan from the beginning. from is nil if
// n is not a projection of one pattern of three variables, or the columns do not know all triples.
func (c *compiler) skip(n algebra.Node, offset int64, g pattern.Graphs) (from []byte, left int64) {
	project, ok := n.(*algebra.Project)
	if !ok || offset < minSkip {
		return nil, offset
	}
	l, ok := c.lonePattern(project.Input, g)
	if !ok {
		return nil, offset
	}
	predicates, rows, ok := l.everything()
	if !ok || len(predicates) > maxListed || rows == 0 {
		return nil, offset
	}
	number, before, ok := c.columns.SubjectAt(int(min(offset, int64(rows))))
	if !ok {
		return nil, offset
	}
	return c.columns.Dictionary().Append(nil, number), offset - int64(before)
}

// restrictedTo returns the restrictions of a pattern whose scan begins at a subject.
func restrictedTo(p algebra.TriplePattern, from []byte) map[int]pattern.Restriction {
	_, end := triple.NodeSpan()
	return map[int]pattern.Restriction{p.Subject.Slot: {Spans: []pattern.Span{{Lo: from, Hi: end}}}}
}
