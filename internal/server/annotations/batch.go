// POST /annotations: a batch of changes, one a line.

package annotations

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// Limits of a batch.
const (
	// maxLine is the greatest length of a line: 1 MiB of content with escapes, and long terms.
	maxLine = 16 << 20
	// groupChanges and groupBytes bound the changes in progress, which share commits.
	groupChanges = 256
	groupBytes   = 8 << 20
	// maxErrors is the number of errors in the answer.
	maxErrors = 100
)

// batch is one POST.
type batch struct {
	api     *API
	request *request.Request
	key     *store.RequestKey // nil if the request has none
	account *limits.Account
	answer  batchAnswer

	// The current group. No two of its changes are about one annotation, because they run at the
	// same time.
	group []change
	bytes int64
	names map[name]bool
	mu    sync.Mutex // guards answer while a group runs
}

// change is one change of a batch.
type change struct {
	line int
	part int // among several on one line
	triple.AnnotationChange
}

// name identifies an annotation.
type name struct {
	triple triple.Triple
	app    string
}

// batchAnswer is the answer of a batch.
type batchAnswer struct {
	Set     int64 `json:"set"`
	Removed int64 `json:"removed"`
	Failed  int64 `json:"failed"`
	// Errors are those of the first failed lines, in the order in which they were found.
	Errors []lineError `json:"errors"`
}

// lineError is the error of one line.
type lineError struct {
	Line int `json:"line"`
	*problem.Error
}

// post makes the changes of a batch. Each line is a change of its own: a line that fails leaves the
// others as they are. Lines about one annotation are done in their order.
func (a *API) post(w http.ResponseWriter, r *request.Request) error {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(media)) {
	case response.NDJSON, "application/jsonl", "application/ndjson":
	default:
		return problem.Errorf(problem.KindUnsupportedMedia, "Content-Type", "a batch of annotations is %s, one JSON object a line", response.NDJSON)
	}
	in, err := request.Open(r, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	b := &batch{api: a, request: r, key: store.RequestKeyOf(r.Context()), account: a.Account(r), names: map[name]bool{}}
	b.answer.Errors = []lineError{}
	defer b.account.Release()
	if err := b.read(in); err != nil {
		return b.partialError(err)
	}
	return response.WriteJSON(w, b.answer)
}

// partialError adds to an error what was done before it.
func (b *batch) partialError(err error) error {
	n := b.answer.Set + b.answer.Removed
	if n == 0 {
		return err
	}
	e := *problem.As(err)
	e.Done, e.Begun = n, true
	if e.Kind == problem.KindBusy {
		e.Kind = problem.KindUnavailable // because clients take "busy" for nothing done
	}
	e.Message = fmt.Sprintf("%s (%d annotations were set or removed before)", e.Message, n)
	return &e
}

