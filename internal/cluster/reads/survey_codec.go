// Surveys as bytes; the package comment has the format.

package reads

import (
	"fmt"
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

func (q *survey) encode() []byte {
	e := peer.NewEncoder(64 + 160*len(q.questions))
	e.Uvarint(q.epoch)
	e.Bool(q.filter != nil)
	e.Uvarint(uint64(q.limit))
	if q.filter != nil {
		q.filter.encode(e)
	}
	e.Uvarint(uint64(len(q.questions)))
	for _, one := range q.questions {
		e.Uvarint(uint64(one.places))
		e.Uvarint(uint64(one.least))
		encodeRanges(e, one.ranges)
	}
	return e.Data()
}

// parseSurvey decodes a survey. The result shares memory with b.
func parseSurvey(b []byte) (*survey, error) {
	d := peer.NewDecoder(b)
	q := &survey{epoch: d.Uvarint()}
	filtered := d.Bool()
	q.limit = int64(min(d.Uvarint(), math.MaxInt64))
	if filtered {
		q.filter = parseFilter(d)
	}
	n := d.Count(6) // places, least, and a range
	if n == 0 || n > maxQuestions {
		return nil, fmt.Errorf("%w: %d questions, not 1 to %d", peer.ErrMessage, n, maxQuestions)
	}
	left := decoded{ranges: maxRanges, bytes: maxDecodedBytes}
	for range n {
		places, least := d.Uvarint(), d.Uvarint()
		ranges, err := parseRanges(d, &left)
		if err != nil {
			return nil, err
		}
		if places > maxPlaces {
			return nil, fmt.Errorf("%w: %d places, not up to %d", peer.ErrMessage, places, maxPlaces)
		}
		q.questions = append(q.questions, question{int(places), int(min(least, source.SampleLeast)), ranges})
	}
	return q, d.End()
}

func encodeFindings(found []source.Finding) []byte {
	e := peer.NewEncoder(32 * len(found))
	for _, f := range found {
		e.Bool(f.Exact)
		e.Uvarint(uint64(f.Rows))
		e.Uvarint(uint64(len(f.Samples)))
		for _, s := range f.Samples {
			e.Bytes(s.Key)
			e.Uvarint(uint64(s.Rows))
		}
	}
	return e.Data()
}

// parseFindings decodes the answers to questions. Samples share memory with b.
func parseFindings(b []byte, asked []question) ([]source.Finding, error) {
	d := peer.NewDecoder(b)
	found := make([]source.Finding, len(asked))
	for i := range found {
		f := &found[i]
		f.Exact, f.Rows = d.Bool(), number(d)
		for range d.Count(2) {
			s := source.Sample{Key: d.Bytes(), Rows: number(d)}
			if _, _, err := triple.SplitKey(s.Key); err != nil && d.Err() == nil {
				return nil, fmt.Errorf("%w: a sample: %w", peer.ErrMessage, err)
			}
			f.Samples = append(f.Samples, s)
		}
	}
	return found, d.End()
}

// number decodes a number of rows.
func number(d *peer.Decoder) int64 { return int64(min(d.Uvarint(), math.MaxInt32<<16)) }
