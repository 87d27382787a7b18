// The writer of graphs as link files.

package linkgen

import (
	"context"
	"fmt"
	"io"

	"github.com/trefoildb/trefoil/links/linkfile"
)

// WriteOptions select the part of a graph to write, and the format.
type WriteOptions struct {
	Format linkfile.Format // Edges, Lists, Pages or NTriples; 0: Edges
	First  uint32          // the first page
	End    uint32          // the page to stop before; 0: all pages
	Links  int64           // number of links to stop after; 0: all. The last page's list is then cut
}

// Counts are the sizes of the written data.
type Counts struct {
	Pages, Links, Bytes int64 // pages without links count, although edges have no line for them
}

const writeBytes = 256 << 10

// Write writes a link file with a first line for its format, unless that is NTriples. When ctx is
// done, it ends with ctx's error.
func (g *Graph) Write(ctx context.Context, w io.Writer, o WriteOptions) (n Counts, err error) {
	// 1. Set the defaults, and write the line of the format.
	if o.Format == 0 {
		o.Format = linkfile.Edges
	}
	end := g.Pages()
	if o.End > 0 {
		end = min(end, o.End)
	}
	out := lines{format: o.Format, buf: make([]byte, 0, writeBytes+64<<10)}
	switch o.Format {
	case linkfile.Edges, linkfile.Lists, linkfile.Pages:
		out.buf = fmt.Appendf(out.buf, "# links: %v\n", o.Format)
	case linkfile.NTriples:
	default:
		return n, fmt.Errorf("%w: links are not written as %v", ErrOptions, o.Format)
	}
	// 2. Write page by page. The last list may be cut, because Links must be exact.
	var list []uint32
	for page := o.First; page < end && (o.Links == 0 || n.Links < o.Links); page++ {
		list = g.Links(page, list[:0])
		if o.Links > 0 {
			list = list[:min(int64(len(list)), o.Links-n.Links)]
		}
		out.source = g.URL(page, out.source[:0])
		out.page(g, list)
		n.Pages++
		n.Links += int64(len(list))
		// Flush when a block is full.
		if len(out.buf) >= writeBytes {
			if err := out.flush(ctx, w, &n); err != nil {
				return n, err
			}
		}
	}
	return n, out.flush(ctx, w, &n)
}

// lines gathers the lines of pages.
type lines struct {
	format linkfile.Format
	buf    []byte
	source []byte // the URL of the page
}

// page appends the lines of a page.
func (l *lines) page(g *Graph, list []uint32) {
	switch l.format {
	case linkfile.Lists, linkfile.Pages:
		if len(list) == 0 && l.format == linkfile.Lists {
			return
		}
		l.buf = append(l.buf, l.source...)
		for _, target := range list {
			l.buf = g.URL(target, append(l.buf, '\t'))
		}
		l.buf = append(l.buf, '\n')
	case linkfile.NTriples:
		for _, target := range list {
			l.buf = append(append(l.buf, '<'), l.source...)
			l.buf = append(l.buf, "> <"+linkfile.DefaultPredicate+"> <"...)
			l.buf = append(g.URL(target, l.buf), "> .\n"...)
		}
	default:
		for _, target := range list {
			l.buf = append(append(l.buf, l.source...), '\t')
			l.buf = append(g.URL(target, l.buf), '\n')
		}
	}
}

func (l *lines) flush(ctx context.Context, w io.Writer, n *Counts) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	written, err := w.Write(l.buf)
	n.Bytes += int64(written)
	l.buf = l.buf[:0]
	return err
}
