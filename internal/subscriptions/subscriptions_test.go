// Tests of the registry and of deliveries, on a lone store.

package subscriptions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/webhook"
	"github.com/trefoildb/trefoil/triple"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func iri(name string) triple.Term { return triple.NewIRI("http://ex/" + name) }

func number(p string, n int) triple.Triple {
	return triple.Triple{Subject: iri("s"), Predicate: iri(p), Object: triple.NewString(fmt.Sprint(n))}
}

// parseFilter knows the parameters p, g and kinds.
func parseFilter(params map[string]string) (f feed.Filter, err error) {
	for name, text := range params {
		switch name {
		case "p":
			f.Pattern.Predicate = iri(text)
		case "g":
			f.Pattern.Graph = triple.NewIRI(text)
		case "kinds":
			for kind := range strings.SplitSeq(text, ",") {
				k, err := feed.ParseKind(kind)
				if err != nil {
					return f, err
				}
				f.Kinds = append(f.Kinds, k)
			}
		default:
			return f, fmt.Errorf("unknown parameter %q", name)
		}
	}
	return f, nil
}

// simulate runs a test in virtual time.
func simulate(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) { f(t, newWorld(t)) })
}

// world is a store with a receiver.
type world struct {
	t        *testing.T
	store    *store.Store
	registry *Registry
	receiver *receiver
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, "data", memdisk.New())
}

func newWorldOn(t *testing.T, dir string, disk vfs.FS) *world {
	t.Helper()
	return newWorldOf(t, dir, store.Options{FS: disk})
}

func newWorldOf(t *testing.T, dir string, o store.Options) *world {
	t.Helper()
	s, err := store.Open(dir, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, store: s, receiver: &receiver{got: map[string][]string{}, changed: make(chan struct{}, 1)}}
	w.registry = &Registry{Store: s, Filter: parseFilter, CheckURL: func(string) error { return nil }, Key: []byte("key")}
	return w
}

// start runs a manager that the test closes.
func (w *world) start(o Options) *Manager {
	w.t.Helper()
	o.Registry = w.registry
	if o.Sender == nil {
		o.Sender = w.receiver
	}
	if o.Policy == (webhook.Policy{}) {
		o.Policy = webhook.Policy{FirstWait: time.Millisecond, MaxWait: 20 * time.Millisecond}
	}
	o.OwnerEvery = 5 * time.Millisecond
	m, err := Start(o)
	require.NoError(w.t, err)
	w.t.Cleanup(m.Close)
	return m
}

func (w *world) put(name string, filter map[string]string) {
	w.t.Helper()
	if _, err := w.registry.Put(w.t.Context(), Caller{Operator: true}, Definition{Name: name, Filter: filter, URL: "https://ex/" + name}, ""); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) add(triples ...triple.Triple) {
	w.t.Helper()
	if _, err := store.Add(w.t.Context(), w.store, triples); err != nil {
		w.t.Fatal(err)
	}
}

// until waits for a condition that deliveries make true.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.After(10 * time.Minute)     // of virtual time, except for TestWebhook
	poll := time.NewTicker(5 * time.Millisecond) // the states are stored behind the deliveries
	defer poll.Stop()
	for !ok() {
		select {
		case <-w.receiver.changed:
		case <-poll.C:
		case <-deadline:
			w.t.Fatalf("not in time: %s", what)
		}
	}
}

func (w *world) state(name string) State {
	w.t.Helper()
	s, err := w.registry.Get(w.t.Context(), name)
	require.NoError(w.t, err)
	return s.State
}

// receiver records the objects of the changes that it accepts, by URL.
type receiver struct {
	mu      sync.Mutex
	got     map[string][]string
	tries   int
	fail    func(m *webhook.Message, try int) error
	changed chan struct{}
}

