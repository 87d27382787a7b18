// POST /links/update: changes of links, one JSON object a line, any number of lines. They are sent
// to the graph in batches.

package links

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// A batch ends when one of these is reached.
	UpdateChanges = 4096
	updateTargets = 100_000
	updateBytes   = 4 << 20
	// MaxChangeBytes is the longest line.
	MaxChangeBytes = 16 << 20
	// changeWeight is the memory of a change, in multiples of its line's length.
	changeWeight = 10
)

// Updated is the answer of /links/update.
type Updated struct {
	Changes int64 `json:"changes"` // lines
	links.UpdateResult
}

// linkChange is a line.
type linkChange struct {
	Op  string   `json:"op"` // add, delete, replace or label
	Src string   `json:"src"`
	Dst []string `json:"dst"`
	// Weight and Anchor are those of the links to Dst. Each is missing, or has the length of Dst;
	// null is none. If Op is label, they are those of the page, and have one item.
	Weight []*float64 `json:"weight"`
	Anchor []*string  `json:"anchor"`
}

var changeKinds = map[string]links.ChangeKind{"add": links.AddLinks, "delete": links.DeleteLinks, "replace": links.ReplaceLinks, "label": links.LabelPage}

// postUpdate makes changes line by line. The lines before an error stay done.
func (l *API) postUpdate(w http.ResponseWriter, r *request.Request) error {
	if response.Negotiate(r.Header.Values("Accept"), []string{response.JSON}) < 0 {
		return response.NotAcceptable([]string{response.JSON})
	}
	if text := r.Header.Get("Content-Type"); text != "" {
		contentType, _, err := mime.ParseMediaType(text)
		if err != nil || contentType != response.NDJSON && contentType != response.JSON {
			return problem.Errorf(problem.KindUnsupportedMedia, "Content-Type", "%q is no %s", problem.Clip(text), response.NDJSON)
		}
	}
	if err := mayUpdate(r.Context()); err != nil {
		return err
	}
	in, err := request.Open(r, l.maxLoadBytes)
	if err != nil {
		return err
	}
	defer in.Close()
	u := &linksUpdate{api: l, r: r, limited: graphrights.FromContext(r.Context()) != nil, in: bufio.NewReaderSize(in, response.ChunkBytes), account: l.Account(r)}
	defer u.account.Release()
	if err := u.run(); err != nil {
		return u.partialError(linksError(r, err))
	}
	return response.WriteJSON(w, u.done)
}

// linksUpdate is one request to change links. It holds one batch in memory.
type linksUpdate struct {
	api     *API
	r       *request.Request
	limited bool // the user has some graphs only
	in      *bufio.Reader
	line    []byte
	lines   int // read
	account *limits.Account

	batch   []links.Change
	targets int
	bytes   int
	last    int // line of the batch
	from    int // the last line before it

	done Updated
}

func (u *linksUpdate) run() error {
	for {
		line, err := u.next()
		if err == io.EOF {
			return u.flush()
		}
		if err == nil {
			err = u.add(line)
		}
		if err != nil {
			// Changes before the malformed line are made. So a client may correct that line and
			// send the rest again.
			if failed := u.flush(); failed != nil {
				return failed
			}
			return err
		}
		if len(u.batch) >= UpdateChanges || u.targets >= updateTargets || u.bytes >= updateBytes {
			if err := u.flush(); err != nil {
				return err
			}
		}
	}
}

// next returns the next line that is not empty. It is valid until the next call.
func (u *linksUpdate) next() ([]byte, error) {
	for {
		u.line = u.line[:0]
		for {
			part, err := u.in.ReadSlice('\n')
			u.line = append(u.line, part...)
			switch {
			case len(u.line) > MaxChangeBytes:
				u.lines++
				return nil, u.wrong(problem.KindTooLarge, "longer than %d bytes; a list may be replaced by its beginning, and the rest be added", MaxChangeBytes)
			case err == bufio.ErrBufferFull:
				continue
			case err == io.EOF && len(u.line) == 0:
				return nil, io.EOF
			case err != nil && err != io.EOF:
				return nil, err
			}
			break
		}
		u.lines++
		if line := bytes.TrimSpace(u.line); len(line) > 0 {
			return line, nil
		}
	}
}

// wrong returns the error of the current line.
func (u *linksUpdate) wrong(kind problem.Kind, message string, args ...any) error {
	e := problem.Errorf(kind, fmt.Sprintf("%s:%d", request.BodyName, u.lines), message, args...)
	e.Line = u.lines
	return e
}

