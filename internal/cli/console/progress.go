// The progress of a load: a bar on a terminal, plain lines elsewhere.

package console

import (
	"fmt"
	"io"
	"time"

	"github.com/cheggaaa/pb/v3"

	"github.com/trefoildb/trefoil/rdfload"
)

// Progress shows a load's progress. It must be called by one goroutine at a time.
type Progress interface {
	Show(rdfload.Progress)
	// End removes the display, because other lines may follow.
	End()
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
	if b.Width() <= 0 { // the terminal does not report its size
		b.SetWidth(80)
	}
	return &bar{pb: b.Start(), pace: pace{started: time.Now()}}
}

func (b *bar) Show(p rdfload.Progress) {
	share, text := b.pace.describe(time.Now(), p)
	b.pb.Set("phase", string(p.Phase))
	b.pb.Set("text", text)
	b.pb.SetCurrent(int64(max(share, 0) * barTotal))
}

func (b *bar) End() { b.pb.Finish() }

// lines writes a line when the phase changes, and at intervals within a phase.
type lines struct {
	w     io.Writer
	every time.Duration
	pace  pace

	last  time.Time
	phase rdfload.Phase
}

func (l *lines) Show(p rdfload.Progress) {
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

func (l *lines) End() {}

// pace measures the speed of a load.
type pace struct {
	started      time.Time
	phase        rdfload.Phase
	phaseStarted time.Time
}

// describe returns the completed share of the phase, -1 if it is unknown, and a text about it.
func (p *pace) describe(now time.Time, at rdfload.Progress) (share float64, text string) {
	// 1. A new phase begins.
	if at.Phase != p.phase {
		p.phase, p.phaseStarted = at.Phase, now
		if p.phase == rdfload.Reading {
			p.phaseStarted = p.started
		}
	}
	// 2. The share: of bytes if the phase reads files, or reported by the loader.
	share = -1
	switch at.Phase {
	case rdfload.Reading, SendPhase, ScanPhase:
		text = Size(at.Bytes)
		if at.TotalBytes > 0 {
			share = min(float64(at.Bytes)/float64(at.TotalBytes), 1)
			text += " of " + Size(at.TotalBytes)
		}
		if at.Phase == rdfload.Reading {
			text += fmt.Sprintf(", %s (%s/s)", Plural(at.Triples, "triple"), Number(Rate(at.Triples, now.Sub(p.started))))
		}
	default:
		text = Plural(at.Triples, "triple")
		if at.Done > 0 {
			share = min(at.Done, 1)
		}
	}
	// 3. Rejected statements, and the remaining time.
	if at.Rejected > 0 {
		text += fmt.Sprintf(", %s rejected", Number(at.Rejected))
	}
	if elapsed := now.Sub(p.phaseStarted); share > 0 && share < 1 && elapsed > 0 {
		text += ", " + Seconds(time.Duration(float64(elapsed)*(1-share)/share)) + " left"
	}
	return share, text
}

// SendPhase is the sending of a document to a server.
const SendPhase rdfload.Phase = "send"

// ScanPhase is the reading before a load.
const ScanPhase rdfload.Phase = "look through"
