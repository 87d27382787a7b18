// Tests of single changes of a view.

package view

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// inServe returns a view that serves, with machine 4 new, and base of 1, 2, 3.
func inServe(t *testing.T) *View {
	v := must(t)(idle(t, 1, 2, 3).Join(up(4), spare(9)))
	return must(t)(v.ToServe(map[trie.MachineID]uint64{4: 7}))
}

// TestUnfinished: base must be right if a change comes before the earlier one has ended, and no
// change may touch the view it began with.
func TestUnfinished(t *testing.T) {
	changes := map[string]func(*View) (*View, error){
		"join":      func(v *View) (*View, error) { return v.Join(up(5), up(6)) },
		"leave":     func(v *View) (*View, error) { return v.Leave(1) },
		"exclude":   func(v *View) (*View, error) { return v.Exclude(2) },
		"move":      func(v *View) (*View, error) { return v.MoveTo(v.Target.Placement) },
		"rebalance": func(v *View) (*View, error) { return v.Rebalance() },
	}
	for name, change := range changes {
		serve := inServe(t)
		// The right half stayed with its left one, because rebalance must have work.
		serve = must(t)(serve.Split([]SplitAt{{4, []byte("\x02a")}, {4, []byte("\x02b")}, {4, []byte("\x02c")}, {3, []byte("\x03a")}}))
		fill := *serve
		fill.Phase = recovery.Fill
		fill.prepare()
		for _, v := range []*View{serve, &fill} {
			before := text(t, v)
			next, err := change(v)
			if err != nil {
				t.Fatalf("%s in %s: %s", name, v.Phase, err)
			}
			if text(t, v) != before {
				t.Errorf("%s in %s changes the old view", name, v.Phase)
			}
			want, filled := v.Base, map[trie.MachineID]uint64{1: 1, 2: 1, 3: 1}
			if v.Phase == recovery.Serve {
				want, filled[4] = v.Target, 1
			}
			if name == "exclude" {
				delete(filled, 2)
			}
			if next.Base != want || !maps.Equal(next.BaseIncarnations, filled) {
				t.Errorf("%s in %s: base is not what is full: %v", name, v.Phase, next.BaseIncarnations)
			}
			if next.Epoch != v.Epoch+1 || next.Phase != recovery.Fill {
				t.Errorf("%s in %s: epoch %d, %s", name, v.Phase, next.Epoch, next.Phase)
			}
		}
	}
}

// TestPhaseStays: what moves no data leaves phase and layouts alone.
func TestPhaseStays(t *testing.T) {
	serve := inServe(t)
	changes := map[string]func(*View) (*View, error){
		"a spare joins":      func(v *View) (*View, error) { return v.Join(spare(8)) },
		"readmit":            func(v *View) (*View, error) { return v.Readmit(Member{ID: 2, Incarnation: 5, Address: "h:1"}) },
		"unwait":             func(v *View) (*View, error) { return v.Unwait(2) },
		"a spare is dropped": func(v *View) (*View, error) { return v.Remove(9) },
		"a spare dies":       func(v *View) (*View, error) { return v.Exclude(9) },
	}
	for name, change := range changes {
		before := text(t, serve)
		next := must(t)(change(serve))
		if next.Phase != serve.Phase || next.Base != serve.Base || next.Target != serve.Target || next.Epoch != serve.Epoch+1 {
			t.Errorf("%s: %s, epoch %d", name, next.Phase, next.Epoch)
		}
		if text(t, serve) != before {
			t.Errorf("%s changes the old view", name)
		}
	}
}

