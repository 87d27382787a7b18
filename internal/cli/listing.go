package cli

// This file writes lists of triples: the answers of range, match and dump.

import (
	"bufio"
	"fmt"
	"iter"

	"github.com/trefoildb/trefoil/triple"
)

// page says which part of an answer is wanted.
type page struct {
	limit   int64 // 0: all
	cursor  string
	reverse bool
	// annotations says that items come with theirs.
	annotations bool
}

// more returns the limit of a read that reports whether something follows.
func (p page) more() int64 {
	if p.limit == 0 {
		return 0
	}
	return p.limit + 1
}

// item is one triple of an answer, valid until the next.
type item interface {
	appendNQuad(dst []byte) ([]byte, error)
	triple() (triple.Triple, error)
	// annotations are the triple's, if they were asked for.
	annotations() []triple.ApplicationData
}

// listing is an answer. next, where something follows a limited page, is the
// cursor to go on from; it is set when items has ended.
type listing struct {
	items iter.Seq2[item, error]
	next  string
}

// failed returns a listing of nothing but an error.
func failed(err error) *listing {
	return &listing{items: func(yield func(item, error) bool) { yield(nil, err) }}
}

// paging holds the flags of commands that list triples.
type paging struct {
	Limit  quantity `placeholder:"N" help:"At most so many; the cursor of what follows goes to standard error."`
	Cursor string   `placeholder:"C" help:"Go on where a limited answer ended: its cursor, with the same other flags."`
	JSON   bool     `help:"A JSON object a line: s, p, o and g as SPARQL-JSON terms."`
}

// print writes a listing, and its cursor to standard error.
func (p *paging) print(e *env, list *listing) error {
	write := writeNQuad
	if p.JSON {
		write = writeJSON
	}
	if err := writeItems(e, list, write); err != nil {
		return err
	}
	if list.next != "" {
		fmt.Fprintf(e.stderr, "cursor: %s\n", list.next)
	}
	return nil
}

// writeItems writes all items of a listing, each as write appends it.
func writeItems(e *env, list *listing, write func([]byte, item) ([]byte, error)) error {
	out := bufio.NewWriterSize(e.stdout, 1<<16)
	var line []byte
	for it, err := range list.items {
		if err == nil {
			line, err = write(line[:0], it)
		}
		if err == nil {
			_, err = out.Write(line)
		}
		if err != nil {
			out.Flush() // what came before the error is true
			return err
		}
	}
	return out.Flush()
}

func writeNQuad(dst []byte, it item) ([]byte, error) { return it.appendNQuad(dst) }

// withAnnotations returns what writes an item's annotations on its line.
func withAnnotations(write func([]byte, item) ([]byte, error)) func([]byte, item) ([]byte, error) {
	var statement []byte
	return func(dst []byte, it item) ([]byte, error) {
		annotations := it.annotations()
		if len(annotations) == 0 {
			return write(dst, it)
		}
		var err error
		if statement, err = write(statement[:0], it); err != nil {
			return dst, err
		}
		return triple.AppendAnnotated(dst, statement, annotations), nil
	}
}

func writeJSON(dst []byte, it item) ([]byte, error) {
	t, err := it.triple()
	if err != nil {
		return dst, err
	}
	return append(triple.AppendTripleJSON(dst, t), '\n'), nil
}
