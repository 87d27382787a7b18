// Fields of a later minor, and the minor of a view.

package view

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/trie"
)

// decode returns the view with a JSON form.
func decode(t testing.TB, b []byte) *View {
	t.Helper()
	v := new(View)
	require.NoError(t, json.Unmarshal(b, v))
	return v
}

// encode returns the JSON form of a view.
func encode(t testing.TB, v *View) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

// later returns a view in the JSON of a later minor: with unknown fields between the known ones,
// in no order.
func later(t testing.TB, v *View) []byte {
	t.Helper()
	text := string(encode(t, v))
	for _, change := range [][2]string{
		{`{"cluster":`, `{"zones":{"a":[1,2]},"cluster":`},
		{`"members":[{"id"`, `"weights":null,"members":[{"zone":"\u003ca\u003e","id"`},
		{`,"loads":[{`, `,"loads":[{"kind":7,`},
	} {
		if !strings.Contains(text, change[0]) {
			t.Fatalf("no %s in %s", change[0], text)
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	return []byte(text)
}

// TestUnknown: fields of a later minor are kept by each change of a release that does not
// know them, and all releases have the same digest of a view.
func TestUnknown(t *testing.T) {
	first := must(t)(idle(t, 1, 2, 3).BeginLoad(LoadBegin{ID: "load", Coordinator: 1, Incarnation: 1}))
	text := later(t, first)
	v := decode(t, text)
	if want := xxhash.Sum64(text); v.Digest() != want {
		t.Errorf("the digest is %x, and of what was agreed on %x", v.Digest(), want)
	}
	for name, change := range map[string]func() (*View, error){
		"nothing": func() (*View, error) { return v, nil },
		"join":    func() (*View, error) { return v.Join(up(9)) },
		"exclude": func() (*View, error) { return v.Exclude(3) },
		"readmit": func() (*View, error) { return v.Readmit(Member{ID: 2, Incarnation: 5, Address: "h:2"}) },
		"recover": func() (*View, error) { return v.Recover(Recovery{Keep: []trie.MachineID{1, 2}, Name: "r"}) },
	} {
		next := must(t)(change())
		again := decode(t, encode(t, next))
		for _, want := range []string{`"zones":{"a":[1,2]}`, `"weights":null`, `"zone":"\u003ca\u003e"`, `"kind":7`} {
			if got := string(encode(t, again)); strings.Count(got, want) != 1 {
				t.Errorf("%s: %s is not kept once: %s", name, want, got)
			}
		}
		if again.Digest() != next.Digest() {
			t.Errorf("%s: who proposes the view has the digest %x, the others %x", name, next.Digest(), again.Digest())
		}
		if next != v && name != "recover" && !again.Descends(v.Generation, v.Epoch, xxhash.Sum64(text)) {
			t.Errorf("%s: the view does not descend from the one before", name)
		}
	}
	if m := must(t)(v.Join(up(9))).Find(9); m.unknown != "" {
		t.Errorf("a member got %s of another one", m.unknown)
	}
}

// TestUnknownJoins: if a machine of a later minor joins, its unknown fields are kept.
func TestUnknownJoins(t *testing.T) {
	var m Member
	require.NoError(t, json.Unmarshal([]byte(`{"id":"0000000000000009","incarnation":1,"address":"h:9","state":"up","protocol":1,"zone":"b"}`), &m))
	v := decode(t, encode(t, must(t)(idle(t, 1, 2, 3).Join(m))))
	if got := string(encode(t, v)); !strings.Contains(got, `"zone":"b"`) || v.Find(9).Minor != 1 {
		t.Error(got)
	}
	if err := json.Unmarshal([]byte(`{"id":3}`), &m); err == nil {
		t.Error("a member with a malformed ID is decoded")
	}
}

// TestUnknownReadmit: if a member comes back, it has the fields of its new process, which may be
// of another release, and none of its former one.
func TestUnknownReadmit(t *testing.T) {
	v := decode(t, later(t, must(t)(idle(t, 1, 2, 3).BeginLoad(LoadBegin{ID: "load", Coordinator: 1, Incarnation: 1}))))
	if v.Find(1).unknown == "" {
		t.Fatal("the former process has no unknown field")
	}
	back := Member{ID: 1, Incarnation: 5, Address: "h:1"}
	if m := must(t)(v.Readmit(back)).Find(1); m.unknown != "" {
		t.Errorf("it kept %s of its former process", m.unknown)
	}
	self := new(Member)
	require.NoError(t, json.Unmarshal([]byte(`{"id":"0000000000000001","incarnation":5,"address":"h:1","state":"up","rack":3}`), self))
	p := ask(t, v)
	p.reports[1] = Report{Incarnation: 5, Address: "h:1", DiskShows: true, Self: self}
	next, _, wait := Plan(p.v, p.reports, p.wishes, p.options)
	if next == nil || next.Find(1).unknown != `{"rack":3}` {
		t.Fatalf("its unknown field is not in the view: %+v, waiting: %s", next, wait)
	}
}

// TestUnknownBounds: the unknown fields of one machine have a few KiB at most, and none has
// the name of a known field in upper or lower case.
func TestUnknownBounds(t *testing.T) {
	member := func(fields string) (m Member) {
		t.Helper()
		require.NoError(t, json.Unmarshal([]byte(`{"id":"0000000000000002","incarnation":7,"address":"h:2","state":"up",`+fields+`}`), &m))
		return m
	}
	v := idle(t, 1, 2, 3)
	room := maxUnknown - len(`{"zone":""}`)
	most, over := member(`"zone":"`+strings.Repeat("z", room)+`"`), member(`"zone":"`+strings.Repeat("z", room+1)+`"`)
	if next := must(t)(v.Readmit(most)); next.Find(2).unknown != most.unknown {
		t.Error("it is not kept")
	}
	if _, err := v.Readmit(over); err == nil {
		t.Error("a member comes back with more than is allowed")
	}
	if over.ID = 9; over.CheckUnknown() == nil {
		t.Error("no error for a machine that joins with more than is allowed")
	}
	if m := member(`"Incarnation":7,"WAITS":true,"waitſ":true`); m.unknown != "" {
		t.Errorf("known fields are kept as unknown: %s", m.unknown)
	}
}

// TestMinor: the minor of a view is the least of its members', and never falls.
func TestMinor(t *testing.T) {
	v := idle(t, 1, 2, 3)
	minor := func(what string, want uint64) {
		t.Helper()
		if v = decode(t, encode(t, v)); v.Minor != want {
			t.Fatalf("%s: minor %d, want %d", what, v.Minor, want)
		}
	}
	minor("three of the first", 0)
	for i := range trie.MachineID(2) {
		v = must(t)(v.Readmit(Member{ID: i + 1, Incarnation: 2, Address: "h:1", Minor: 1}))
		minor("some of the second", 0)
	}
	back := must(t)(v.Readmit(Member{ID: 1, Incarnation: 3, Address: "h:1"}))
	if back.Minor != 0 || back.Find(1).Minor != 0 {
		t.Error("a member cannot go back before all have gone on")
	}
	all := must(t)(v.Readmit(Member{ID: 3, Incarnation: 2, Address: "h:3", Minor: 2}))
	// If the last machine of the first minor is lost, the minor stays, so that it may come back.
	without := must(t)(v.Exclude(3))
	if without.Minor != 0 {
		t.Errorf("minor %d after a loss", without.Minor)
	}
	without = must(t)(without.Readmit(Member{ID: 1, Incarnation: 3, Address: "h:1", Minor: 1}))
	for _, v = range []*View{all, without} {
		minor("all of the second", 1)
		if next, err := v.Readmit(Member{ID: 1, Incarnation: 4, Address: "h:1"}); err == nil {
			t.Errorf("a member went back: minor %d", next.Minor)
		}
		if next, err := v.Join(up(9)); err == nil {
			t.Errorf("a machine of the first joined: minor %d", next.Minor)
		}
	}
	// One that asks nevertheless does not keep others from joining.
	m := up(10)
	m.Minor = 1
	p := ask(t, must(t)(all.Unwait(1, 2, 3)))
	p.wishes.Join = []Member{up(9), m}
	if next, _, wait := Plan(p.v, p.reports, p.wishes, p.options); next == nil || next.Find(10) == nil || next.Find(9) != nil {
		t.Errorf("the newer one of two machines does not join alone: %v, waiting: %s", next, wait)
	}
}

// TestOtherOrder: if an older release has encoded a view with another order of fields, it keeps
// its bytes and so its digest.
func TestOtherOrder(t *testing.T) {
	text := string(encode(t, idle(t, 1, 2, 3)))
	const field = `"clusterId":"id",`
	if !strings.Contains(text, field) {
		t.Fatal(text)
	}
	text = strings.Replace(text, field, "", 1)
	text = text[:len(text)-1] + `,"clusterId":"id"}`
	v := decode(t, []byte(text))
	if again := string(encode(t, v)); again != text || v.Digest() != xxhash.Sum64String(text) {
		t.Errorf("digest %x, want %x; encoded again it is\n%s\nwant\n%s", v.Digest(), xxhash.Sum64String(text), again, text)
	}
	if next := decode(t, encode(t, must(t)(v.Join(up(9))))); !next.Descends(v.Generation, v.Epoch, xxhash.Sum64String(text)) {
		t.Error("the next view does not descend from it")
	}
}