// add adds a line's change to the batch.
func (u *linksUpdate) add(line []byte) error {
	// 1. Pay for the change before it is parsed.
	need := int64(len(line)) * changeWeight
	if need > u.api.Memory.Max {
		return u.wrong(problem.KindTooLarge, "its %d bytes need more than this node's memory for requests; give it in several lines", len(line))
	}
	if err := u.account.Grow(need); err != nil {
		return err
	}
	// 2. Parse the line strictly.
	if !utf8.Valid(line) {
		return u.wrong(problem.KindSyntax, "not UTF-8")
	}
	var c linkChange
	in := json.NewDecoder(bytes.NewReader(line))
	in.DisallowUnknownFields()
	if err := in.Decode(&c); err != nil {
		return u.wrong(problem.KindSyntax, "%s", problem.ClipAt(err.Error(), 200))
	}
	if _, err := in.Token(); err != io.EOF {
		return u.wrong(problem.KindSyntax, "something follows the object")
	}
	change, err := c.change()
	if err != nil {
		return u.wrong(problem.KindBadRequest, "%v", err)
	}
	if change.Kind == links.LabelPage && u.limited {
		return u.wrong(problem.KindForbidden, "the label of a page is of all graphs, and this user may read some only")
	}
	// 3. Count it, because a batch has several limits.
	u.batch = append(u.batch, change)
	u.targets += len(change.Targets)
	u.bytes += len(line)
	u.last = u.lines
	return nil
}

func (c *linkChange) change() (change links.Change, err error) {
	// 1. Check the operation and the URLs.
	kind, ok := changeKinds[c.Op]
	if !ok {
		return change, fmt.Errorf("op is %q, and none of add, delete, replace and label", problem.Clip(c.Op))
	}
	if err := triple.CheckIRI(c.Src); err != nil {
		return change, fmt.Errorf("src: %w", err)
	}
	for i, dst := range c.Dst {
		if err := triple.CheckIRI(dst); err != nil {
			return change, fmt.Errorf("dst %d: %w", i, err)
		}
	}
	n := len(c.Dst) // of labels
	if kind == links.LabelPage {
		if c.Dst != nil {
			return change, errors.New("dst has no meaning with op label, which labels the page itself")
		}
		c.Dst, n = []string{}, 1
	}
	if c.Dst == nil {
		return change, errors.New("dst is missing: a list of URLs, which may be empty")
	}
	// 2. Check the labels: they must fit the list, and a deletion has none.
	change = links.Change{Kind: kind, Source: c.Src, Targets: c.Dst}
	if c.Weight == nil && c.Anchor == nil && kind != links.LabelPage {
		return change, nil
	}
	if c.Weight != nil && len(c.Weight) != n || c.Anchor != nil && len(c.Anchor) != n {
		return change, fmt.Errorf("%d weights and %d anchors; give %d of each, null where there is none, or leave them out",
			len(c.Weight), len(c.Anchor), n)
	}
	if kind == links.DeleteLinks {
		return change, errors.New("what is deleted has no weight and no anchor")
	}
	// 3. Fill in the labels; null is no label.
	change.Labels = make([]links.Label, n)
	for i := range change.Labels {
		change.Labels[i] = cell.NoLabel
		if c.Weight != nil && c.Weight[i] != nil {
			change.Labels[i].Weight = *c.Weight[i]
		}
		if c.Anchor != nil && c.Anchor[i] != nil {
			change.Labels[i].Anchor = *c.Anchor[i]
		}
	}
	return change, nil
}

// flush makes the changes of the batch.
func (u *linksUpdate) flush() error {
	if len(u.batch) == 0 {
		return nil
	}
	if err := u.claim(); err != nil {
		return err
	}
	result, err := u.api.graph.Update(u.r.Context(), u.batch)
	u.done.Added += result.Added
	u.done.Deleted += result.Deleted
	if !u.limited { // both are of all graphs
		u.done.Pages += result.Pages
		u.done.Epoch = result.Epoch // the greatest, because it includes the changes before
	}
	u.api.items.WithLabelValues("update").Add(float64(result.Added + result.Deleted))
	if err != nil {
		u.batch = nil
		return err
	}
	u.done.Changes += int64(len(u.batch))
	u.batch, u.targets, u.bytes, u.from = u.batch[:0], 0, 0, u.last
	clear(u.batch[:cap(u.batch)])
	u.account.Release()
	return nil
}

// claim records that the request begins, if it has a key. It must not be done triple by triple,
// because a change of links depends on the existing ones. If the graph is being built, nothing is
// claimed, because nothing is done.
func (u *linksUpdate) claim() error {
	ctx := u.r.Context()
	if store.RequestKeyOf(ctx) == nil {
		return nil
	}
	stats, err := u.api.graph.Stats(ctx)
	if err == nil && stats.Loading {
		err = links.ErrLoading
	}
	if err == nil {
		err = store.Claim(ctx, u.api.Store)
	}
	u.r.Request = u.r.WithContext(store.WithRequestKey(ctx, "", true))
	return err
}

// partialError adds to an error the work done before it.
func (u *linksUpdate) partialError(err error) error {
	if u.done.Changes == 0 && u.done.Added+u.done.Deleted == 0 {
		return err
	}
	e := *problem.As(err)
	e.Done = u.done.Added + u.done.Deleted
	if e.Kind == problem.KindBusy {
		e.Kind = problem.KindUnavailable // because clients take "busy" for nothing done
	}
	e.Message = fmt.Sprintf("%s (before, %d links were added and %d deleted; lines up to %d are done)", e.Message, u.done.Added, u.done.Deleted, u.from)
	return &e
}
