// Tests of the registry.

package queries

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/engine"
)

// TestStop: a running query is listed with its figures, is stopped by its ID, and no other one is, also of another process.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, later := New(time.Second), New(time.Second)
		a, qa := r.Begin(t.Context(), api.QueryInfo{Kind: "query", Text: "ASK {}", User: "client", Request: "r1"})
		time.Sleep(time.Nanosecond)
		b, qb := r.Begin(t.Context(), api.QueryInfo{Kind: "update", Text: "CLEAR ALL"})
		_, qc := later.Begin(t.Context(), api.QueryInfo{Kind: "query", Text: "ASK {}"})
		defer later.End(qc, 0, 200)
		qa.Rows.Add(3)
		qa.Memory.Store(7)
		time.Sleep(5 * time.Millisecond)
		all := r.Running()
		want := api.QueryInfo{ID: qa.info.ID, Kind: "query", Text: "ASK {}", User: "client", Request: "r1", Start: qa.info.Start, Milliseconds: 5, Rows: 3, Memory: 7}
		if len(all) != 2 || all[0] != (api.RunningQuery{QueryInfo: want}) || all[1].ID != qb.info.ID || len(qa.info.ID) != idLength || qa.info.ID == qb.info.ID {
			t.Fatalf("%+v", all)
		}
		if _, ok := r.Stop("NOSUCH"); ok {
			t.Error("an unknown query was stopped")
		}
		if info, ok := r.Stop(qa.info.ID); !ok || info != want {
			t.Errorf("stopped %+v", info)
		}
		if err := Cause(a, a.Err()); !errors.Is(err, engine.ErrStopped) {
			t.Errorf("the stopped query ends with %v", err)
		}
		if _, ok := later.Stop(qa.info.ID); ok {
			t.Error("an ID is of two queries")
		}
		if b.Err() != nil || Cause(b, nil) != nil || Cause(b, context.Canceled) != context.Canceled {
			t.Error("another query was stopped, too")
		}
		r.End(qa, 0, 409)
		r.End(qb, 0, 200)
		if len(r.Running()) != 0 || b.Err() == nil {
			t.Error("queries that ended are listed or keep their contexts")
		}
		if _, ok := r.Stop(qa.info.ID); ok {
			t.Error("a query that ended was stopped")
		}
	})
}

// TestSlow: the latest slow queries are kept, without quick ones and without long texts.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(time.Second)
		run := func(text string, took time.Duration) bool {
			_, q := r.Begin(t.Context(), api.QueryInfo{Text: text})
			time.Sleep(took)
			_, slow := r.End(q, 12, 200)
			return slow
		}
		if run("quick", time.Second-1) || len(r.Slow()) != 0 {
			t.Error("a quick query is slow")
		}
		for range maxSlow {
			run("old", time.Second)
		}
		if !run("x"+strings.Repeat("\u00e4", MaxText), time.Second) {
			t.Error("a slow query is quick")
		}
		all := r.Slow()
		text := all[0].Text
		if len(all) != maxSlow || all[0].Bytes != 12 || all[0].Status != 200 || all[0].Milliseconds != 1000 || all[1].Text != "old" {
			t.Errorf("%d slow ones, the last %+v", len(all), all[0])
		}
		if len(text) > MaxText || len(text) < MaxText-2 || !utf8.ValidString(text) || !strings.HasSuffix(text, "\u00e4...") {
			t.Errorf("%d bytes: %q", len(text), text)
		}
		never := New(-1)
		_, q := never.Begin(t.Context(), api.QueryInfo{})
		time.Sleep(time.Hour)
		if _, slow := never.End(q, 0, 200); slow || len(never.Slow()) != 0 {
			t.Error("a query is slow without a limit")
		}
	})
}