// read reads all lines. Its error ends the batch.
func (b *batch) read(in io.Reader) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	var long []byte
	for number := 1; ; number++ {
		line, err := readLine(lines, &long)
		if errors.Is(err, errLongLine) {
			b.fail(change{line: number}, problem.Errorf(problem.KindTooLarge, "", "the line has more than %d bytes", maxLine))
			continue
		}
		if err != nil && err != io.EOF {
			return request.BodyError(err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if err := b.add(number, line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return b.flush()
		}
	}
}

var errLongLine = errors.New("long line")

// readLine returns the next line without its end. At the last one, or behind it, the error is
// io.EOF. If a line is longer than maxLine, it is skipped, and the error is errLongLine. The line is
// valid until the next call.
func readLine(in *bufio.Reader, long *[]byte) ([]byte, error) {
	// 1. A line in one part needs no copy.
	*long = (*long)[:0]
	over := false
	for {
		part, err := in.ReadSlice('\n')
		if len(*long)+len(part) > maxLine {
			over = true
		}
		// 2. Collect the parts of a longer one, or skip them if it is too long.
		switch {
		case err == bufio.ErrBufferFull:
			if !over {
				*long = append(*long, part...)
			}
			continue
		case over:
			if err != nil && err != io.EOF {
				return nil, err
			}
			return nil, errLongLine
		case err != nil && err != io.EOF:
			return nil, err
		case len(*long) > 0:
			*long = append(*long, part...)
			part = *long
		}
		return part, err
	}
}

// add adds the changes of a line to the group, and runs the group first if it must.
func (b *batch) add(number int, line []byte) error {
	// 1. Parse the line. Its error is the line's alone.
	cost := int64(2 * len(line))
	if err := b.account.Grow(cost); err != nil {
		return err
	}
	changes, err := triple.ParseAnnotationChanges(line)
	if err != nil {
		b.account.Shrink(cost)
		b.fail(change{line: number}, problem.Errorf(problem.KindSyntax, "", "%v", err))
		return nil
	}
	// 2. Two changes of one annotation must not run at the same time. A line may have many changes.
	b.bytes += cost
	for i, one := range changes {
		of := name{one.Triple, one.ApplicationID}
		if b.names[of] || len(b.group) >= groupChanges {
			if err := b.flushKeeping(cost); err != nil {
				return err
			}
		}
		b.names[of] = true
		b.group = append(b.group, change{number, i, one})
	}
	if len(b.group) >= groupChanges || b.bytes >= groupBytes {
		return b.flush()
	}
	return nil
}

// flushKeeping is flush in the middle of a line, whose bytes stay counted.
func (b *batch) flushKeeping(cost int64) error {
	b.bytes -= cost
	err := b.flush()
	b.bytes += cost
	return err
}

// flush runs the changes of the group at the same time, because they share commits. Its error ends
// the batch: the client is gone, or no line can be done for now.
func (b *batch) flush() error {
	var running sync.WaitGroup
	var ended error
	for _, c := range b.group {
		running.Go(func() {
			err := b.do(c)
			if err == nil {
				return
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if endsBatch(err) {
				ended = fmt.Errorf("line %d: %w", c.line, err)
			} else {
				b.fail(c, err)
			}
		})
	}
	running.Wait()
	b.account.Shrink(b.bytes)
	b.group, b.bytes = b.group[:0], 0
	clear(b.names)
	if err := b.request.Context().Err(); err != nil {
		return err
	}
	return ended
}

// endsBatch reports whether the lines after a failed one would fail like it.
func endsBatch(err error) bool {
	switch problem.As(err).Kind {
	case problem.KindNotFound, problem.KindPrecondition, problem.KindBadRequest, problem.KindBadParameter, problem.KindForbidden,
		problem.KindTooLarge, problem.KindUnknownOutcome:
		return false
	}
	return true
}

// do makes one change, and counts it.
func (b *batch) do(c change) error {
	if err := b.request.Caller.CheckWrite(c.ApplicationID); err != nil {
		return err
	}
	// 1. The condition and the data.
	when := store.Condition{Absent: c.Absent}
	if c.Version != "" {
		var err error
		if when.Version, err = store.ParseVersion(c.Version); err != nil {
			return problem.Errorf(problem.KindPrecondition, "version", "%q is not the version of an annotation; nothing was changed", problem.Clip(c.Version))
		}
	}
	var data []byte
	if !c.Remove {
		var err error
		if data, err = triple.AppendMedia([]byte{}, c.Media, c.Content); err != nil {
			return fmt.Errorf("%w: %w", store.ErrInvalid, err)
		}
	}
	// 2. Make the change. Each line has a key of its own, so that a repeated batch does the rest.
	ctx := b.lineContext(c)
	_, err := store.AnnotateIf(ctx, b.api.Store, c.Triple, c.ApplicationID, data, when)
	var conflict *store.ConflictError
	switch {
	case errors.As(err, &conflict):
		e := problem.As(conflicting(conflict, when))
		if e.Where = "version"; when.Absent {
			e.Where = "absent"
		}
		return e
	case errors.Is(err, store.ErrNotFound):
		return missing()
	case err != nil:
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.Remove {
		b.answer.Removed++
	} else {
		b.answer.Set++
	}
	return nil
}

func (b *batch) lineContext(c change) context.Context {
	ctx := b.request.Context()
	if b.key == nil {
		return ctx
	}
	return store.WithRequestKey(ctx, fmt.Sprintf("%s\n%d %d", b.request.Key(), c.line, c.part), b.key.First)
}

// fail records the error of a line.
func (b *batch) fail(c change, err error) {
	b.answer.Failed++
	if len(b.answer.Errors) < maxErrors {
		b.answer.Errors = append(b.answer.Errors, lineError{c.line, problem.Ended(b.request.Context(), problem.As(err))})
	}
}
