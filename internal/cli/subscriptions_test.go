// trefoil subscriptions against a server.

package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/readcount"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/subscriptions"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/serving"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
	"github.com/trefoildb/trefoil/triple"
)

func TestSubscriptions(t *testing.T) {
	// 1. Serve a store with subscriptions.
	db := storetest.Open(t)
	check := func(target string) error {
		if target != "https://example.org/" {
			return errors.New("not allowed")
		}
		return nil
	}
	registry := &subscriptions.Registry{Store: db, Filter: server.Filter, CheckURL: check, Key: []byte("key")}
	counter := readcount.Start(readcount.Options{Registry: registry, Every: time.Millisecond})
	t.Cleanup(counter.Close)
	to := serving.Serve(t, db, server.Options{Subscriptions: registry, Reads: counter})
	// 2. Run the commands.
	for _, step := range []struct {
		args   []string
		code   int
		stdout string // a part of it
	}{
		{[]string{"put", "names", "--pattern", "? <http://e.x/name> ?", "--kinds", "add,delete", "--url", "https://example.org/"}, exitDone, `"secret":"whsec_`},
		{[]string{"put", "own"}, exitDone, `"changes":"/changes?since=`},
		{[]string{"put", "bad", "--url", "https://forbidden.example/"}, exitFailed, ""},
		{[]string{"put", "bad", "--pattern", "x"}, exitUsage, ""},
		{[]string{"list"}, exitDone, "names  kinds=add,delete p=<http://e.x/name>  0        0         0     https://example.org/"},
		{[]string{"list", "--json"}, exitDone, `"name":"own"`},
		{[]string{"get", "names"}, exitDone, `"position":"`},
		{[]string{"delete", "names"}, exitDone, ""},
		{[]string{"delete", "names"}, exitFailed, ""},
		{[]string{"get", "names"}, exitFailed, ""},
		{[]string{"put", "ages", "--order", "pos", "--prefix", "<http://e.x/age>", "--ge", "10", "--lt", "20"}, exitDone, `"order":"pos"`},
		{[]string{"put", "bad", "--ge", "10"}, exitUsage, ""},
		{[]string{"put", "reads", "--kinds", "read", "--pattern", "? <http://e.x/b> ?"}, exitDone, `subscription=reads`},
	} {
		code, stdout, stderr := run(t, "", append(append([]string{"subscriptions"}, step.args...), "--to", to)...)
		if code != step.code || !strings.Contains(strings.ReplaceAll(stdout, `": `, `":`), step.stdout) {
			t.Errorf("%v: code %d\n%s%s", step.args, code, stdout, stderr)
		}
	}
	// 3. An application moves its own position.
	c, err := client.New(to, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := store.Add(t.Context(), db, []triple.Triple{{Subject: triple.NewIRI("http://e.x/a"), Predicate: triple.NewIRI("http://e.x/b"), Object: triple.NewString("c")}}); err != nil {
		t.Fatal(err)
	}
	end, err := db.Feed().Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Subscriptions.Advance(t.Context(), "own", end.String()); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Subscriptions.Get(t.Context(), "own"); err != nil || s.State.Position != end.String() {
		t.Fatal(s, err)
	}
	// 4. Reads reach the client and the command.
	p := triple.Pattern{Predicate: triple.NewIRI("http://e.x/b")}
	await.Condition(t, "reads are counted", counter.Active)
	if n, err := c.Count(t.Context(), p); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	for change, err := range c.Feed.Changes(t.Context(), client.ChangesOptions{Since: "0", Subscription: "reads"}) {
		if err != nil {
			t.Fatal(err)
		}
		r := change.Read
		if change.Kind != "read" || r.Pattern != p || r.Caller != "anonymous" || r.Reads != 1 || r.Rows != 1 || r.Other || r.Run == "" || r.Batch != 1 || r.First.After(r.Last) {
			t.Errorf("%s: %+v", change.Kind, r)
		}
		break
	}
	if code, stdout, stderr := run(t, "", "watch", "--since", "0", "--end", "--subscription", "reads", "--to", to); code != exitDone || !strings.Contains(stdout, `"kind":"read"`) {
		t.Error(code, stdout, stderr)
	}
}
