// trefoil load through a server, document by document.

package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/documents"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// maxRejects is the number of rejected statements in a server's answer.
const maxRejects = 100_000

func (c *Cmd) send(e *console.Env, sources []input.Source) error {
	to, err := c.Connect(e)
	if err != nil {
		return err
	}
	defer to.Close()
	var total rdfload.Summary
	return c.withRejects(func(rejects io.Writer) error {
		for i, source := range sources {
			s, err := c.sendOne(e, to, source)
			for i, warning := range s.Warnings {
				s.Warnings[i] = place(warning, source)
			}
			if err == nil && rejects != nil {
				err = writeRejects(rejects, source, s)
			}
			if err != nil {
				return c.explainSent(err, source, i)
			}
			addSummary(&total, s)
		}
		// The server keeps the prefixes of the documents that it parses itself.
		if found := c.PrefixesFound().Names(); len(found) > 0 {
			if err := to.Prefixes.Keep(e.Ctx, found); err != nil {
				total.Warnings = append(total.Warnings, fmt.Sprintf("the triples are loaded, but not the prefixes of the documents: %v", err))
			}
		}
		return c.report(e, total)
	})
}

// sendOne loads one document through the server.
func (c *Cmd) sendOne(e *console.Env, to *client.Client, source input.Source) (none client.LoadSummary, err error) {
	in, err := e.Open(source)
	if err != nil {
		return none, err
	}
	defer in.Close()
	s, err := c.Syntax()
	if err == nil && s == 0 {
		s, err = in.Syntax(source.Name, c.RDFStar)
	}
	if err != nil {
		return none, err
	}
	o := client.LoadOptions{ContentType: s.MediaType(), Base: c.Base, KeepGoing: c.KeepGoing, Unchecked: c.Unchecked, RDFStar: c.RDFStar,
		MemoryBytes: int64(c.Memory), MaxLineBytes: int64(c.MaxLine)}
	if c.Rejects != "" {
		o.Rejects = maxRejects
	}
	if o.Graph, err = c.graph(); err != nil {
		return none, err
	}
	body := &sending{in: in, total: source.Size, display: console.NewProgress(e.Stderr)}
	defer body.end()
	// The server knows its own contexts only.
	if s == syntax.JSONLD && len(c.Context) > 0 {
		return c.sendExpanded(e, to, source, body, o)
	}
	return to.Load(e.Ctx, body, o)
}

// sendExpanded sends the triples of a JSON-LD document as N-Quads, because the server has not the
// contexts of --context.
func (c *Cmd) sendExpanded(e *console.Env, to *client.Client, source input.Source, body io.Reader, o client.LoadOptions) (summary client.LoadSummary, err error) {
	known, err := c.Contexts()
	if err != nil {
		return summary, err
	}
	// 1. The triples go to a file, because nothing may be sent of a document with an error.
	file, err := os.CreateTemp("", "trefoil-load-*.nq")
	if err != nil {
		return summary, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	var warnings []string
	lines := bufio.NewWriter(file)
	for t, err := range syntax.Parse(e.Ctx, body, syntax.JSONLD, syntax.Options{Source: source.Name, Base: c.Base, KeepGoing: c.KeepGoing, Contexts: known.Context,
		Prefix: c.PrefixesFound().Add, Warn: func(message string) { warnings = append(warnings, message) }}) {
		// A rejected document is counted as the server counts it.
		var reject *syntax.Reject
		if errors.As(err, &reject) {
			bad := reject.SyntaxError
			return client.LoadSummary{Rejected: 1, Rejects: []client.Reject{{Where: fmt.Sprintf("body:%d:%d", bad.Line, bad.Column), Message: bad.Msg}}}, nil
		}
		if err == nil {
			_, err = lines.Write(triple.AppendNQuad(lines.AvailableBuffer(), t))
		}
		if err != nil {
			return summary, err
		}
	}
	err = lines.Flush()
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return summary, err
	}
	// 2. Send them.
	o.ContentType, o.Base = syntax.NQuads.MediaType(), ""
	summary, err = to.Load(e.Ctx, file, o)
	summary.Warnings = append(warnings, summary.Warnings...)
	return summary, err
}

// sending is a document being sent to the server. It shows its progress.
type sending struct {
	in    *input.Reader
	total int64 // bytes as stored; -1 if unknown

	mu      sync.Mutex // because the transport may still read when the load has ended
	display console.Progress
	shown   time.Time
	ended   bool
}

func (s *sending) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); !s.ended && (now.Sub(s.shown) > 100*time.Millisecond || err != nil) {
		s.shown = now
		s.display.Show(rdfload.Progress{Phase: console.SendPhase, Bytes: s.in.BytesIn(), TotalBytes: max(s.total, 0)})
	}
	return n, err
}

func (s *sending) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.display.End()
}

// explainSent adds to an error its document and the state of the store.
func (c *Cmd) explainSent(err error, source input.Source, before int) error {
	// 1. What the store has of this document.
	var answer *client.Error
	known := errors.As(err, &answer)
	state := "Nothing of this document is in the store."
	switch {
	case errors.Is(err, client.ErrUnknownOutcome), errors.Is(err, io.ErrUnexpectedEOF):
		state = "Whether this document is in the store is not known: trefoil count tells."
	case known && answer.Done > 0:
		state = console.Plural(answer.Done, "new triple") + " of this document were added before. To add the rest, load it again; its blank nodes then become other ones."
	case errors.Is(err, context.Canceled):
		state = "Nothing of this document is kept, unless the server had all of it: trefoil count tells."
	case errors.Is(err, syscall.ECONNREFUSED):
		state += " No server answers there: start one with trefoil serve, and load when it says that it is serving."
	}
	// 2. What it has of the documents before.
	if before > 0 {
		state += fmt.Sprintf(" The %s before it in the list %s.", console.Plural(int64(before), "document"), map[bool]string{true: "is", false: "are"}[before == 1])
	}
	if known && errors.Is(err, client.ErrSyntax) {
		if other := documents.OtherSyntax(&triple.SyntaxError{Source: source.Path}); other != "" {
			state += " " + other
		} else if !c.KeepGoing {
			state += " --keep-going loads the rest, --rejects F writes down what it leaves out."
		}
		return console.WithHint(console.PlacedError(place(answer.Where, source)+": "+answer.Message), state)
	}
	return console.WithHint(fmt.Errorf("%s: %w", source.Name, err), state)
}

// place replaces the name in a server's place, body:line:column, by the document's.
func place(where string, source input.Source) string {
	_, rest, _ := strings.Cut(where, ":")
	return source.Name + ":" + rest
}

// writeRejects writes the rejected statements of a server in the form of rdfload.
func writeRejects(w io.Writer, source input.Source, s client.LoadSummary) error {
	for _, r := range s.Rejects {
		if _, err := fmt.Fprintf(w, "# %s: %s\n%s\n", place(r.Where, source), r.Message, r.Statement); err != nil {
			return err
		}
	}
	if missing := s.Rejected - int64(len(s.Rejects)); missing > 0 {
		_, err := fmt.Fprintf(w, "# %s: %s more, which the server did not name\n", source.Name, console.Plural(missing, "malformed statement"))
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
	total.Warnings = append(total.Warnings, s.Warnings...)
	total.PeakMemory = max(total.PeakMemory, s.PeakMemory)
	total.Rate = float64(console.Rate(total.Read, total.Duration))
}
