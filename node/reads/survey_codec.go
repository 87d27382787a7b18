// Surveys as bytes (drawn in the package comment).

package reads

import (
	"fmt"
	"math"

	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/triple"
)

// survey is what an owner is asked.
type survey struct {
	epoch     uint64
	filter    *filter // nil: all rows count
	limit     int64   // rows of a question that are counted
	questions []question
}

// question is about ranges, which ascend and do not overlap. Samples are sent where
// they have so many rows at least.
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

// parseSurvey reads a survey; it shares memory with b.
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
		q.questions = append(q.questions, question{int(places), int(min(least, exec.SampleLeast)), ranges})
	}
	return q, d.End()
}

func encodeFindings(found []exec.Finding) []byte {
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

// parseFindings reads the answers to questions; samples share memory with b.
func parseFindings(b []byte, asked []question) ([]exec.Finding, error) {
	d := peer.NewDecoder(b)
	found := make([]exec.Finding, len(asked))
	for i := range found {
		f := &found[i]
		f.Exact, f.Rows = d.Bool(), number(d)
		for range d.Count(2) {
			s := exec.Sample{Key: d.Bytes(), Rows: number(d)}
			if _, _, err := triple.SplitKey(s.Key); err != nil && d.Err() == nil {
				return nil, fmt.Errorf("%w: a sample: %w", peer.ErrMessage, err)
			}
			f.Samples = append(f.Samples, s)
		}
	}
	return found, d.End()
}

// number reads a number of rows.
func number(d *peer.Decoder) int64 { return int64(min(d.Uvarint(), math.MaxInt32<<16)) }
