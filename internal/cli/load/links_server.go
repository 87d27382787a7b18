// trefoil load --links --to: N-Triples for a server's bulk loader, updates for whole pages and
// labels.

package load

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkfile"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

func (l *linkLoad) throughServer() (err error) {
	// 1. Connect, and use updates if whole pages must replace links of the store.
	r, err := l.Connect(l.e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	graph := target.GraphOf(l.e, r)
	nothing := func(linkPlace) error { return nil }
	if l.replacing {
		some, err := r.MatchPage(l.e.Ctx, linkPattern(l.predicate), client.PageOptions{Limit: 1})
		if err != nil {
			return err
		}
		if l.mixed || len(some.Triples) > 0 {
			return partStored(l.update(graph, linkPlace{}, nothing), "The pages before that are in the store. The command can be repeated.")
		}
		if err := l.lookThrough(); err != nil {
			return err
		}
	}
	// 2. Send the files to the bulk loader, one after the other.
	labelled := int64(0)
	for i := range l.sources {
		n, err := l.sendLinks(r, i)
		if err != nil {
			state := "Nothing of this file is in the store, unless the server had all of it."
			if i > 0 {
				state += " The files before it in the list are."
			}
			return console.WithHint(fmt.Errorf("%s: %w", l.sources[i].Name, err), state)
		}
		labelled += n
	}
	if labelled == 0 || l.NoLabels {
		l.e.Sayf("the server's graph takes the links in; trefoil links stats tells when it has")
		return nil
	}
	// 3. Set the labels, if there are any.
	set := func(batch []links.Change) error {
		_, err := graph.Update(l.e.Ctx, batch)
		return err
	}
	return partStored(l.label(set, linkPlace{}, nothing), "All links are in the store, and some of their labels. The command can be repeated.")
}

// sendLinks loads a file through the server. It returns the number of its links with labels.
func (l *linkLoad) sendLinks(to *client.Client, source int) (labelled int64, err error) {
	rd, err := rdfload.OpenLinks(l.e.Ctx, l.sources[source], linkfile.Position{}, l.reading)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rd.Close()) }()
	body := &linkBody{load: l, rd: rd, source: source, predicate: []byte("> <" + l.predicate + "> <")}
	summary, err := to.Load(l.e.Ctx, body, client.LoadOptions{ContentType: "application/n-triples", MemoryBytes: int64(l.Memory)})
	if err != nil {
		return 0, err
	}
	summary.Bytes = rd.BytesOut() // the server counts those of the N-Triples that it got
	addSummary(&l.done.Summary, summary)
	l.done.Rejected += body.rejected
	l.done.Skipped += rd.Counts().Skipped
	return body.labelled, nil
}

// linkBody is a link file as N-Triples.
type linkBody struct {
	load      *linkLoad
	rd        *rdfload.LinkReader
	source    int
	predicate []byte // with the characters around it
	left      bool   // the current list is skipped
	buf       []byte // buf[at:] is unread
	at        int
	reported  int64

	labelled, rejected int64
}

func (b *linkBody) Read(p []byte) (int, error) {
	for b.at == len(b.buf) {
		b.buf, b.at = b.buf[:0], 0
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.buf[b.at:])
	b.at += n
	return n, nil
}

// next makes the statements of the next page, or of a part of it.
func (b *linkBody) next() error {
	// 1. Read the next page, and skip it if a later list replaces it.
	at := b.rd.Position().Offset
	if !b.rd.Scan() {
		err := b.rd.Err()
		if err == nil {
			return io.EOF
		}
		return b.reject(err)
	}
	p := b.rd.Page()
	if p.Replace {
		b.left = b.load.last.superseded(b.source, at, p.Source)
	}
	// 2. A superseded list has no statements.
	for i := range p.Links {
		if b.left {
			break
		}
		l := &p.Links[i]
		if l.Weight != nil || l.Text != nil {
			b.labelled++
		}
		b.buf = append(append(b.buf, '<'), p.Source...)
		b.buf = append(append(b.buf, b.predicate...), l.Target...)
		b.buf = append(b.buf, "> .\n"...)
	}
	// 3. Report progress from time to time.
	b.left = b.left && p.More
	if read := b.rd.BytesIn(); read-b.reported >= progressBytes {
		b.reported = read
		b.load.display.Show(rdfload.Progress{Phase: console.SendPhase, Bytes: read, TotalBytes: max(b.load.sources[b.source].Size, 0)})
	}
	return nil
}

func (b *linkBody) reject(err error) error {
	var syntax *triple.SyntaxError
	if !errors.As(err, &syntax) || !b.left && !b.load.KeepGoing {
		return err
	}
	text, ok := b.rd.Recover()
	if !ok {
		return err
	}
	if b.left {
		return nil
	}
	b.rejected++
	return writeLinkReject(b.load.rejects, syntax, text)
}

// writeLinkReject writes a rejected part in the form of rdfload. If w is nil, it does nothing.
func writeLinkReject(w io.Writer, reason *triple.SyntaxError, text []byte) error {
	if w == nil {
		return nil
	}
	line := strings.NewReplacer("\n", " ", "\r", " ").Replace(reason.Error())
	_, err := fmt.Fprintf(w, "# %s\n%s\n", line, strings.TrimRight(string(text), "\r\n"))
	return err
}