func TestJoin(t *testing.T) {
	v := idle(t, 5)
	odd := up(7)
	odd.Waits, odd.Mark, odd.State = true, 9, ""
	next := must(t)(v.Join(odd, up(2), spare(3)))
	var ids []trie.MachineID
	for _, m := range next.Members {
		ids = append(ids, m.ID)
	}
	if !slices.Equal(ids, []trie.MachineID{2, 3, 5, 7}) || !slices.Equal(next.Target.Placement.Machines(), trie.Ring{2, 5, 7}) {
		t.Errorf("members %v, target on %v", ids, next.Target.Placement.Machines())
	}
	if want := up(7); *next.Find(7) != want {
		t.Errorf("a joiner is %+v, want %+v", *next.Find(7), want)
	}
	// Twelve segments of one machine are spread over three at once.
	owners := map[trie.MachineID]int{}
	for s := range next.Target.Trie.All() {
		owners[next.Target.Placement.Owner(s)]++
	}
	if len(owners) != 3 {
		t.Errorf("segments on %v", owners)
	}
	for name, m := range map[string]Member{"a member": up(5), "no address": {ID: 8}, "no ID": {Address: "h:1"}} {
		if _, err := v.Join(m); err == nil {
			t.Errorf("%s joins", name)
		}
	}
}

func TestLeaveAndRemove(t *testing.T) {
	v := idle(t, 1, 2)
	if _, err := v.Leave(1, 2); err == nil {
		t.Error("all leave")
	}
	if _, err := v.Remove(1); err == nil {
		t.Error("removed with its data")
	}
	left := must(t)(v.Leave(1))
	if left.Find(1).State != Leaving || !slices.Equal(left.Target.Placement.Machines(), trie.Ring{2}) || left.Phase != recovery.Fill {
		t.Errorf("%s, target on %v", left.Find(1).State, left.Target.Placement.Machines())
	}
	if _, err := left.Leave(1); err == nil {
		t.Error("leaves twice")
	}
	if _, err := left.Remove(1); err == nil {
		t.Error("removed before its data has moved")
	}
	if left = must(t)(through(t, left).Remove(1)); left.Find(1) != nil || left.Phase != recovery.Idle {
		t.Error("not removed")
	}
}

func TestReturns(t *testing.T) {
	v := must(t)(inServe(t).Readmit(Member{ID: 4, Incarnation: 3, Address: "h:1"}))
	if want := (Member{ID: 4, Incarnation: 3, Address: "h:1", State: Up, Waits: true, Mark: 7}); *v.Find(4) != want {
		t.Errorf("%+v, want %+v", *v.Find(4), want)
	}
	if v.Joint().BaseLive.Contains(4) {
		t.Error("base counts on a machine that it did not have")
	}
	if v = must(t)(v.Readmit(Member{ID: 2, Incarnation: 2, Address: "h:2"})); !v.Joint().BaseLive.Contains(2) {
		t.Error("base does not count on a machine that came back with its disk")
	}
	if _, err := v.Readmit(Member{ID: 2, Incarnation: 2, Address: "h:2"}); err == nil {
		t.Error("back in the same incarnation")
	}
	if _, err := v.Readmit(Member{ID: 77, Incarnation: 2, Address: "h:2"}); err == nil {
		t.Error("a stranger is back")
	}
	if v = must(t)(v.Unwait(4)); v.Find(4).Waits || !v.Find(2).Waits {
		t.Errorf("%+v", v.Members)
	}
}

func TestPhases(t *testing.T) {
	v := idle(t, 1, 2, 3)
	if _, err := v.ToServe(nil); err == nil {
		t.Error("from idle to serve")
	}
	if _, err := v.ToIdle(); err == nil {
		t.Error("from idle to idle")
	}
	serve := inServe(t)
	if serve.Find(4).Mark != 7 || serve.Find(1).Mark != 0 {
		t.Errorf("marks of %+v", serve.Members)
	}
	if v = must(t)(serve.ToIdle()); v.Base != serve.Target || v.Target != serve.Target || v.BaseIncarnations[4] != 1 || len(v.BaseIncarnations) != 4 {
		t.Errorf("idle with %v", v.BaseIncarnations)
	}
	ingest := *v
	ingest.Phase = recovery.Ingest
	for name, change := range map[string]func() (*View, error){
		"join":      func() (*View, error) { return ingest.Join(up(12)) },
		"leave":     func() (*View, error) { return ingest.Leave(1) },
		"move":      func() (*View, error) { return ingest.MoveTo(v.Base.Placement) },
		"rebalance": func() (*View, error) { return ingest.Rebalance() },
	} {
		if _, err := change(); err == nil {
			t.Errorf("%s while a load is published", name)
		}
	}
}

