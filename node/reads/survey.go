// Surveys: about how many rows ranges have, and samples of them, asked of all
// owners at the same time.

package reads

import (
	"context"
	"errors"
	"sync"

	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/turns"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Up to how many rows an estimate is a count: for a plan of SPARQL, which asks for
// dozens, and for one that is shown.
const (
	exactPlanRows = 100
	exactRows     = 1000
)

// surveyPieces is how many pieces of one range are asked about at most. The others,
// and what dead machines had, are taken to have as much, segment by segment.
const surveyPieces = 64

// Survey answers the questions of a plan: one message to each owner, all at the
// same time.
func (s source) Survey(ctx context.Context, asked []exec.Question) ([]exec.Finding, error) {
	return s.snapshot.survey(ctx, asked, nil, exactPlanRows)
}

// survey answers questions about the rows that pass a filter. Up to so many rows
// are counted. It answers by some thousand questions at a time.
func (sn *Snapshot) survey(ctx context.Context, asked []exec.Question, f *filter, most int64) ([]exec.Finding, error) {
	if err := sn.begin(ctx); err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, 2*sn.reads.options.Patience)
	defer cancel()
	var all []exec.Finding
	for len(asked) > 0 {
		some := asked[:min(len(asked), maxQuestions)]
		asked = asked[len(some):]
		found, err := sn.surveySome(wait, some, f, most)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, ctx.Err()
}

// surveySome tries until all owners have answered under one view.
func (sn *Snapshot) surveySome(ctx context.Context, asked []exec.Question, f *filter, most int64) ([]exec.Finding, error) {
	t := trial{reads: sn.reads}
	for {
		v, err := sn.plannable(asked[0].Range)
		for i := 1; i < len(asked) && err == nil; i++ {
			err = sn.readable(v, asked[i].Range)
		}
		if err == nil {
			p := newPoll(v, asked)
			err = turns.Wait(ctx, func() error { return p.ask(turns.Detach(ctx), sn.reads, f, most) })
			if err == nil {
				return p.findings(asked), nil
			}
		}
		if v == nil {
			return nil, err
		}
		if err := t.again(ctx, v, err); err != nil {
			return nil, err
		}
	}
}

// poll is a survey under one view.
type poll struct {
	view   *view.View
	owners []*polled
	// By question: segments of which somebody was asked, and all.
	told, segments []int64
}

// polled is what one owner is asked, and what it says.
type polled struct {
	machine   trie.MachineID
	questions []question
	index     []int // of the questions, in those of the survey
	findings  []exec.Finding
	err       error
}

func newPoll(v *view.View, asked []exec.Question) *poll {
	p := &poll{view: v, told: make([]int64, len(asked)), segments: make([]int64, len(asked))}
	byMachine := map[trie.MachineID]*polled{}
	for i, one := range asked {
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
			p.told[i] += segments
			o := byMachine[piece.owner]
			if o == nil {
				o = &polled{machine: piece.owner}
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
	p.share(len(asked))
	return p
}

// share makes owners send samples of their share of what is worth a sample: one of
// them at least does, where all together have that.
func (p *poll) share(questions int) {
	owners := make([]int, questions)
	for _, o := range p.owners {
		for _, i := range o.index {
			owners[i]++
		}
	}
	for _, o := range p.owners {
		for n, i := range o.index {
			o.questions[n].least = exec.SampleLeast / owners[i]
		}
	}
}

// ask asks all owners at the same time. The error is one that will not pass, if
// there is such.
func (p *poll) ask(ctx context.Context, r *Reads, f *filter, most int64) (err error) {
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
		if o.err != nil && (err == nil || passing(err)) {
			err = o.err
		}
	}
	return err
}

// surveyOf asks one owner.
func (r *Reads) surveyOf(ctx context.Context, under *view.View, o *polled, q *survey) ([]exec.Finding, error) {
	if o.machine == r.cluster.Self() {
		return r.surveyHere(ctx, q)
	}
	answer, err := r.call(ctx, under, o.machine, methodSurvey, q.encode())
	if err != nil {
		return nil, err
	}
	found, err := parseFindings(answer, q.questions)
	if err != nil {
		return nil, &remoteError{o.machine, err}
	}
	return found, nil
}

// findings adds up what the owners say.
func (p *poll) findings(asked []exec.Question) []exec.Finding {
	all := make([]exec.Finding, len(asked))
	for i := range all {
		all[i].Exact = p.told[i] == p.segments[i]
	}
	for _, o := range p.owners {
		for n, f := range o.findings {
			to := &all[o.index[n]]
			to.Rows += f.Rows
			to.Exact = to.Exact && f.Exact
			to.Samples = append(to.Samples, f.Samples...)
		}
	}
	for i := range all {
		f := &all[i]
		if missing := p.segments[i] - p.told[i]; missing > 0 && p.told[i] > 0 {
			f.Rows += int64(float64(f.Rows) * float64(missing) / float64(p.told[i]))
		}
		if !f.Exact {
			f.Rows = max(f.Rows, 1)
		}
		if f.Rows < exec.SampleLeast {
			f.Samples = nil
		}
		f.Samples = spread(f.Samples, asked[i].Places)
	}
	return all
}

// spread leaves n of some samples, or all.
func spread(samples []exec.Sample, n int) []exec.Sample {
	if len(samples) <= n {
		return samples
	}
	some := make([]exec.Sample, n)
	for i := range some {
		some[i] = samples[i*len(samples)/n]
	}
	return some
}

// serveSurvey answers reads/survey.
func (r *Reads) serveSurvey(ctx context.Context, _ peer.Header, body []byte) (answer []byte, err error) {
	q, err := parseSurvey(body)
	if err != nil {
		return nil, refuse(peer.CodeStranger, 0, err.Error())
	}
	err = r.guard(ctx, q.epoch, func(ctx context.Context) error {
		found, err := r.surveyHere(ctx, q)
		answer = encodeFindings(found)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// surveyHere answers an owner's questions by its own store.
func (r *Reads) surveyHere(ctx context.Context, q *survey) (found []exec.Finding, err error) {
	var all []triple.Range
	for _, one := range q.questions {
		all = append(all, one.ranges...)
	}
	h, err := r.hold(ctx, q.epoch, all, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	for _, one := range q.questions {
		f, err := h.answer(ctx, q, one)
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	return found, h.check()
}

// answer answers one question.
func (h *held) answer(ctx context.Context, q *survey, one question) (f exec.Finding, err error) {
	if q.filter == nil && q.limit <= exactPlanRows {
		f, err = h.glance(ctx, one.ranges)
	} else {
		f.Rows, f.Exact, err = h.estimate(ctx, &request{filter: q.filter, limit: q.limit, ranges: one.ranges})
	}
	if err != nil || one.places == 0 || f.Rows < int64(one.least) {
		return f, err
	}
	// Of many pieces some: each is a few seeks.
	stride := (len(one.ranges) + one.places - 1) / one.places
	places := max(1, one.places*stride/len(one.ranges))
	for first := range stride { // the pieces between them, where those have no rows
		for i := first; i < len(one.ranges); i += stride {
			some, err := exec.SampleRange(ctx, h.snapshot.Source(), one.ranges[i], places)
			if err != nil {
				return f, err
			}
			f.Samples = append(f.Samples, some...)
		}
		if len(f.Samples) > 0 {
			break
		}
	}
	return f, nil
}

// glance estimates for a plan: it counts less than estimate before it trusts what
// tables say.
func (h *held) glance(ctx context.Context, ranges []triple.Range) (f exec.Finding, err error) {
	f.Exact = true
	for _, r := range ranges {
		rows, exact, err := h.snapshot.Source().Estimate(ctx, r)
		if err != nil {
			return f, err
		}
		f.Rows += rows
		f.Exact = f.Exact && exact
	}
	f.Exact = f.Exact && len(h.unsettled(ranges)) == 0
	return f, nil
}