func (r *receiver) Send(ctx context.Context, m *webhook.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() {
		select {
		case r.changed <- struct{}{}:
		default:
		}
	}()
	r.tries++
	if r.fail != nil {
		if err := r.fail(m, r.tries); err != nil {
			return err
		}
	}
	for line := range strings.Lines(string(m.Body)) {
		var change struct {
			Kind string
			O    struct{ Value string }
		}
		if err := json.Unmarshal([]byte(line), &change); err != nil {
			return err
		}
		text := change.Kind + " " + change.O.Value
		r.got[m.URL] = append(r.got[m.URL], strings.TrimSpace(text))
	}
	return nil
}

// count returns the number of messages.
func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tries
}

func (r *receiver) of(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got["https://ex/"+name])
}

// TestRegistry checks what is stored and refused.
func TestRegistry(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	r := w.registry
	r.CheckURL = func(url string) error {
		if url == "https://forbidden/" {
			return errors.New("forbidden host")
		}
		return nil
	}
	for name, d := range map[string]Definition{
		"letters":        {Name: "a b", URL: "https://ex/"},
		"1 to":           {URL: "https://ex/"},
		"100":            {Name: strings.Repeat("a", 101), URL: "https://ex/"},
		"unknown param":  {Name: "a", Filter: map[string]string{"x": "y"}},
		`kind "fly"`:     {Name: "a", Filter: map[string]string{"kinds": "add,fly"}},
		"forbidden host": {Name: "a", URL: "https://forbidden/"},
	} {
		if _, err := r.Put(ctx, Caller{}, d, ""); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v, want %q", d, err, name)
		}
	}
	if _, err := r.Put(ctx, Caller{}, Definition{Name: "a"}, "nonsense"); !errors.Is(err, ErrInvalid) || !errors.Is(err, feed.ErrPosition) {
		t.Error(err)
	}
	// 1. A new one begins at the end of the feed; a changed one keeps its position.
	w.add(number("p", 1))
	end, err := w.store.Feed().Position(ctx)
	require.NoError(t, err)
	created, err := r.Put(ctx, Caller{}, Definition{Name: "b", URL: "https://ex/1", Filter: map[string]string{"p": "p", "kinds": "delete,add"}}, "")
	if err != nil || !created || w.state("b").Position != end.String() {
		t.Fatal(created, err, w.state("b"))
	}
	w.add(number("p", 2))
	if created, err = r.Put(ctx, Caller{}, Definition{Name: "b", URL: "https://ex/2"}, ""); err != nil || created || w.state("b").Position != end.String() {
		t.Fatal(created, err, w.state("b"))
	}
	if _, err = r.Put(ctx, Caller{}, Definition{Name: "a"}, "0"); err != nil || w.state("a").Position != "0" {
		t.Fatal(err)
	}
	list, err := r.List(ctx)
	if err != nil || len(list) != 2 || list[0].Name != "a" || list[1].URL != "https://ex/2" {
		t.Fatal(list, err)
	}
	// 2. An application moves its own position, forwards only.
	if err := r.Advance(ctx, Caller{}, "a", end.String()); err != nil || w.state("a").Position != end.String() {
		t.Fatal(err)
	}
	if err := r.Advance(ctx, Caller{}, "a", "0"); err != nil || w.state("a").Position != end.String() {
		t.Fatal(err)
	}
	other := feed.Position{Source: end.Source + 1, Epoch: end.Epoch + 1}
	if err := r.Advance(ctx, Caller{}, "a", other.String()); !errors.Is(err, ErrInvalid) || w.state("a").Position != end.String() {
		t.Error(err)
	}
	if err := r.Advance(ctx, Caller{}, "b", end.String()); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	r.Key = nil
	if _, err := r.Put(ctx, Caller{}, Definition{Name: "c", URL: "https://ex/"}, ""); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "--webhook-key-file") {
		t.Fatal(err)
	}
	// 3. Deletion.
	require.NoError(t, r.Delete(ctx, Caller{}, "b"))
	if err := r.Delete(ctx, Caller{}, "b"); !errors.Is(err, ErrUnknown) {
		t.Fatal(err)
	}
	if _, err := r.Get(ctx, "b"); !errors.Is(err, ErrUnknown) {
		t.Fatal(err)
	}
	if list, err = r.List(ctx); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
}