func TestSplit(t *testing.T) {
	v := idle(t, 1, 2, 3)
	fill := must(t)(v.Join(up(4)))
	if fill.Target.Trie != fill.Base.Trie {
		t.Fatal("a join that moves no segment to another partition makes a trie")
	}
	other := *fill
	other.Target.Trie, _ = other.Target.Trie.Assign(4, 0)
	for _, v := range []*View{v, fill, &other} {
		at := func(s string) SplitAt { return SplitAt{4, []byte("\x02" + s)} }
		next := must(t)(v.Split([]SplitAt{at("c"), at("a"), at("b")}))
		if next.Phase != v.Phase || next.NextSegment != v.NextSegment+3 {
			t.Errorf("%s, next segment %d", next.Phase, next.NextSegment)
		}
		for i, l := range []recovery.Layout{next.Base, next.Target} {
			old := []recovery.Layout{v.Base, v.Target}[i]
			ids := map[uint64]bool{}
			for _, key := range []string{"\x02", "\x02a", "\x02b", "\x02c"} {
				s := l.Trie.Lookup([]byte(key))
				ids[s.ID] = true
				if string(s.Lo) != key || l.Placement.Owner(s) != old.Placement.Owner(old.Trie.Lookup([]byte(key))) {
					t.Errorf("%q is in %s", key, s)
				}
			}
			if len(ids) != 4 || !ids[4] {
				t.Errorf("segments %v", ids)
			}
		}
		for s := range next.Base.Trie.All() {
			if o, _ := next.Target.Trie.Get(s.ID); string(o.Lo) != string(s.Lo) {
				t.Errorf("%s in base, %s in target", s, o)
			}
		}
	}
	for name, s := range map[string]SplitAt{"no segment": {99, []byte("x")}, "outside": {4, []byte("\x03x")}, "at its beginning": {4, []byte("\x02")}} {
		if _, err := v.Split([]SplitAt{s}); err == nil {
			t.Errorf("%s is split", name)
		}
		if ok := v.splittable([]SplitAt{s}, 9); len(ok) > 0 {
			t.Errorf("%s can be split", name)
		}
	}
	twice := []SplitAt{{4, []byte("\x02b")}, {4, []byte("\x02a")}, {4, []byte("\x02b")}}
	if ok := v.splittable(twice, 9); len(ok) != 2 {
		t.Errorf("%v of %v", ok, twice)
	}
	if ok := v.splittable(twice, 1); len(ok) != 1 {
		t.Errorf("%v, one at most", ok)
	}
}

func TestRebalance(t *testing.T) {
	v := idle(t, 1, 2, 3)
	if same := must(t)(v.Rebalance()); same != v || v.Misplaced() != 0 {
		t.Errorf("%v misplaced after a join", v.Misplaced())
	}
	var splits []SplitAt
	for i := range byte(20) {
		splits = append(splits, SplitAt{3, []byte{3, 'a' + i}})
	}
	v = must(t)(v.Split(splits))
	if v.Misplaced() == 0 {
		t.Fatal("20 halves belong where they are")
	}
	next := must(t)(v.Rebalance())
	if next.Phase != recovery.Fill || next.Base != v.Base || next.Target.Placement != v.Target.Placement || next.Misplaced() != 0 {
		t.Errorf("%s, %v misplaced", next.Phase, next.Misplaced())
	}
	// One machine has them all in any case.
	one := must(t)(idle(t, 1).Split(splits))
	if same := must(t)(one.Rebalance()); same != one {
		t.Error("a cluster of one moves segments")
	}
}

