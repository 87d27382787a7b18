package cli

// This file is load --to: documents are sent to a server's /load, one request
// each, and each is a load of its own.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
)

// maxRejects is how many rejected statements a server names.
const maxRejects = 100_000

func (c *loadCmd) send(e *env, sources []input.Source) error {
	r, err := c.connect(e)
	if err != nil {
		return err
	}
	defer r.Close()
	var total rdfload.Summary
	return c.withRejects(func(rejects io.Writer) error {
		for i, source := range sources {
			s, err := c.sendOne(e, r.client, source)
			if err == nil && rejects != nil {
				err = writeRejects(rejects, source, s)
			}
			if err != nil {
				return c.explainSent(err, source, i)
			}
			addSummary(&total, s)
		}
		return c.report(e, total)
	})
}

// sendOne loads one document through the server.
func (c *loadCmd) sendOne(e *env, to *client.Client, source input.Source) (none client.LoadSummary, err error) {
	in, err := e.open(source)
	if err != nil {
		return none, err
	}
	defer in.Close()
	s, err := c.syntax()
	if err == nil && s == 0 {
		s, err = in.Syntax(source.Name)
	}
	if err != nil {
		return none, err
	}
	o := client.LoadOptions{ContentType: s.MediaType(), Base: c.Base, KeepGoing: c.KeepGoing,
		MemoryBytes: int64(c.Memory), MaxLineBytes: int64(c.MaxLine)}
	if c.Rejects != "" {
		o.Rejects = maxRejects
	}
	if o.Graph, err = c.graph(); err != nil {
		return none, err
	}
	body := &sending{in: in, total: source.Size, display: newProgress(e.stderr)}
	defer body.end()
	return to.Load(e.ctx, body, o)
}

// sending is a document on its way to the server. It shows how far it is.
type sending struct {
	in    *input.Reader
	total int64 // bytes as stored; -1 where it is not known

	mu      sync.Mutex // the transport may still read when the load has ended
	display progress
	shown   time.Time
	ended   bool
}

const sendPhase rdfload.Phase = "send"

func (s *sending) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); !s.ended && (now.Sub(s.shown) > 100*time.Millisecond || err != nil) {
		s.shown = now
		s.display.show(rdfload.Progress{Phase: sendPhase, Bytes: s.in.BytesIn(), TotalBytes: max(s.total, 0)})
	}
	return n, err
}

func (s *sending) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.display.end()
}

// explainSent names the document that an error is about, and says what is done.
func (c *loadCmd) explainSent(err error, source input.Source, before int) error {
	var answer *client.Error
	known := errors.As(err, &answer)
	state := "Nothing of this document is in the store."
	switch {
	case errors.Is(err, client.ErrUnknownOutcome), errors.Is(err, io.ErrUnexpectedEOF):
		state = "Whether this document is in the store is not known: trefoil count tells."
	case known && answer.Done > 0:
		state = plural(answer.Done, "new triple") + " of this document were added before. To add the rest, load it again; its blank nodes then become other ones."
	case errors.Is(err, context.Canceled):
		state = "Nothing of this document is kept, unless the server had all of it: trefoil count tells."
	case errors.Is(err, syscall.ECONNREFUSED):
		state += " No server answers there: start one with trefoil serve, and load when it says that it is serving."
	}
	if before > 0 {
		state += fmt.Sprintf(" The %s before it in the list %s.", plural(int64(before), "document"), map[bool]string{true: "is", false: "are"}[before == 1])
	}
	if known && errors.Is(err, client.ErrSyntax) {
		if !c.KeepGoing {
			state += " --keep-going loads the rest, --rejects F writes down what it leaves out."
		}
		return hinted{placedError{place(answer.Where, source) + ": " + answer.Message}, state}
	}
	return hinted{fmt.Errorf("%s: %w", source.Name, err), state}
}

// placedError is a message that begins with its place, as a SyntaxError's does.
type placedError struct{ text string }

func (p placedError) Error() string { return p.text }

// place puts the document's name in a place that the server calls body:line:column.
func place(where string, source input.Source) string {
	_, rest, _ := strings.Cut(where, ":")
	return source.Name + ":" + rest
}

// writeRejects writes what the server left out, as rdfload does.
func writeRejects(w io.Writer, source input.Source, s client.LoadSummary) error {
	for _, r := range s.Rejects {
		if _, err := fmt.Fprintf(w, "# %s: %s\n%s\n", place(r.Where, source), r.Message, r.Statement); err != nil {
			return err
		}
	}
	if missing := s.Rejected - int64(len(s.Rejects)); missing > 0 {
		_, err := fmt.Fprintf(w, "# %s: %s more, which the server did not name\n", source.Name, plural(missing, "malformed statement"))
		return err
	}
	return nil
}

// addSummary adds a document's load to the summary of all.
func addSummary(total *rdfload.Summary, s client.LoadSummary) {
	if total.ID == "" {
		total.ID = s.ID
	} else {
		total.ID += "," + s.ID
	}
	total.Read += s.Read
	total.New += s.New
	total.Duplicates += s.Duplicates
	total.Rejected += s.Rejected
	total.Annotations += s.Annotations
	total.Bytes += s.Bytes
	total.Duration += s.Duration
	total.Runs += s.Runs
	total.PeakMemory = max(total.PeakMemory, s.PeakMemory)
	total.Rate = float64(rate(total.Read, total.Duration))
}