// TestDeliver checks that each subscription gets its changes, in order, once while nothing fails,
// and continues behind them after a restart.
func TestDeliver(t *testing.T) { simulate(t, testDeliver) }

func testDeliver(t *testing.T, w *world) {
	w.put("early", map[string]string{"p": "p"})
	m := w.start(Options{})
	w.put("late", map[string]string{"p": "q", "kinds": "delete"})
	w.put("all", nil)
	var want, deletes []string
	step := func(n int) {
		w.add(number("p", n), number("q", n))
		if _, err := store.Delete(t.Context(), w.store, []triple.Triple{number("q", n)}); err != nil {
			t.Fatal(err)
		}
		want, deletes = append(want, fmt.Sprint("add ", n)), append(deletes, fmt.Sprint("delete ", n))
	}
	for n := range 20 {
		step(n)
	}
	check := func() {
		t.Helper()
		w.until("all changes", func() bool {
			return len(w.receiver.of("early")) >= len(want) && len(w.receiver.of("late")) >= len(want) && len(w.receiver.of("all")) >= 3*len(want)
		})
		if got := w.receiver.of("early"); !slices.Equal(got, want) {
			t.Errorf("early: %v", got)
		}
		if got := w.receiver.of("late"); !slices.Equal(got, deletes) {
			t.Errorf("late: %v", got)
		}
		if got := w.receiver.of("all"); len(got) != 3*len(want) {
			t.Errorf("all: %v", got) // without changes of the system graph
		}
	}
	check()
	// A batch comes again if its delivery was not recorded before the restart, so wait for the records.
	w.until("the records", func() bool {
		return w.state("early").Changes == 20 && w.state("late").Changes == 20 && w.state("all").Changes == 60
	})
	// A restart. Changes while nobody delivers are not lost.
	m.Close()
	step(20)
	m = w.start(Options{})
	check()
	// A deleted subscription gets nothing.
	require.NoError(t, w.registry.Delete(t.Context(), Caller{}, "early"))
	w.until("the deletion", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.names["early"] == nil
	})
	w.add(number("p", 99))
	w.until("the other", func() bool { return slices.Contains(w.receiver.of("all"), "add 99") })
	if slices.Contains(w.receiver.of("early"), "add 99") {
		t.Error("a deleted subscription got a change")
	}
}

// TestRevoked checks that a webhook gets annotations only while its owner may read them: it may have been
// stored before its grant was taken back.
func TestRevoked(t *testing.T) { simulate(t, testRevoked) }