// TestGrowthMovesLittle: when five machines become six, little more moves than the
// sixth machine's share.
func TestGrowthMovesLittle(t *testing.T) {
	l, keys := spread(t, machineOf(0), 3000, 3000)
	v := First("test", "id", up(machineOf(0)), l, 1)
	for i := 1; i < 5; i++ {
		v = through(t, must(t)(v.Join(up(machineOf(i)))))
	}
	r := must(t)(v.Join(up(machineOf(5)))).Joint().Resolver()
	var versions, movedVersions, slots, moved float64
	for _, key := range keys {
		if err := r.Resolve(key); err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Target() {
			slots++
			if !s.Extra {
				versions++
			}
			if !slices.Contains(r.Base(), s) {
				moved++
				if !s.Extra {
					movedVersions++
				}
			}
		}
	}
	share, limit := moved/slots, 1.3/6
	t.Logf("moved: %.1f%% of the rows, %.1f%% of those that are no extras", 100*share, 100*movedVersions/versions)
	if share > limit {
		t.Errorf("%.3f of the rows move, limit %.3f", share, limit)
	}
}

func TestValidate(t *testing.T) {
	for name, spoil := range map[string]func(*View){
		"no cluster":             func(v *View) { v.Cluster = "" },
		"no generation":          func(v *View) { v.Generation = 0 },
		"no epoch":               func(v *View) { v.Epoch = 0 },
		"an unknown phase":       func(v *View) { v.Phase = 9 },
		"members out of order":   func(v *View) { slices.Reverse(v.Members) },
		"a member twice":         func(v *View) { v.Members[1] = v.Members[0] },
		"a member of no state":   func(v *View) { v.Members[0].State = "gone" },
		"no address":             func(v *View) { v.Members[0].Address = "" },
		"target without member":  func(v *View) { v.Members = v.Members[1:] },
		"target on a leaver":     func(v *View) { v.Members[0].State = Leaving },
		"two layouts in idle":    func(v *View) { v.Phase = recovery.Idle },
		"a layout is missing":    func(v *View) { v.Base.Trie = nil },
		"target is missing":      func(v *View) { v.Target.Placement = nil },
		"a segment from later":   func(v *View) { v.NextSegment = 3 },
		"a stranger filled base": func(v *View) { v.BaseIncarnations[99] = 1 },
		"another number of partitions": func(v *View) {
			p, _ := trie.NewPlacement(v.Target.Placement.Machines(), trie.PlacementOptions{Partitions: 61})
			v.Target.Placement = p
		},
		"a segment in no partition": func(v *View) { v.Target.Trie, _ = v.Target.Trie.Assign(2, 60) },
	} {
		v := must(t)(idle(t, 1, 2, 3).Join(up(4)))
		spoil(v)
		if err := v.Validate(); err == nil || !strings.HasPrefix(err.Error(), "view: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDamagedJSON: what is no view leaves the old one as it is.
func TestDamagedJSON(t *testing.T) {
	v := must(t)(idle(t, 1, 2, 3).Join(up(4)))
	good := text(t, v)
	for _, bad := range []string{
		``, `{}`, `[]`, `{"cluster":"x"}`,
		strings.Replace(good, `"baseTrie":"`, `"baseTrie":"AA`, 1),
		strings.Replace(good, `"targetPlacement":"`, `"targetPlacement":"AA`, 1),
		strings.Replace(good, `"epoch":`, `"epoch":-`, 1),
		strings.Replace(good, `"state":"up"`, `"state":""`, 1),
	} {
		w := *v
		if err := json.Unmarshal([]byte(bad), &w); err == nil {
			t.Errorf("%.80s is a view", bad)
		}
		if w.Cluster != "test" || w.Epoch != v.Epoch || len(w.Members) != 4 {
			t.Errorf("%.80s spoils a view", bad)
		}
	}
}
