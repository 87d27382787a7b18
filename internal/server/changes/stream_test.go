// Tests of streams over feeds that are made up.

package changes

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// fakeFeed is a feed of one batch. Like every feed, it sends what the filter selects.
type fakeFeed struct{ feed.Batch }

func (f *fakeFeed) Position(context.Context) (feed.Position, error) { return f.Batch.Position, nil }

func (f *fakeFeed) Changes(_ context.Context, r feed.Request) iter.Seq2[*feed.Batch, error] {
	return func(yield func(*feed.Batch, error) bool) {
		m, err := feed.NewMatcher(r.Filter)
		b := feed.Batch{Time: f.Time, Position: f.Batch.Position}
		for i := range f.Batch.Changes {
			c := f.Batch.Changes[i]
			ok, matchErr := m.Match(&c)
			if err = errors.Join(err, matchErr); ok {
				b.Changes = append(b.Changes, c)
			}
		}
		yield(&b, err)
	}
}

// answer returns the answer that a stream of a format sends.
func answer(t *testing.T, db store.Triples, source feed.Source, f *format, r feed.Request, expand bool) (string, error) {
	t.Helper()
	w := httptest.NewRecorder()
	s := &stream{
		api: &API{Shared: &endpoint.Shared{Store: db, Draining: endpoint.NewDraining()}}, w: w, format: f, request: r, expand: expand,
		r: &request.Request{Request: httptest.NewRequest(http.MethodGet, Path, nil)}, position: r.Since.String(),
	}
	s.addKinds()
	err := s.run(source)
	return w.Body.String(), err
}