func testRevoked(t *testing.T, w *world) {
	for _, owner := range []string{"a", "b"} {
		if _, err := w.registry.Put(t.Context(), Caller{Owner: owner, Operator: true}, Definition{Name: owner, Filter: map[string]string{"p": "p"}, URL: "https://ex/" + owner}, ""); err != nil {
			t.Fatal(err)
		}
	}
	w.start(Options{MayRead: func(owner, id string) bool { return id == owner || id == "open" }})
	w.add(number("p", 1))
	for _, app := range []string{"a", "a", "open"} {
		if _, err := store.AnnotateIf(t.Context(), w.store, number("p", 1), app, []byte("x"), store.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	w.until("all of a", func() bool {
		return slices.Equal(w.receiver.of("a"), []string{"add 1", "annotate 1", "annotate 1", "annotate 1"})
	})
	w.until("one of b", func() bool { return slices.Equal(w.receiver.of("b"), []string{"add 1", "annotate 1"}) })
}

// TestSystemGraph checks that a subscription of the system graph gets definitions, and no states.
func TestSystemGraph(t *testing.T) { simulate(t, testSystemGraph) }

func testSystemGraph(t *testing.T, w *world) {
	w.start(Options{})
	// One that no operator stored gets no annotations that only operators may read, in no graph. The
	// first one gets the triples of all.
	for _, d := range []Definition{{Name: "client", Filter: map[string]string{"g": systemgraph.IRI}}, {Name: "clients", Filter: map[string]string{"p": "noted"}}} {
		d.URL = "https://ex/" + d.Name
		if _, err := w.registry.Put(t.Context(), Caller{}, d, ""); err != nil {
			t.Fatal(err)
		}
	}
	w.add(number("noted", 1))
	for _, app := range []string{systemgraph.Definition, systemgraph.Registration, systemgraph.Reads, "app"} {
		if _, err := store.AnnotateIf(t.Context(), w.store, number("noted", 1), app, []byte("{}"), store.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	w.until("the annotation", func() bool { return slices.Equal(w.receiver.of("clients"), []string{"add 1", "annotate 1"}) })
	w.put("system", map[string]string{"g": systemgraph.IRI})
	w.put("other", map[string]string{"p": "p"})
	w.add(number("p", 1))
	w.until("the changes", func() bool { return len(w.receiver.of("system")) >= 2 && len(w.receiver.of("other")) == 1 })
	w.put("third", nil)
	w.until("the third", func() bool { return slices.Contains(w.receiver.of("system")[2:], "add urn:trefoil:Subscription") })
	for _, line := range w.receiver.of("system") {
		if line != "add urn:trefoil:Subscription" && line != "annotate urn:trefoil:Subscription" {
			t.Error(line)
		}
	}
	if got := len(w.receiver.of("system")); got > 6 {
		t.Errorf("%d lines: states are delivered", got)
	}
	w.until("the additions", func() bool { return len(w.receiver.of("client")) >= 5 })
	if got := w.receiver.of("client"); slices.ContainsFunc(got, func(line string) bool { return line != "add urn:trefoil:Subscription" }) {
		t.Errorf("a client got %v", got)
	}
}

// TestRetry checks that failed batches are sent again until they arrive, that others do not wait for
// them, and that a failure of the store's state does not lose anything.
func TestRetry(t *testing.T) { simulate(t, testRetry) }

func testRetry(t *testing.T, w *world) {
	w.receiver.fail = func(m *webhook.Message, try int) error {
		if m.URL == "https://ex/bad" && try%4 != 0 {
			return &webhook.StatusError{Status: "500 Internal Server Error"}
		}
		return nil
	}
	w.start(Options{Workers: 4, BatchBytes: 1})
	w.put("bad", map[string]string{"p": "p"})
	w.put("good", map[string]string{"p": "p"})
	var want []string
	for n := range 10 {
		w.add(number("p", n))
		want = append(want, fmt.Sprint("add ", n))
	}
	w.until("all changes", func() bool { return len(w.receiver.of("bad")) == 10 && len(w.receiver.of("good")) == 10 })
	if !slices.Equal(w.receiver.of("bad"), want) || !slices.Equal(w.receiver.of("good"), want) {
		t.Errorf("%v, %v", w.receiver.of("bad"), w.receiver.of("good"))
	}
	w.until("the state", func() bool {
		s := w.state("bad")
		return s.Batches == 10 && s.Failures == 0 && strings.Contains(s.LastError, "500") && s.DeadLetters == 0
	})
}

// TestDeadLetter checks that a batch that is given up is recorded, and can be read from the feed by
// its positions. A request in several parts is given up as a whole.
func TestDeadLetter(t *testing.T) { simulate(t, testDeadLetter) }

func testDeadLetter(t *testing.T, w *world) {
	var broken atomic.Bool
	broken.Store(true)
	w.receiver.fail = func(m *webhook.Message, _ int) error {
		if broken.Load() && strings.Contains(string(m.Body), `"value":"2"`) {
			return errors.New("receiver is broken")
		}
		return nil
	}
	w.start(Options{Policy: webhook.Policy{FirstWait: time.Millisecond, MaxWait: time.Millisecond, MaxTries: 3}, BatchBytes: 1})
	w.put("sub", map[string]string{"p": "p"})
	w.add(number("p", 0))
	w.add(number("p", 1), number("p", 2), number("p", 3)) // one request: parts of one triple each
	w.add(number("p", 4))
	w.until("the last change", func() bool { return slices.Contains(w.receiver.of("sub"), "add 4") })
	w.until("the dead letter", func() bool { return w.state("sub").DeadLetters == 1 && w.state("sub").Failures == 0 })
	if slices.Contains(w.receiver.of("sub"), "add 2") {
		t.Error("the broken change arrived")
	}
	// The positions of the dead letter enclose the request.
	d := w.state("sub").Dead[0]
	from, err := feed.ParsePosition(d.From)
	if err != nil || d.Changes != 3 || !strings.Contains(d.Error, "receiver is broken") {
		t.Fatal(d, err)
	}
	to, err := feed.ParsePosition(d.To)
	require.NoError(t, err)
	n := 0
	for b, err := range w.store.Feed().Changes(t.Context(), feed.Request{Since: from, Filter: feed.Filter{Pattern: triple.Pattern{Predicate: iri("p")}}}) {
		require.NoError(t, err)
		for i := range b.Changes {
			if to.Covers(b.Changes[i].Sequencer, b.Changes[i].Stamp) {
				n++
			}
		}
	}
	if n != 3 {
		t.Errorf("%d changes between the positions", n)
	}
}

// TestFailureOfPower: a batch had failed long before the machine came back. It is tried as if the first try
// had been now.
func TestFailureOfPower(t *testing.T) { simulate(t, testFailureOfPower) }

func testFailureOfPower(t *testing.T, w *world) {
	w.put("sub", map[string]string{"p": "p"})
	w.add(number("p", 0))
	s, err := w.registry.Get(t.Context(), "sub")
	require.NoError(t, err)
	since := time.Now().Add(-3 * time.Hour)
	s.State.Failures, s.State.FailingSince = 1, &since
	require.NoError(t, w.registry.save(t.Context(), s))
	w.receiver.fail = func(_ *webhook.Message, try int) error {
		if try < 5 {
			return errors.New("it starts, too")
		}
		return nil
	}
	w.start(Options{Policy: webhook.Policy{FirstWait: time.Second}})
	w.until("the change", func() bool { return slices.Contains(w.receiver.of("sub"), "add 0") })
	w.until("the state", func() bool { return w.state("sub").Failures == 0 })
	if got := w.state("sub"); got.DeadLetters > 0 {
		t.Errorf("it was given up: %+v", got)
	}
}

// TestMalformed: annotations that are no subscription's, as operators may load them, disturb no others.
func TestMalformed(t *testing.T) { simulate(t, testMalformed) }

func testMalformed(t *testing.T, w *world) {
	ctx := systemgraph.WithOperator(t.Context())
	for _, name := range []string{"good", "bad", "worse", "other"} {
		w.put(name, map[string]string{"p": "p"})
	}
	set := func(name, app, text string) {
		t.Helper()
		if _, err := store.AnnotateIf(ctx, w.store, entry(name), app, []byte(text), store.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	set("bad", appDefinition, "{")
	set("other", appDefinition, `{"name":"good","url":"https://ex/other","filter":{"p":"p"}}`)
	m := w.start(Options{})
	w.until("all are known", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.names) == 3
	})
	set("worse", appDefinition, "[]") // beside the manager
	w.add(number("p", 0))
	for _, name := range []string{"good", "other"} {
		w.until(name, func() bool { return slices.Equal(w.receiver.of(name), []string{"add 0"}) })
	}
	list, err := w.registry.List(ctx)
	if err != nil || len(list) != 4 || list[0].Name != "bad" || !strings.Contains(list[0].State.LastError, "malformed") {
		t.Error(list, err)
	}
	if err := w.registry.Delete(ctx, Caller{}, "bad"); err == nil {
		t.Error("a client deleted what operators have set")
	}
	if err := w.registry.Delete(ctx, Caller{All: true}, "bad"); err != nil {
		t.Error(err)
	}
}

// TestGap checks that a position that the feed does not reach is reported to the receiver.
func TestGap(t *testing.T) { simulate(t, testGap) }

func testGap(t *testing.T, w *world) {
	other := feed.Position{Source: 12345, Epoch: 1, Marks: []feed.Mark{{Sequence: 7}}}
	failing := true
	w.receiver.fail = func(*webhook.Message, int) error {
		defer func() { failing = false }()
		if failing {
			return errors.New("not yet")
		}
		return nil
	}
	// It is stored, as in a store that was restored from a backup, and refused of a request.
	w.put("sub", map[string]string{"p": "p"})
	s, err := w.registry.Get(t.Context(), "sub")
	require.NoError(t, err)
	s.State.Position = other.String()
	require.NoError(t, w.registry.save(t.Context(), s))
	if _, err := w.registry.Put(t.Context(), Caller{}, s.Definition, other.String()); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "another store") {
		t.Error(err)
	}
	w.start(Options{})
	w.until("the gap", func() bool { return slices.Equal(w.receiver.of("sub"), []string{"gone"}) })
	w.add(number("p", 1))
	w.until("the change", func() bool { return slices.Equal(w.receiver.of("sub"), []string{"gone", "add 1"}) })
	w.until("the record", func() bool {
		s := w.state("sub")
		return s.DeadLetters == 1 && s.Dead[0].From == other.String() && strings.Contains(s.Dead[0].Error, "another store")
	})
}

// TestOwners moves subscriptions between two managers, as between members of a cluster, while
// changes are made and the receiver fails. Nothing is lost, and the order holds.
func TestOwners(t *testing.T) { simulate(t, testOwners) }

func testOwners(t *testing.T, w *world) {
	w.receiver.fail = func(_ *webhook.Message, try int) error {
		if try%3 == 0 {
			return errors.New("sometimes")
		}
		return nil
	}
	var owner atomic.Int32
	for i := range int32(2) {
		w.start(Options{Owns: func([]byte) bool { return owner.Load() == i }, BatchBytes: 300})
	}
	const names, changes = 5, 60
	for i := range names {
		w.put(fmt.Sprint("sub", i), map[string]string{"p": "p"})
	}
	for n := range changes {
		w.add(number("p", n))
		if n%10 == 9 {
			owner.Store(1 - owner.Load())
		}
	}
	for i := range names {
		name := fmt.Sprint("sub", i)
		w.until("all of "+name, func() bool { return slices.Contains(w.receiver.of(name), fmt.Sprint("add ", changes-1)) })
		// With repeats removed, each change is there in order: a repeat goes back to a position.
		next := 0
		for _, line := range w.receiver.of(name) {
			if line == fmt.Sprint("add ", next) {
				next++
			}
		}
		if next != changes {
			t.Errorf("%s misses add %d: %v", name, next, w.receiver.of(name))
		}
	}
}

// TestWebhook delivers to a real server, which checks the signature.
func TestWebhook(t *testing.T) {
	w := newWorld(t)
	secret := make(chan string, 1)
	var accepted atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		text := <-secret
		secret <- text
		key, err := webhook.ParseSecret(text)
		body := make([]byte, r.ContentLength)
		if _, readErr := r.Body.Read(body); err != nil || readErr != nil && readErr.Error() != "EOF" {
			t.Error(err, readErr)
		}
		if !webhook.Verify(key, r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), r.Header.Get("webhook-signature"), body, time.Now(), time.Minute) {
			t.Error("the signature is wrong")
		}
		accepted.Add(int64(strings.Count(string(body), "\n")))
	}))
	defer server.Close()
	sender, err := webhook.NewSender(webhook.Options{AllowHosts: []string{server.URL}})
	require.NoError(t, err)
	defer sender.Close()
	w.registry.CheckURL = sender.Check
	m := w.start(Options{Sender: sender})
	secret <- w.registry.Secret(&Definition{Name: "sub"})
	if _, err := w.registry.Put(t.Context(), Caller{}, Definition{Name: "sub", URL: server.URL, Filter: map[string]string{"p": "p"}}, ""); err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		w.add(number("p", n))
	}
	w.until("all changes", func() bool { return accepted.Load() == 5 })
	m.Close()
}
