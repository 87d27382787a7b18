// Golden files and fuzzing of what functions store: registrations and states.

package functions

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

var goldenTime = time.Date(2026, 11, 23, 18, 30, 0, 250_000_000, time.UTC)

func goldenRegistration() Registration {
	return Registration{
		Name: "counter", Mode: After, Pattern: "? <http://example.org/likes> ?", Kinds: []string{"add", "delete"},
		Arguments: []string{"<http://example.org/counter> <http://example.org/value> ?", "?s <http://example.org/age> ? ?g"},
		Retries:   3, Then: Stop, Loads: true, TimeoutMS: 100, MemoryBytes: 16 << 20, ModuleBytes: 8, Generation: "00112233aabbccdd", Registered: goldenTime,
	}
}

func goldenState() *State {
	position := feed.Position{}.Advance(1, triple.Stamp{Epoch: 2, Sequence: 300})
	return &State{
		Position: position.String(),
		Partials: []Partial{{Sequencer: trie.MachineID(1), Epoch: 2, Sequence: 301, Count: 4}},
		Loads:    []LoadProgress{{ID: "7", Done: true}, {ID: "8", After: []byte{1, 2, 0xff}}},
		Intent: &Intent{ID: "0123456789abcdef", Time: goldenTime, Since: position.String(), Operations: []Operation{
			{Kind: feed.Delete, Depth: 1, Triple: textOf(of("counter", "value", integer(41)))},
			{Kind: feed.Add, Depth: 2, Triple: textOf(of("counter", "value", triple.NewLang("\"viele\"\n", "de")))},
			{Kind: feed.Annotate, Depth: MaxDepth, Triple: textOf(of("a", "b", "c")), Application: "app", Data: []byte("x")},
			{Kind: feed.Annotate, Depth: 1, Triple: "_:b <http://example.org/p> \"o\" <http://example.org/g>", Application: "app", Removed: true},
		}},
		Stopped: true, Counts: Counts{Calls: 5, Effects: 4, Failures: 3, Skipped: 2, Rejected: 1},
		Last: &Failure{Time: goldenTime, Message: "the update function took too long", Change: "add a"},
	}
}

// TestGoldenRegistration pins the annotation of a registration.
func TestGoldenRegistration(t *testing.T) {
	want, module := goldenRegistration(), []byte("\x00asm\x01\x00\x00\x00")
	data, err := want.encode(module)
	require.NoError(t, err)
	goldenfile.Check(t, "testdata/registration.golden", string(data))
	got, code, err := decodeRegistration(data)
	if err != nil || !reflect.DeepEqual(got, want) || !bytes.Equal(code, module) {
		t.Errorf("%+v, %q, %v", got, code, err)
	}
	if _, err := got.attach(); err != nil {
		t.Error(err)
	}
}

// TestGoldenState pins the annotation of a state.
func TestGoldenState(t *testing.T) {
	want := goldenState()
	data, err := want.encode()
	require.NoError(t, err)
	goldenfile.Check(t, "testdata/state.golden", string(data))
	got, err := decodeState(data)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestBadStates: a state whose effects cannot be written is an error, and not taken for written.
func TestBadStates(t *testing.T) {
	for name, spoil := range map[string]func(o *Operation){
		"no depth":      func(o *Operation) { o.Depth = 0 },
		"a great depth": func(o *Operation) { o.Depth = MaxDepth + 1 },
		"a load":        func(o *Operation) { o.Kind = feed.Load },
		"no kind":       func(o *Operation) { o.Kind = 0xff },
		"no triple":     func(o *Operation) { o.Triple = "<a:b>" },
		"bad triple":    func(o *Operation) { o.Triple = `"s" <a:p> <a:o>` },
	} {
		s := goldenState()
		spoil(&s.Intent.Operations[1])
		data, err := s.encode()
		require.NoError(t, err)
		if _, err := decodeState(data); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzRegistration decodes bytes. What is accepted can be stored again, and attached to changes or
// refused.
func FuzzRegistration(f *testing.F) {
	r := goldenRegistration()
	data, err := r.encode([]byte("module"))
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"name":"a","kinds":["annotate"],"arguments":["?o ? ?s default"]}` + "\n\x00asm"))
	changed := of("a", "b", "c")
	key, _ := triple.AppendKey(nil, triple.SPO, changed)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, module, err := decodeRegistration(data)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if again, err := r.encode(module); err == nil {
			second, code, err := decodeRegistration(again)
			if err != nil || !bytes.Equal(code, module) || !sameJSON(t, r, second) {
				t.Fatalf("%+v became %+v: %v", r, second, err)
			}
		}
		r = r.withDefaults()
		a, err := r.attach()
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if _, err := a.matches(&feed.Change{Kind: feed.Add, Key: key}); err != nil {
			t.Fatal(err)
		}
		for i := range a.arguments {
			a.arguments[i].bind(changed)
		}
	})
}

// FuzzState decodes bytes. What is accepted can be stored again, and all of its effects can be written.
func FuzzState(f *testing.F) {
	data, err := goldenState().encode()
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte("{}"))
	f.Add([]byte(`{"position":"x","partials":[{"count":-1}],"intent":{"operations":[{"kind":1,"depth":1,"triple":"_:a <a:b> _:c"}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeState(data)
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if again, err := s.encode(); err == nil {
			second, err := decodeState(again)
			if err != nil || !sameJSON(t, s, second) {
				t.Fatalf("%s became %+v: %v", data, second, err)
			}
		}
		if s.Intent != nil {
			for i := range s.Intent.Operations {
				one, err := s.Intent.Operations[i].triple()
				require.NoError(t, err)
				same := Operation{Triple: textOf(one)}
				if two, err := same.triple(); err != nil || two != one {
					t.Fatalf("%v became %v: %v", one, two, err)
				}
			}
		}
		at, err := s.progress()
		if err != nil {
			return
		}
		// Changes behind the place, and one of the incomplete request, move it.
		change := feed.Change{Kind: feed.Add, Stamp: triple.Stamp{Epoch: 1, Sequence: 9}, Sequencer: 1}
		for _, p := range s.Partials {
			change.Stamp, change.Sequencer = triple.Stamp{Epoch: p.Epoch, Sequence: p.Sequence}, p.Sequencer
		}
		if !at.repeated(&change) {
			at.advance(&change)
		}
		at.load("1").Done = true
		at.batch(at.position)
		at.set(s)
	})
}

func sameJSON(t *testing.T, a, b any) bool {
	t.Helper()
	one, err := json.Marshal(a)
	two, err2 := json.Marshal(b)
	require.NoError(t, errors.Join(err, err2))
	return bytes.Equal(one, two)
}