// TestStreamExpandHeartbeats: a load with few rows among many others takes long to expand. The client
// must get heartbeats meanwhile, with the position before the load.
func TestStreamExpandHeartbeats(t *testing.T) {
	db, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tr := triple.Triple{Subject: triple.NewIRI("http://ex/s"), Predicate: triple.NewIRI("http://ex/p"), Object: triple.NewString("o")}
	if _, err := store.Add(t.Context(), db, []triple.Triple{tr}); err != nil {
		t.Fatal(err)
	}
	since := feed.Position{Source: 1, Epoch: 7}
	source := &fakeFeed{feed.Batch{
		Position: since.Begin(8), Changes: []feed.Change{{Kind: feed.Load, Stamp: triple.Stamp{Epoch: 8}, Load: &feed.LoadInfo{ID: "9"}}},
	}}
	text, err := answer(t, db, source, &formats[0], feed.Request{Since: since, Heartbeat: time.Nanosecond}, true)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"heartbeat"`) || !strings.Contains(lines[0], since.String()) || !strings.Contains(lines[1], `"load"`) {
		t.Errorf("%s", text)
	}
}

// TestStreamDropsHugeText: a stream that waits does not hold the text of a huge triple.
func TestStreamDropsHugeText(t *testing.T) {
	s := &stream{w: httptest.NewRecorder(), format: &formats[0], r: &request.Request{Request: httptest.NewRequest(http.MethodGet, Path, nil)}}
	huge := feed.Change{Kind: feed.Load, Load: &feed.LoadInfo{ID: strings.Repeat("x", 4<<20)}}
	if err := s.sendBatch(&feed.Batch{Changes: []feed.Change{huge}}); err != nil {
		t.Fatal(err)
	}
	if cap(s.buf) > streamMemory {
		t.Errorf("it holds %d bytes", cap(s.buf))
	}
}

// TestStreamClear: RDF Patch has no place for a clear. Deletes without it would not be complete.
func TestStreamClear(t *testing.T) {
	source := &fakeFeed{feed.Batch{Position: feed.Position{Source: 1, Epoch: 7}, Changes: []feed.Change{{Kind: feed.Clear, Clear: &feed.ClearInfo{All: true}}}}}
	patch := &formats[2]
	for _, kinds := range [][]feed.Kind{nil, {feed.Delete}} {
		if _, err := answer(t, nil, source, patch, feed.Request{Filter: feed.Filter{Kinds: kinds}}, true); err == nil || !strings.Contains(err.Error(), "gone") {
			t.Errorf("%v: %v", kinds, err)
		}
	}
	if _, err := answer(t, nil, source, patch, feed.Request{Filter: feed.Filter{Kinds: []feed.Kind{feed.Add}}}, true); err != nil {
		t.Error(err)
	}
}

// parts is a feed of the batches of a test.
type parts []feed.Batch

func (p parts) Position(context.Context) (feed.Position, error) { return p[len(p)-1].Position, nil }

func (p parts) Changes(context.Context, feed.Request) iter.Seq2[*feed.Batch, error] {
	return func(yield func(*feed.Batch, error) bool) {
		for i := range p {
			b := p[i]
			b.Changes = slices.Clone(b.Changes)
			if !yield(&b, nil) {
				return
			}
		}
	}
}

// TestStreamParts: of a commit that comes in parts, only the last change has a position, also if the end of the commit
// comes without a change.
func TestStreamParts(t *testing.T) {
	before := feed.Position{Source: 1, Epoch: 7}
	behind := before.Begin(8)
	load := func(id string) feed.Change { return feed.Change{Kind: feed.Load, Load: &feed.LoadInfo{ID: id}} }
	part := func(ids ...string) (b feed.Batch) {
		b.Position, b.Continued = before, true
		for _, id := range ids {
			b.Changes = append(b.Changes, load(id))
		}
		return b
	}
	end := func(ids ...string) feed.Batch {
		b := part(ids...)
		b.Position, b.Continued = behind, false
		return b
	}
	for name, source := range map[string]parts{
		"an end without a change": {part("1"), part("2", "3"), part("4"), end()},
		"an end with a change":    {part("1", "2", "3"), end("4")},
		"nothing between":         {part("1", "2", "3"), part(), part("4"), end()},
	} {
		text, err := answer(t, nil, source, &formats[0], feed.Request{Since: before}, false)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(text), "\n")
		for i, line := range lines {
			if !strings.Contains(line, fmt.Sprintf(`"load":"%d"`, i+1)) || strings.Contains(line, before.String()) || strings.Contains(line, behind.String()) != (i == 3) {
				t.Errorf("%s: line %d: %s", name, i, line)
			}
		}
		if len(lines) != 4 {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestStreamClearInParts: a client that cannot take a clear continues behind its whole commit. Otherwise it would come
// to the same clear for ever.
func TestStreamClearInParts(t *testing.T) {
	before := feed.Position{Source: 1, Epoch: 7}
	source := parts{
		{Position: before, Continued: true, Changes: []feed.Change{{Kind: feed.Clear, Clear: &feed.ClearInfo{All: true}}}},
		{Position: before.Begin(8)},
	}
	_, err := answer(t, nil, source, &formats[2], feed.Request{Since: before}, false)
	if e := problem.As(err); e.Kind != problem.KindFeedGone || e.Continue != before.Begin(8).String() {
		t.Errorf("%+v", e)
	}
}

// TestStreamInnerDeadline: a step that ended too late is no client that has gone: the last line says that it may try
// again, because the request goes on.
func TestStreamInnerDeadline(t *testing.T) {
	for _, inner := range []error{context.DeadlineExceeded, context.Canceled} {
		text, err := answer(t, nil, failing{inner}, &formats[0], feed.Request{}, false)
		if err == nil || !strings.Contains(text, `"kind":"unavailable"`) {
			t.Errorf("%v: %v, %s", inner, err, text)
		}
	}
}

// failing is a feed that fails behind its first batch.
type failing struct{ err error }

func (f failing) Position(context.Context) (feed.Position, error) { return feed.Position{}, f.err }

func (f failing) Changes(context.Context, feed.Request) iter.Seq2[*feed.Batch, error] {
	return func(yield func(*feed.Batch, error) bool) {
		if yield(&feed.Batch{}, nil) {
			yield(nil, fmt.Errorf("a message to a member: %w", f.err))
		}
	}
}
