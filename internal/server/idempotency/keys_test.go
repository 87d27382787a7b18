// Bounds of the remembered answers.

package idempotency

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/store"
)

// Answers are kept for some time, and so many; those under way always.
func TestKeysAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := New(t.Context())
		running, _ := k.begin("running")
		r, err := http.NewRequest("DELETE", "http://e.x/triples", nil)
		if err != nil {
			t.Fatal(err)
		}
		made := func(key string, body int) {
			entry, fresh := k.begin(key)
			if !fresh {
				t.Fatalf("%s is known", key)
			}
			k.end(entry, &recording{status: 200, body: make([]byte, body)}, request.NewDigestBody(r))
		}
		made("first", 10)
		for i := range 40 {
			made(fmt.Sprint(i), 1<<20)
		}
		if k.bytes > maxAnswerBytes+2<<20 {
			t.Errorf("%d bytes are kept", k.bytes)
		}
		if _, fresh := k.begin("first"); !fresh {
			t.Error("the oldest is kept")
		}
		if _, fresh := k.begin("39"); fresh {
			t.Error("the newest is forgotten")
		}
		time.Sleep(keyWindow)
		if _, fresh := k.begin("39"); !fresh {
			t.Error("an answer is kept for too long")
		}
		if entry, fresh := k.begin("running"); fresh || entry != running {
			t.Error("what is under way is forgotten")
		}
	})
}

// TestInnerDeadline: a change with a key whose error has a kind keeps it, whatever deadline of an inner step it wraps. Only
// an error without a kind leaves the outcome unknown.
func TestInnerDeadline(t *testing.T) {
	for _, inner := range []error{context.DeadlineExceeded, context.Canceled} {
		for i, c := range []struct {
			err  error
			want problem.Kind
		}{
			{fmt.Errorf("%w: %w", store.ErrBusy, inner), problem.KindBusy},
			{fmt.Errorf("%w: %w", store.ErrUnavailable, inner), problem.KindUnavailable},
			{fmt.Errorf("%w: %w", store.ErrUnknown, inner), problem.KindUnknownOutcome},
			{fmt.Errorf("a step: %w", inner), problem.KindUnknownOutcome},
		} {
			of := httptest.NewRequest(http.MethodDelete, "/triples", nil)
			of.Header.Set(request.KeyHeader, fmt.Sprint("key ", i))
			r := &request.Request{Request: of, Digest: request.NewDigestBody(of)}
			err := New(t.Context()).RunOnce(httptest.NewRecorder(), r, func(http.ResponseWriter, *request.Request) error { return c.err })
			if e := problem.As(err); e.Kind != c.want {
				t.Errorf("%v: %s, want %s", c.err, e.Kind, c.want)
			}
		}
	}
}
