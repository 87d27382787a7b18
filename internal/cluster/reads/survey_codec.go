// Surveys as bytes; the package comment has the format.

package reads

import (
	"math"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// survey is the questions to one owner.
type survey struct {
	epoch     uint64
	filter    *filter // nil: all rows count
	limit     int64   // rows of a question that are counted
	questions []question
}

// question is about ranges; they must ascend and not overlap. Samples are only sent if the ranges
// have at least least rows.
type question struct {
	places int
	least  int
	ranges []triple.Range
}

// Limits of a survey.
const (
	maxQuestions = 1 << 10
	maxPlaces    = 64
)

func (q *survey) encode() []byte { return peer.Encode(64+160*len(q.questions), q.fields) }

// fields codes a survey. Decoded terms share memory with the message.
func (q *survey) fields(c *peer.Coder) {
	filtered := q.filter != nil
	c.Uvarint(&q.epoch)
	c.Bool(&filtered)
	peer.Number(c, &q.limit, math.MaxInt64)
	if filtered {
		codeFilter(c, &q.filter)
	}
	left, asked := decoded{ranges: maxRanges, bytes: maxDecodedBytes}, 0
	peer.List(c, &q.questions, 6, func(one *question, c *peer.Coder) { // places, least, and a range
		peer.Number(c, &one.places, math.MaxInt)
		peer.Number(c, &one.least, source.SampleLeast)
		codeRanges(c, &one.ranges, &left)
		if asked++; asked > maxQuestions || one.places > maxPlaces {
			c.Fail("more than %d questions, or %d places, not up to %d", maxQuestions, one.places, maxPlaces)
		}
	})
	if len(q.questions) == 0 {
		c.Fail("no questions")
	}
}

// codeFindings codes the answers to as many questions. Decoded samples share memory with the
// message.
func codeFindings(found []source.Finding) func(*peer.Coder) {
	return func(c *peer.Coder) {
		for i := range found {
			f := &found[i]
			c.Bool(&f.Exact)
			peer.Number(c, &f.Rows, maxRows)
			peer.List(c, &f.Samples, 2, func(s *source.Sample, c *peer.Coder) {
				c.Bytes(&s.Key)
				peer.Number(c, &s.Rows, maxRows)
				if c.Reading() {
					_, _, err := triple.SplitKey(s.Key)
					c.Check(err)
				}
			})
		}
	}
}

// maxRows is more rows than there are: a greater number is cut to it.
const maxRows = math.MaxInt32 << 16
