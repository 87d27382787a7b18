package cli

// This file shows how far a load is: as a bar on a terminal, as plain lines
// elsewhere.

import (
	"fmt"
	"io"
	"time"

	"github.com/cheggaaa/pb/v3"

	"github.com/trefoildb/trefoil/rdfload"
)

// progress shows a load's progress. Its methods are called by one goroutine at a
// time.
type progress interface {
	show(rdfload.Progress)
	// end takes the display away, so that other lines can follow.
	end()
}

// bar is a line that redraws itself.
type bar struct {
	pb   *pb.ProgressBar
	pace pace
}

// barTotal is 100% of a bar.
const barTotal = 10_000

const barTemplate pb.ProgressBarTemplate = `{{string . "phase"}} {{bar . "[" "=" ">" " " "]"}} {{percent . "%.0f%%"}} {{string . "text"}}`

func newBar(w io.Writer) *bar {
	b := pb.New64(barTotal)
	b.SetTemplate(barTemplate)
	b.SetWriter(w)
	b.SetRefreshRate(200 * time.Millisecond)
	b.Set(pb.Terminal, true)
	b.Set(pb.CleanOnFinish, true)
	b.Set("phase", string(rdfload.Reading))
	if b.Width() <= 0 { // a terminal that does not tell its size
		b.SetWidth(80)
	}
	return &bar{pb: b.Start(), pace: pace{started: time.Now()}}
}

func (b *bar) show(p rdfload.Progress) {
	share, text := b.pace.describe(time.Now(), p)
	b.pb.Set("phase", string(p.Phase))
	b.pb.Set("text", text)
	b.pb.SetCurrent(int64(max(share, 0) * barTotal))
}

func (b *bar) end() { b.pb.Finish() }

// lines writes a line where the phase changes, and every so often within one.
type lines struct {
	w     io.Writer
	every time.Duration
	pace  pace

	last  time.Time
	phase rdfload.Phase
}

func (l *lines) show(p rdfload.Progress) {
	now := time.Now()
	share, text := l.pace.describe(now, p)
	if p.Phase == l.phase && now.Sub(l.last) < l.every {
		return
	}
	l.phase, l.last = p.Phase, now
	percent := ""
	if share >= 0 {
		percent = fmt.Sprintf(" %d%%", int(share*100))
	}
	fmt.Fprintf(l.w, "trefoil: %s%s: %s\n", p.Phase, percent, text)
}

func (l *lines) end() {}

// pace knows how fast a load goes.
type pace struct {
	started      time.Time
	phase        rdfload.Phase
	phaseStarted time.Time
}

// describe returns the share of the phase that is done, -1 where it is not known,
// and what there is to say.
func (p *pace) describe(now time.Time, at rdfload.Progress) (share float64, text string) {
	if at.Phase != p.phase {
		p.phase, p.phaseStarted = at.Phase, now
		if p.phase == rdfload.Reading {
			p.phaseStarted = p.started
		}
	}
	share = -1
	switch at.Phase {
	case rdfload.Reading, sendPhase, scanPhase:
		text = size(at.Bytes)
		if at.TotalBytes > 0 {
			share = min(float64(at.Bytes)/float64(at.TotalBytes), 1)
			text += " of " + size(at.TotalBytes)
		}
		if at.Phase == rdfload.Reading {
			text += fmt.Sprintf(", %s (%s/s)", plural(at.Triples, "triple"), number(rate(at.Triples, now.Sub(p.started))))
		}
	default:
		text = plural(at.Triples, "triple")
		if at.Done > 0 {
			share = min(at.Done, 1)
		}
	}
	if at.Rejected > 0 {
		text += fmt.Sprintf(", %s rejected", number(at.Rejected))
	}
	if elapsed := now.Sub(p.phaseStarted); share > 0 && share < 1 && elapsed > 0 {
		text += ", " + seconds(time.Duration(float64(elapsed)*(1-share)/share)) + " left"
	}
	return share, text
}
