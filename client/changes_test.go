// Tests of Changes: broken connections, positions, and kinds.

package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

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
		if _, err := db.Add(context.Background(), []triple.Triple{quad(s)}); err != nil {
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
	if err := db.Annotate(ctx, quad("a"), "app", []byte{0, 255}); err != nil {
		t.Fatal(err)
	}
	if err := db.Annotate(ctx, quad("a"), "app", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Load(ctx, strings.NewReader("<http://example.org/x> <http://example.org/p> \"1\" .\n"), client.LoadOptions{ContentType: "application/n-triples"}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Delete(ctx, []triple.Triple{quad("a")}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Update(ctx, "CLEAR ALL", client.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for change, err := range c.Changes(ctx, client.ChangesOptions{Since: "0", End: true}) {
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
	since, err := c.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprintf("s%02d", i))
		add(t, db, want[i])
	}
	var got []string
	for change, err := range c.Changes(t.Context(), client.ChangesOptions{Since: since}) {
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
	for change, err := range c.Changes(ctx, client.ChangesOptions{Since: "0"}) {
		if last = err; err == nil && change.Kind == "add" {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Error(last)
	}
	for _, err := range c.Changes(t.Context(), client.ChangesOptions{Since: "7"}) {
		if last = err; !errors.Is(err, client.ErrBadRequest) {
			t.Error(err)
		}
	}
	unreachable := newClient(t, "http://127.0.0.1:1", client.Options{Retries: 2})
	n := 0
	for _, err := range unreachable.Changes(t.Context(), client.ChangesOptions{}) {
		if n++; err == nil {
			t.Error("no error")
		}
	}
	if n != 1 {
		t.Error(n)
	}
}
