// POST /links/update: changes of links, a JSON object a line, of any number. They go
// to the graph in batches.

package httpapi

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

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// A batch ends with the change that reaches one of these.
	updateChanges = 4096
	updateTargets = 100_000
	updateBytes   = 4 << 20
	// maxChangeBytes is the longest line.
	maxChangeBytes = 16 << 20
	// changeWeight is how many times its line's length a change may take in memory.
	changeWeight = 10
)

// linksUpdated is the answer of /links/update.
type linksUpdated struct {
	Changes int64 `json:"changes"` // lines
	links.UpdateResult
}

// linkChange is a line.
type linkChange struct {
	Op  string   `json:"op"` // add, delete or replace
	Src string   `json:"src"`
	Dst []string `json:"dst"`
	// Weight and Anchor are those of the links to Dst, as many, or left out. null is
	// none.
	Weight []*float64 `json:"weight"`
	Anchor []*string  `json:"anchor"`
}

var changeKinds = map[string]links.ChangeKind{"add": links.AddLinks, "delete": links.DeleteLinks, "replace": links.ReplaceLinks}

// postUpdate makes changes line by line. What was done before an error stays.
func (l *linksDoors) postUpdate(w http.ResponseWriter, r *request) error {
	if negotiate(r.Header.Values("Accept"), []string{typeJSON}) < 0 {
		return notAcceptable([]string{typeJSON})
	}
	if text := r.Header.Get("Content-Type"); text != "" {
		contentType, _, err := mime.ParseMediaType(text)
		if err != nil || contentType != typeNDJSON && contentType != typeJSON {
			return errorf(KindUnsupportedMedia, "Content-Type", "%q is no %s", clip(text), typeNDJSON)
		}
	}
	in, err := openBody(r, l.options.MaxLoadBytes)
	if err != nil {
		return err
	}
	defer in.Close()
	u := &linksUpdate{doors: l, r: r, in: bufio.NewReaderSize(in, chunkBytes), account: account{budget: &l.memory, client: clientOf(r.Request)}}
	defer u.account.release()
	if err := u.run(); err != nil {
		return u.partly(linksError(err))
	}
	return writeJSON(w, u.done)
}

// linksUpdate is one request to change links.
type linksUpdate struct {
	doors   *linksDoors
	r       *request
	in      *bufio.Reader
	line    []byte
	lines   int // read
	account account

	batch   []links.Change
	targets int
	bytes   int
	last    int // line of the batch
	from    int // the last line before it

	done linksUpdated
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
			// What is right before it is done: so a line that is wrong can be mended, and the
			// rest be sent again.
			if failed := u.flush(); failed != nil {
				return failed
			}
			return err
		}
		if len(u.batch) >= updateChanges || u.targets >= updateTargets || u.bytes >= updateBytes {
			if err := u.flush(); err != nil {
				return err
			}
		}
	}
}

