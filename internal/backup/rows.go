// Rows of an archive as N-Quads, for the bulk loader.

package backup

import (
	"io"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// maxLine bounds a line: four terms of 16 MiB, whose characters may be escaped, and annotations.
const maxLine = 1 << 30

// rowsReader reads the chunks of one kind as one document. It ends before the first chunk of another
// kind.
type rowsReader struct {
	r     *reader
	kind  kind
	aside func(c *feed.Change, t triple.Triple) (bool, error) // true: the row is no part of the document

	text        []byte // of the present chunk
	read        int    // the part of text that was read
	triple      triple.Triple
	line        []byte // the statement of triple
	some        bool   // there is a triple that is not in text
	annotations []triple.ApplicationData
	size        int // of annotations
}

// annotationBytes is the size from which the annotations of a triple continue on another line.
const annotationBytes = 2 << 20

func newRowsReader(r *reader, aside func(*feed.Change, triple.Triple) (bool, error)) *rowsReader {
	return &rowsReader{r: r, kind: r.kind, aside: aside, text: []byte(triple.AnnotationsHeader + "\n")}
}

// Read implements io.Reader.
func (d *rowsReader) Read(b []byte) (int, error) {
	for d.read == len(d.text) {
		if err := d.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, d.text[d.read:])
	d.read += n
	return n, nil
}

// fill makes the text of the next chunk.
func (d *rowsReader) fill() error {
	d.text, d.read = d.text[:0], 0
	if d.r.kind != d.kind {
		if !d.some {
			return io.EOF
		}
		d.flush()
		d.some = false
		return nil
	}
	err := eachChange(d.r.chunk, func(c *feed.Change, _ moment) error { return d.row(c) })
	if err != nil {
		return err
	}
	return d.r.next()
}

// row adds a row of the archive. An annotation follows its triple.
func (d *rowsReader) row(c *feed.Change) error {
	annotation := c.Kind == feed.Annotate && !c.Annotation.Removed
	if !annotation && c.Kind != feed.Add {
		return fault.Backup("a change of kind %s among rows", c.Kind)
	}
	t, err := c.Triple()
	if err != nil {
		return fault.Backup("%w", err)
	}
	if aside, err := d.aside(c, t); aside || err != nil {
		return err
	}
	// 1. A triple ends the one before.
	if !annotation {
		if d.some {
			d.flush()
		}
		d.triple, d.some = t, true
		d.line = triple.AppendNQuad(d.line[:0], t)
		return nil
	}
	// 2. Collect an annotation. Many go to several lines, because a line is in memory.
	if !d.some || t != d.triple {
		return fault.Backup("an annotation is not behind its triple")
	}
	if d.size += len(c.Annotation.Data); d.size > annotationBytes && len(d.annotations) > 0 {
		d.flush()
	}
	d.annotations = append(d.annotations, triple.ApplicationData{ApplicationID: c.Annotation.ApplicationID, Data: append([]byte{}, c.Annotation.Data...)})
	return nil
}

// flush writes the triple with the annotations so far.
func (d *rowsReader) flush() {
	d.text = triple.AppendAnnotated(d.text, d.line, d.annotations)
	clear(d.annotations)
	d.annotations, d.size = d.annotations[:0], 0
}

// bulk loads the chunks of the present kind in bulk, without the rows that go aside.
func (s *restorer) bulk(r *reader, aside func(*feed.Change, triple.Triple) (bool, error)) (rdfload.Summary, error) {
	document := input.Document("backup", newRowsReader(r, aside), -1, syntax.NQuads)
	return rdfload.Load(s.ctx, s.pending.to.Sink(), []input.Source{document}, rdfload.Options{Memory: s.memory, MaxLine: maxLine, Syntax: syntax.NQuads, Stored: true})
}
