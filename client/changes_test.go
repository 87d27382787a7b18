// Tests of Changes: broken connections, positions, and kinds.

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

func quad(s string) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(ex + s), Predicate: triple.NewIRI(ex + "p"), Object: triple.NewLang("o", "en"), Graph: triple.NewBlank("g")}
}

func add(t testing.TB, db *store.Store, subjects ...string) {
	t.Helper()
	for _, s := range subjects {
		if _, err := store.Add(context.Background(), db, []triple.Triple{quad(s)}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestChangesKinds reads each kind of change.
func TestChangesKinds(t *testing.T) {
	url, db := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	ctx := context.Background()
	add(t, db, "a")
	if err := store.Annotate(ctx, db, quad("a"), "app", []byte{0, 255}); err != nil {
		t.Fatal(err)
	}
	if err := store.Annotate(ctx, db, quad("a"), "app", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Load(ctx, strings.NewReader("<http://example.org/x> <http://example.org/p> \"1\" .\n"), client.LoadOptions{ContentType: "application/n-triples"}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Delete(ctx, db, []triple.Triple{quad("a")}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Update(ctx, "CLEAR ALL", client.QueryOptions{}); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for change, err := range c.Feed.Changes(ctx, client.ChangesOptions{Since: "0", End: true}) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, change.Kind)
		switch change.Kind {
		case "add", "delete", "annotate":
			if change.Triple != quad("a") {
				t.Errorf("%s of %v", change.Kind, change.Triple)
			}
			if change.Kind == "annotate" && change.Removed == (string(change.Data) == "\x00\xff") {
				t.Errorf("%+v", change)
			}
		case "load":
			if change.New != 1 || change.Load == "" {
				t.Errorf("%+v", change)
			}
		}
		if change.Position == "" || change.Epoch == 0 || change.Time.IsZero() {
			t.Errorf("%+v", change)
		}
	}
	if got := strings.Join(kinds, " "); got != "add annotate annotate load delete clear" && got != "add annotate annotate load delete delete" {
		t.Error(got)
	}
}

// TestChangesReconnect breaks each connection after some bytes. Every change must come, in order.
func TestChangesReconnect(t *testing.T) {
	url, db := startNode(t, server.Options{})
	w := newNetwork(t, func(n int, _ *http.Request) fate { return fate{cut: 3000, refuse: n%3 == 2} })
	c := newClient(t, url, client.Options{HTTPClient: &http.Client{Transport: w}, Retries: 3})
	since, err := c.Feed.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprintf("s%02d", i))
		add(t, db, want[i])
	}
	var got []string
	for change, err := range c.Feed.Changes(t.Context(), client.ChangesOptions{Since: since}) {
		if err != nil {
			t.Fatal(err)
		}
		s := strings.TrimPrefix(change.Triple.Subject.Value(), ex)
		if len(got) == 0 || s > got[len(got)-1] {
			got = append(got, s)
		}
		if len(got) == len(want) {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Error(got)
	}
	if w.requests() < 5 {
		t.Errorf("only %d requests", w.requests())
	}
}

// TestChangesEnds checks the ends: a context, a foreign position, and a node that is gone.
func TestChangesEnds(t *testing.T) {
	url, db := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	add(t, db, "a")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for change, err := range c.Feed.Changes(ctx, client.ChangesOptions{Since: "0"}) {
		if last = err; err == nil && change.Kind == "add" {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Error(last)
	}
	for _, err := range c.Feed.Changes(t.Context(), client.ChangesOptions{Since: "7"}) {
		if last = err; !errors.Is(err, client.ErrBadRequest) {
			t.Error(err)
		}
	}
	unreachable := newClient(t, "http://127.0.0.1:1", client.Options{Retries: 2})
	n := 0
	for _, err := range unreachable.Feed.Changes(t.Context(), client.ChangesOptions{}) {
		if n++; err == nil {
			t.Error("no error")
		}
	}
	if n != 1 {
		t.Error(n)
	}
}

// heartbeatLine is a line without a change. unavailableLine is the last one of a node that shuts down.
const (
	heartbeatLine   = `{"kind":"heartbeat","time":"2026-11-26T15:00:00.000Z","position":"0"}` + "\n"
	unavailableLine = `{"error":{"kind":"unavailable","message":"the node is shutting down","where":""}}` + "\n"
)

// TestChangesShutdown checks that the end of a node is a broken connection: the client connects again,
// and one that gets behind a line each time never gives up.
func TestChangesShutdown(t *testing.T) {
	url, db := startNode(t, server.Options{})
	add(t, db, "a")
	w := newNetwork(t, func(n int, _ *http.Request) fate {
		if n == 10 {
			return fate{}
		}
		return fate{instead: &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(heartbeatLine + unavailableLine))}}
	})
	c := newClient(t, url, client.Options{HTTPClient: &http.Client{Transport: w}, Retries: 2})
	var got []string
	for change, err := range c.Feed.Changes(t.Context(), client.ChangesOptions{Since: "0", End: true}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, change.Triple.Subject.Value())
	}
	if !slices.Equal(got, []string{ex + "a"}) || w.requests() != 11 {
		t.Errorf("%v by %d requests", got, w.requests())
	}
}

// TestChangesUnavailable checks that a node that sends nothing but errors is given up.
func TestChangesUnavailable(t *testing.T) {
	w := newNetwork(t, func(int, *http.Request) fate {
		return fate{instead: &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(unavailableLine))}}
	})
	c := newClient(t, "http://node", client.Options{HTTPClient: &http.Client{Transport: w}, Retries: 2})
	for _, err := range c.Feed.Changes(t.Context(), client.ChangesOptions{Since: "0"}) {
		if !errors.Is(err, client.ErrUnavailable) {
			t.Error(err)
		}
	}
	if w.requests() != 3 {
		t.Errorf("%d requests", w.requests())
	}
}

// lineBody is the body of an answer whose lines arrive one by one, as long as its request lives.
type lineBody struct {
	ctx   context.Context
	lines []string
}

func (b *lineBody) Close() error { return nil }

func (b *lineBody) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if len(b.lines) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.lines[0])
	b.lines = b.lines[1:]
	return n, nil
}

// TestChangesSlowConsumer checks that the time of the consumer is not taken for the node's silence:
// else it would get the first changes of a commit again and again.
func TestChangesSlowConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		w := transportFunc(func(r *http.Request) (*http.Response, error) {
			requests++
			return &http.Response{StatusCode: http.StatusOK, Request: r, Body: &lineBody{r.Context(), []string{
				`{"kind":"load","load":"1","epoch":1,"sequence":1,"time":"2026-11-26T15:00:00.000Z"}` + "\n",
				`{"kind":"load","load":"2","epoch":1,"sequence":1,"time":"2026-11-26T15:00:00.000Z","position":"1"}` + "\n",
			}}}, nil
		})
		c := newClient(t, "http://node", client.Options{HTTPClient: &http.Client{Transport: w}})
		var got []string
		for change, err := range c.Feed.Changes(t.Context(), client.ChangesOptions{Since: "0", End: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, change.Load); len(got) > 4 {
				break
			}
			time.Sleep(time.Minute) // of the bubble
		}
		if !slices.Equal(got, []string{"1", "2"}) || requests != 1 {
			t.Errorf("%v by %d requests", got, requests)
		}
	})
}

// transportFunc is a transport in memory.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
