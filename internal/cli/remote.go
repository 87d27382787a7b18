// A server as the store of a command: calls through package client, and uploads.

package cli

import (
	"bufio"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// remote is a server as the store of a command: a client and its parts.
type remote struct{ *client.Client }

func (r remote) match(ctx context.Context, p triple.Pattern, page page) *listing {
	return pages(page, func(o client.PageOptions) (client.Page, error) { return r.MatchPage(ctx, p, o) })
}

func (r remote) bounded(ctx context.Context, b triple.Bounds, page page) *listing {
	return pages(page, func(o client.PageOptions) (client.Page, error) { return r.RangePage(ctx, b, o) })
}

// pages makes a listing of the server's pages. They may be shorter than the limit.
func pages(page page, fetch func(client.PageOptions) (client.Page, error)) *listing {
	list := &listing{}
	list.items = func(yield func(item, error) bool) {
		// 1. Fetch a page. Only a cursor of the user's can be wrong.
		given, cursor, offset := int64(0), page.cursor, page.offset
		for {
			limit := 0 // the client's page size
			if page.limit > 0 {
				limit = int(page.limit - given)
			}
			got, err := fetch(client.PageOptions{Limit: limit, Cursor: cursor, Offset: offset, Reverse: page.reverse, Annotations: page.annotations})
			if err != nil {
				if errors.Is(err, client.ErrBadCursor) && cursor == page.cursor {
					err = usagef("--cursor: %w", err)
				}
				yield(nil, err)
				return
			}
			// 2. Yield its triples, and stop at the limit.
			for i, t := range got.Triples {
				it := statement{Triple: t}
				if page.annotations {
					it.noted = got.Annotations[i]
				}
				if !yield(it, nil) {
					return
				}
			}
			offset = 0 // the next page's cursor is behind the skipped triples
			given += int64(len(got.Triples))
			if cursor = got.Next; cursor == "" {
				return
			}
			if page.limit > 0 && given >= page.limit {
				list.next = cursor
				return
			}
		}
	}
	return list
}

func (r remote) count(ctx context.Context, p triple.Pattern, estimate bool) (int64, bool, error) {
	if estimate {
		return r.Estimate(ctx, p)
	}
	n, err := r.Count(ctx, p)
	return n, true, err
}

// Annotations implements [triples].
func (r remote) Annotations(ctx context.Context, t triple.Triple) ([]client.Annotation, error) {
	return r.Client.Annotations.List(ctx, t)
}

// AddAnnotated implements [changes].
func (r remote) AddAnnotated(ctx context.Context, all []triple.Triple, annotations [][]triple.ApplicationData) (client.AddResult, error) {
	return r.Client.Annotations.AddTriples(ctx, all, annotations)
}

// AnnotateAll implements [changes].
func (r remote) AnnotateAll(ctx context.Context, changes iter.Seq2[triple.AnnotationChange, error]) (client.AnnotateResult, error) {
	return r.Client.Annotations.Change(ctx, changes)
}

// Explain implements [queries].
func (r remote) Explain(ctx context.Context, query string, run bool, o client.QueryOptions) (client.Explanation, error) {
	return r.SPARQL.Explain(ctx, query, run, o)
}

// Prefixes implements [prefixStore].
func (r remote) Prefixes(ctx context.Context) (client.PrefixList, error) {
	return r.Client.Prefixes.List(ctx)
}

// SetPrefix implements [prefixStore].
func (r remote) SetPrefix(ctx context.Context, name, iri string) error {
	return r.Client.Prefixes.Set(ctx, name, iri)
}

// KeepPrefixes implements [prefixStore].
func (r remote) KeepPrefixes(ctx context.Context, found map[string]string) error {
	return r.Client.Prefixes.Keep(ctx, found)
}

// RemovePrefix implements [prefixStore].
func (r remote) RemovePrefix(ctx context.Context, name string) error {
	return r.Client.Prefixes.Remove(ctx, name)
}

// Check implements [upkeep].
func (r remote) Check(ctx context.Context) (client.CheckReport, error) { return r.Admin.Check(ctx) }

// BackupSince implements [upkeep].
func (r remote) BackupSince(ctx context.Context, w io.Writer, since string) error {
	return r.Admin.BackupSince(ctx, w, since)
}

// status is the status of a store, in this process or of a server.
type status = client.Status

// hintForRemote returns a hint for a server's error; "" if there is none.
func hintForRemote(err error) string {
	var unknown x509.UnknownAuthorityError
	var request *url.Error // the end of a file is none of a connection
	switch {
	case errors.As(err, &unknown):
		return fmt.Sprintf("Give the certificate of its authority, ca.crt, with --ca F, or in $%s.", envCA)
	case errors.As(err, &request) && (errors.Is(request, io.EOF) || errors.Is(request, syscall.ECONNRESET)):
		return "The server hung up. If it speaks TLS, its address begins with https://."
	case errors.Is(err, client.ErrUnauthorized):
		return fmt.Sprintf("Give the server's token with --token-file F, or in $%s.", envToken)
	case errors.Is(err, client.ErrUnknownOutcome):
		return "The change may be done, now or later. Read the data before you repeat it: if others change the same triples, repeating it could undo that."
	case errors.Is(err, client.ErrLost):
		return "All machines that held some of it died; trefoil cluster status names the ranges."
	case errors.Is(err, client.ErrQueryTimeout):
		return "Look at its plan with --explain; the server's limit is trefoil serve --query-timeout."
	case errors.Is(err, client.ErrQueryLimit):
		return "Look at its plan with --explain; the server's limit is trefoil serve --query-memory."
	}
	return ""
}

// maxRejects is the number of rejected statements in a server's answer.
const maxRejects = 100_000

func (c *loadCmd) send(e *env, sources []input.Source) error {
	to, err := c.connect(e)
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
		if err := keepPrefixes(e.ctx, remote{to}, c.found.Names()); err != nil {
			total.Warnings = append(total.Warnings, fmt.Sprintf("the triples are loaded, but not the prefixes of the documents: %v", err))
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
	body := &sending{in: in, total: source.Size, display: newProgress(e.stderr)}
	defer body.end()
	// The server knows its own contexts only.
	if s == syntax.JSONLD && len(c.Context) > 0 {
		return c.sendExpanded(e, to, source, body, o)
	}
	return to.Load(e.ctx, body, o)
}

// sendExpanded sends the triples of a JSON-LD document as N-Quads, because the server has not the
// contexts of --context.
func (c *loadCmd) sendExpanded(e *env, to *client.Client, source input.Source, body io.Reader, o client.LoadOptions) (summary client.LoadSummary, err error) {
	known, err := c.contexts()
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
	for t, err := range syntax.Parse(e.ctx, body, syntax.JSONLD, syntax.Options{Source: source.Name, Base: c.Base, KeepGoing: c.KeepGoing, Contexts: known.Context,
		Prefix: c.found.Add, Warn: func(message string) { warnings = append(warnings, message) }}) {
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
	summary, err = to.Load(e.ctx, file, o)
	summary.Warnings = append(warnings, summary.Warnings...)
	return summary, err
}

// sending is a document being sent to the server. It shows its progress.
type sending struct {
	in    *input.Reader
	total int64 // bytes as stored; -1 if unknown

	mu      sync.Mutex // because the transport may still read when the load has ended
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

// explainSent adds to an error its document and the state of the store.
func (c *loadCmd) explainSent(err error, source input.Source, before int) error {
	// 1. What the store has of this document.
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
	// 2. What it has of the documents before.
	if before > 0 {
		state += fmt.Sprintf(" The %s before it in the list %s.", plural(int64(before), "document"), map[bool]string{true: "is", false: "are"}[before == 1])
	}
	if known && errors.Is(err, client.ErrSyntax) {
		if other := otherSyntax(&triple.SyntaxError{Source: source.Path}); other != "" {
			state += " " + other
		} else if !c.KeepGoing {
			state += " --keep-going loads the rest, --rejects F writes down what it leaves out."
		}
		return hinted{placedError{place(answer.Where, source) + ": " + answer.Message}, state}
	}
	return hinted{fmt.Errorf("%s: %w", source.Name, err), state}
}

// placedError is a message that begins with its place, like that of a SyntaxError.
type placedError struct{ text string }

func (p placedError) Error() string { return p.text }

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
	total.Warnings = append(total.Warnings, s.Warnings...)
	total.PeakMemory = max(total.PeakMemory, s.PeakMemory)
	total.Rate = float64(rate(total.Read, total.Duration))
}
