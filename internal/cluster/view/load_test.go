// Tests of bulk loads in views.

package view

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

func TestLoads(t *testing.T) {
	v := idle(t, 1, 2, 3)
	a := must(t)(v.BeginLoad(LoadBegin{"a", 1, 1}))
	b := must(t)(a.BeginLoad(LoadBegin{"b", 2, 1}))
	again := must(t)(b.BeginLoad(LoadBegin{"a", 3, 1}))
	if l := again.Load("a"); l.Number != 1 || l.Coordinator != 3 || again.Load("b").Number != 2 || b.Load("a").Coordinator != 1 {
		t.Errorf("%+v", again.Loads)
	}
	if _, err := b.ToIngest(LoadPublish{ID: "b", Place: "x"}); err == nil {
		t.Error("tables of another place are taken in")
	}
	if _, err := b.ToIngest(LoadPublish{ID: "c", Place: b.Place()}); err == nil {
		t.Error("a load that has not begun is taken in")
	}
	in := must(t)(b.ToIngest(LoadPublish{ID: "b", Place: b.Place(), New: 7}))
	if in.Ingesting() != in.Load("b") || in.Shown() != 0 || in.Published(in.Load("b")) || in.LoadEpochs()[2] != in.Epoch || len(in.LoadEpochs()) != 1 {
		t.Errorf("%+v", in.Loads)
	}
	for name, change := range map[string]func() (*View, error){
		"begun":   func() (*View, error) { return in.BeginLoad(LoadBegin{"b", 1, 1}) },
		"dropped": func() (*View, error) { return in.DropLoads("b") },
		"taken in twice": func() (*View, error) {
			return must(t)(in.ToShown(nil)).ToIngest(LoadPublish{ID: "b", Place: b.Place()})
		},
		"shown": func() (*View, error) { return b.ToShown(nil) },
	} {
		if _, err := change(); err == nil {
			t.Errorf("a load that is taken in is %s", name)
		}
	}
	out := must(t)(in.ToShown(map[trie.MachineID]uint64{2: 9}))
	if out.Phase != recovery.Idle || out.Shown() != 1 || !out.Published(out.Load("b")) || out.Find(2).Mark != 9 || out.Ingesting() != nil {
		t.Errorf("%+v", out)
	}
	out = must(t)(out.DropLoads("a"))
	out = must(t)(out.BeginLoad(LoadBegin{"a", 1, 1}))
	if out.Load("a").Number != 3 {
		t.Error("a number is given twice")
	}
	read := new(View)
	if err := json.Unmarshal([]byte(text(t, out)), read); err != nil || len(read.Loads) != 2 || read.NextLoad != 4 {
		t.Errorf("%+v, %v", read, err)
	}
	// If a member is excluded in phase ingest, the load shows.
	gone := must(t)(in.Exclude(3))
	if gone.Phase != recovery.Fill || gone.Shown() != 1 {
		t.Errorf("phase %s, %d loads show", gone.Phase, gone.Shown())
	}
	// A machine that holds nothing goes without ending the phase.
	with := must(t)(must(t)(b.Join(spare(9))).ToIngest(LoadPublish{ID: "b", Place: b.Place()}))
	if w := must(t)(with.Exclude(9)); w.Phase != recovery.Ingest || w.Shown() != 0 {
		t.Errorf("phase %s", w.Phase)
	}
}

// The place stays while segments are split, and changes when one moves.
func TestPlace(t *testing.T) {
	v := idle(t, 1, 2, 3)
	split := must(t)(v.Split([]SplitAt{{4, []byte("\x02m")}}))
	if split.Place() != v.Place() {
		t.Error("a split is another place")
	}
	if read := must(t)(v.Readmit(Member{ID: 2, Incarnation: 2, Address: "h:2"})); read.Place() != v.Place() {
		t.Error("a restart is another place")
	}
	four := through(t, must(t)(v.Join(up(4))))
	if four.Place() == v.Place() {
		t.Error("another machine, the same place")
	}
}

// Loads are bounded; one that is begun already gets another coordinator all the same.
func TestLoadsAreBounded(t *testing.T) {
	v := idle(t, 1, 2, 3)
	for i := range MaxLoads {
		v.Loads = append(v.Loads, Load{Number: uint64(i + 1), ID: fmt.Sprint(i), Coordinator: 2, Incarnation: 1})
	}
	v.NextLoad = MaxLoads + 1
	if _, err := v.BeginLoad(LoadBegin{"more", 1, 1}); err == nil {
		t.Error("one more")
	}
	p := ask(t, v)
	p.wishes.Begin = []LoadBegin{{"more", 1, 1}, {"7", 1, 1}}
	next, reason, wait := Plan(v, p.reports, p.wishes, p.options)
	if next == nil || len(next.Loads) != MaxLoads || next.Load("7").Coordinator != 1 {
		t.Errorf("%q, waits for %q", reason, wait)
	}
}