// next returns the next line that is not empty. It is good until the next call.
func (u *linksUpdate) next() ([]byte, error) {
	for {
		u.line = u.line[:0]
		for {
			part, err := u.in.ReadSlice('\n')
			u.line = append(u.line, part...)
			switch {
			case len(u.line) > maxChangeBytes:
				u.lines++
				return nil, u.wrong(KindTooLarge, "longer than %d bytes; a list may be replaced by its beginning, and the rest be added", maxChangeBytes)
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

// wrong returns what is wrong with the line that is read.
func (u *linksUpdate) wrong(kind Kind, message string, args ...any) error {
	e := errorf(kind, fmt.Sprintf("%s:%d", bodyName, u.lines), message, args...)
	e.Line = u.lines
	return e
}

// add adds a line's change to the batch.
func (u *linksUpdate) add(line []byte) error {
	need := int64(len(line)) * changeWeight
	if need > u.doors.options.MemoryBytes {
		return u.wrong(KindTooLarge, "its %d bytes need more than this node's memory for requests; give it in several lines", len(line))
	}
	if err := u.account.grow(need); err != nil {
		return err
	}
	if !utf8.Valid(line) {
		return u.wrong(KindSyntax, "not UTF-8")
	}
	var c linkChange
	in := json.NewDecoder(bytes.NewReader(line))
	in.DisallowUnknownFields()
	if err := in.Decode(&c); err != nil {
		return u.wrong(KindSyntax, "%s", clipAt(err.Error(), 200))
	}
	if _, err := in.Token(); err != io.EOF {
		return u.wrong(KindSyntax, "something follows the object")
	}
	change, err := c.change()
	if err != nil {
		return u.wrong(KindBadRequest, "%v", err)
	}
	u.batch = append(u.batch, change)
	u.targets += len(change.Targets)
	u.bytes += len(line)
	u.last = u.lines
	return nil
}

func (c *linkChange) change() (change links.Change, err error) {
	kind, ok := changeKinds[c.Op]
	if !ok {
		return change, fmt.Errorf("op is %q, and none of add, delete and replace", clip(c.Op))
	}
	if err := triple.CheckIRI(c.Src); err != nil {
		return change, fmt.Errorf("src: %w", err)
	}
	for i, dst := range c.Dst {
		if err := triple.CheckIRI(dst); err != nil {
			return change, fmt.Errorf("dst %d: %w", i, err)
		}
	}
	if c.Dst == nil {
		return change, errors.New("dst is missing: a list of URLs, which may be empty")
	}
	change = links.Change{Kind: kind, Source: c.Src, Targets: c.Dst}
	if c.Weight == nil && c.Anchor == nil {
		return change, nil
	}
	if c.Weight != nil && len(c.Weight) != len(c.Dst) || c.Anchor != nil && len(c.Anchor) != len(c.Dst) {
		return change, fmt.Errorf("%d weights and %d anchors of %d links; give as many, null where there is none, or leave them out",
			len(c.Weight), len(c.Anchor), len(c.Dst))
	}
	if kind == links.DeleteLinks {
		return change, errors.New("what is deleted has no weight and no anchor")
	}
	change.Labels = make([]links.Label, len(c.Dst))
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
	result, err := u.doors.graph.Update(u.r.Context(), u.batch)
	u.done.Added += result.Added
	u.done.Deleted += result.Deleted
	u.done.Pages += result.Pages
	u.done.Epoch = result.Epoch // of a graph that has what came before, too
	u.doors.items.WithLabelValues("update").Add(float64(result.Added + result.Deleted))
	if err != nil {
		u.batch = nil
		return err
	}
	u.done.Changes += int64(len(u.batch))
	u.batch, u.targets, u.bytes, u.from = u.batch[:0], 0, 0, u.last
	clear(u.batch[:cap(u.batch)])
	u.account.release()
	return nil
}

// claim notes that the request begins, if it has a key: a change of links depends on what
// is there, so that it is not done triple by triple. A graph that is being built has done
// nothing.
func (u *linksUpdate) claim() error {
	ctx := u.r.Context()
	if node.RequestKeyOf(ctx) == nil {
		return nil
	}
	stats, err := u.doors.graph.Stats(ctx)
	if err == nil && stats.Loading {
		err = links.ErrLoading
	}
	if err == nil {
		err = u.doors.store.Claim(ctx)
	}
	u.r.Request = u.r.WithContext(node.WithRequestKey(ctx, "", true))
	return err
}

// partly adds to an error what was done before it.
func (u *linksUpdate) partly(err error) error {
	if u.done.Changes == 0 && u.done.Added+u.done.Deleted == 0 {
		return err
	}
	e := *asError(err)
	e.Done = u.done.Added + u.done.Deleted
	if e.Kind == KindBusy {
		e.Kind = KindUnavailable // by busy clients know that nothing was done
	}
	e.Message = fmt.Sprintf("%s (before, %d links were added and %d deleted; lines up to %d are done)", e.Message, u.done.Added, u.done.Deleted, u.from)
	return &e
}
