// Surveys: estimates and samples of many ranges, one message to each owner. The package comment has its format.

package reads

import (
	"context"
	"math"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Limits of exact counts; beyond them an estimate is used. The first is for a SPARQL plan,
// because it needs dozens of estimates; the second is for a user.
const (
	exactPlanRows = 100
	exactRows     = 1000
)

// surveyPieces bounds the pieces of one range in a survey. The other pieces, and those of down
// owners, are assumed to have the same number of rows for each segment.
const surveyPieces = 64

// Survey answers the questions of a plan: one message to each owner, all at the
// same time.
func (s sparqlSource) Survey(ctx context.Context, questions []source.Question) ([]source.Finding, error) {
	return s.snapshot.survey(ctx, questions, nil, exactPlanRows)
}

// survey answers questions about the rows in a filter. Up to most rows are counted. It sends up
// to maxQuestions questions at a time.
func (sn *Snapshot) survey(ctx context.Context, questions []source.Question, f *filter, most int64) ([]source.Finding, error) {
	if err := sn.begin(ctx); err != nil {
		return nil, err
	}
	var all []source.Finding
	for len(questions) > 0 {
		some := questions[:min(len(questions), maxQuestions)]
		questions = questions[len(some):]
		found, err := sn.surveySome(ctx, some, f, most)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, ctx.Err()
}

// surveySome retries until all owners have answered under one view.
func (sn *Snapshot) surveySome(ctx context.Context, questions []source.Question, f *filter, most int64) ([]source.Finding, error) {
	t, ctx := sn.retries(ctx)
	for {
		v, err := sn.plannable(questions[0].Range)
		for i := 1; i < len(questions) && err == nil; i++ {
			err = sn.newAttempt(v).readable(questions[i].Range)
		}
		if err == nil {
			p := newPoll(v, questions)
			err = turns.Wait(ctx, func() error { return p.send(turns.Detach(ctx), sn.reads, f, most) })
			if err == nil {
				return p.findings(questions), nil
			}
		}
		if v == nil {
			return nil, err
		}
		if err := t.wait(ctx, v, err); err != nil {
			return nil, err
		}
	}
}

// poll is a survey under one view.
type poll struct {
	view   *view.View
	owners []*ownerPoll
	// By question: the segments of pieces in the survey, and all segments.
	surveyed, segments []int64
}

// ownerPoll is the questions to one owner, and its findings.
type ownerPoll struct {
	machine   trie.MachineID
	questions []question
	index     []int // of the questions, in those of the survey
	findings  []source.Finding
	err       error
}

func newPoll(v *view.View, questions []source.Question) *poll {
	p := &poll{view: v, surveyed: make([]int64, len(questions)), segments: make([]int64, len(questions))}
	// 1. For each question, take every stride-th piece if its owner lives, because a survey asks about
	// surveyPieces pieces at most.
	byMachine := map[trie.MachineID]*ownerPoll{}
	for i, one := range questions {
		if one.Range.Empty() {
			continue
		}
		all := pieces(v.Joint(), one.Range)
		stride := (len(all) + surveyPieces - 1) / surveyPieces
		for n, piece := range all {
			segments := int64(0)
			for range v.Joint().Reads().Trie.Range(piece.Lo, piece.Hi) {
				segments++
			}
			p.segments[i] += segments
			if !piece.live || n%stride != 0 {
				continue
			}
			p.surveyed[i] += segments
			// 2. Add the piece to the message for its owner: one question there for each question
			// here.
			o := byMachine[piece.owner]
			if o == nil {
				o = &ownerPoll{machine: piece.owner}
				byMachine[piece.owner] = o
				p.owners = append(p.owners, o)
			}
			if last := len(o.index) - 1; last < 0 || o.index[last] != i {
				o.index = append(o.index, i)
				o.questions = append(o.questions, question{places: one.Places})
			}
			q := &o.questions[len(o.questions)-1]
			q.ranges = append(q.ranges, piece.Range)
		}
	}
	// 3. Divide the samples among the owners.
	p.share(len(questions))
	return p
}

// share divides the least rows for samples among the owners. If all together have them, at least
// one owner sends samples.
func (p *poll) share(questions int) {
	owners := make([]int, questions)
	for _, o := range p.owners {
		for _, i := range o.index {
			owners[i]++
		}
	}
	for _, o := range p.owners {
		for n, i := range o.index {
			o.questions[n].least = source.SampleLeast / owners[i]
		}
	}
}

// send sends the questions to all owners at the same time. If several fail, it returns a lasting error
// if there is any.
func (p *poll) send(ctx context.Context, r *Reads, f *filter, most int64) (err error) {
	var wait sync.WaitGroup
	for i, o := range p.owners {
		do := func() { o.findings, o.err = r.surveyOf(ctx, p.view, o, &survey{p.view.Epoch, f, most, o.questions}) }
		if i == len(p.owners)-1 {
			do()
			break
		}
		wait.Go(do)
	}
	wait.Wait()
	for _, o := range p.owners {
		if o.err != nil && (err == nil || retryable(err)) {
			err = o.err
		}
	}
	return err
}

// surveyOf returns the findings of one owner.
func (r *Reads) surveyOf(ctx context.Context, under *view.View, o *ownerPoll, q *survey) ([]source.Finding, error) {
	if o.machine == r.self {
		return r.surveyLocal(ctx, q)
	}
	answer, err := r.call(ctx, under, o.machine, methodSurvey, q.encode())
	if err != nil {
		return nil, err
	}
	found := make([]source.Finding, len(q.questions))
	if err := peer.Decode(answer, codeFindings(found)); err != nil {
		return nil, &remoteError{o.machine, err}
	}
	return found, nil
}

// findings adds up the findings of the owners.
func (p *poll) findings(questions []source.Question) []source.Finding {
	all := make([]source.Finding, len(questions))
	// 1. Sum the owners' rows. The result is exact only if all segments are in the survey and all
	// owners counted.
	for i := range all {
		all[i].Exact = p.surveyed[i] == p.segments[i]
	}
	for _, o := range p.owners {
		for n, f := range o.findings {
			to := &all[o.index[n]]
			to.Rows += f.Rows
			to.Exact = to.Exact && f.Exact
			to.Samples = append(to.Samples, f.Samples...)
		}
	}
	// 2. Assume as many rows in each other segment.
	for i := range all {
		f := &all[i]
		if missing := p.segments[i] - p.surveyed[i]; missing > 0 && p.surveyed[i] > 0 {
			f.Rows += int64(float64(f.Rows) * float64(missing) / float64(p.surveyed[i]))
		}
		// An estimate must not be 0, because 0 would mean an empty pattern.
		if !f.Exact {
			f.Rows = max(f.Rows, 1)
		}
		if f.Rows < source.SampleLeast {
			f.Samples = nil
		}
		f.Samples = spread(f.Samples, questions[i].Places)
	}
	return all
}

// spread returns n of the samples at equal distances, or all if there are fewer.
func spread(samples []source.Sample, n int) []source.Sample {
	if len(samples) <= n {
		return samples
	}
	some := make([]source.Sample, n)
	for i := range some {
		some[i] = samples[i*len(samples)/n]
	}
	return some
}

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
