// Two releases in one cluster: rolling upgrades.

package processes

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cluster/generation"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/testing/testbinary"
)

// oldName and newName are the versions of the protocol of this release and the next.
var oldName, newName = protocol.Name(protocol.Minor), protocol.Name(protocol.Minor + 1)

// nextMinor makes a release of the next minor. It adds fields to a member, a view and a
// report. The view's zones are the epochs that a node of that release has proposed, a
// member's zone says that its process is of that release, and gated is set when the cluster
// has the minor.
var nextMinor = []testbinary.Edit{
	{Path: "internal/protocol/protocol.go", Old: fmt.Sprintf("Minor = %d", protocol.Minor), New: fmt.Sprintf("Minor = %d", protocol.Minor+1)},
	{Path: "internal/protocol/protocol.go", Old: fmt.Sprintf("\tMajor = %d\n", protocol.Major), New: ""},
	{Path: "internal/protocol/protocol.go", Old: "import \"fmt\"\n", New: fmt.Sprintf("import (\n\t\"fmt\"\n\t\"os\"\n)\n\nvar Major byte = %d + byte(len(os.Getenv(%q)))\n", protocol.Major, nextMajor)},
	{Path: "internal/cluster/view/view.go", Old: "\tState   State  `json:\"state\"`\n", New: "\tState State `json:\"state\"`\n\tZone string `json:\"zone,omitempty\"`\n"},
	{Path: "internal/cluster/view/view.go", Old: "\t// Epoch is the view's number.", New: "\tZones []uint64 `json:\"zones,omitempty\"`\n\tGated bool `json:\"gated,omitempty\"`\n\t// Epoch is the view's number."},
	{Path: "internal/cluster/view/change.go", Old: "\tn.Epoch++\n", New: fmt.Sprintf("\tn.Epoch++\n\tn.Zones, n.Gated = append(slices.Clip(n.Zones), n.Epoch), n.Minor >= %d\n", protocol.Minor+1)},
	{Path: "internal/cluster/join.go", Old: "State: view.Up, Minor: protocol.Minor,", New: "State: view.Up, Minor: protocol.Minor, Zone: \"here\","},
	{Path: "internal/cluster/leader/report.go", Old: "\tSpare   bool   `json:\"spare,omitempty\"`\n", New: "\tSpare bool `json:\"spare,omitempty\"`\n\tMood string `json:\"mood\"`\n"},
	{Path: "internal/cluster/report.go", Old: "Address: m.peers.address, Spare:", New: "Address: m.peers.address, Mood: \"good\", Spare:"},
}

// nextMajor is the environment variable that makes a node of the next minor one of the next major,
// because a build of its own would take half a minute.
const nextMajor = "TREFOIL_NEXT_MAJOR"

// release builds a trefoil for the tests that need it.
type release struct {
	edits  []testbinary.Edit
	once   sync.Once
	path   string
	remove func()
	err    error
}

var newer = &release{edits: nextMinor}

func (r *release) binary(t *testing.T) string {
	t.Helper()
	r.once.Do(func() { r.path, r.remove, r.err = testbinary.Changed(filepath.Join("..", ".."), r.edits) })
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.path
}

// clean removes what was built.
func (r *release) clean() {
	if r.remove != nil {
		r.remove()
	}
}

// later is what the next minor has added to a view.
type later struct {
	Epoch   uint64
	Zones   []uint64
	Gated   bool
	Members []struct{ Address, Zone string }
}

// storedView returns what a stopped machine has of the view, as this release keeps it.
func (m *machine) storedView() (v later) {
	t := m.c.t
	t.Helper()
	s, err := generation.Inspect(nil, m.dir, nil)
	require.NoError(t, err)
	text, err := json.Marshal(s.View)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &v))
	return v
}

// upgraded waits until the cluster is whole, and its status shows the protocol that it
// has agreed on and that of each machine.
func (c *cluster) upgraded(agreed string) (s client.Status) {
	c.t.Helper()
	until(c.t, "a whole cluster of protocol "+agreed, func() error {
		s = c.whole(len(c.machines))
		if s.Protocol != agreed {
			return fmt.Errorf("its protocol is %s", s.Protocol)
		}
		for _, m := range c.machines {
			want := oldName
			if m.binary != "" {
				want = newName
			}
			i := slices.IndexFunc(s.Members, func(o client.Member) bool { return o.Address == m.address })
			if i < 0 || s.Members[i].Protocol != want || s.Members[i].Version == "" {
				return fmt.Errorf("machine %d has protocol %s; the status: %+v", m.number, want, s.Members)
			}
		}
		return nil
	})
	return s
}

// TestRollingUpgrade: machines are restarted with a newer release one by one, while
// clients write and read, and one of them goes back in between. When all have it, what
// it adds is used, and the older release is refused.
func TestRollingUpgrade(t *testing.T) {
	seed.Long(t)
	t.Parallel()
	next := newer.binary(t)
	random := newRandom(t)
	c := form(t, 3, patiently)
	h := &history{}
	c.fill(h, 2000)
	l := c.startLoad(h, random)
	before := c.whole(3)
	restart := func(m *machine, binary, agreed string) {
		m.stop()
		if agreed == oldName {
			v := m.storedView()
			if v.Gated {
				t.Errorf("fields of a minor are used before all machines have it")
			}
			c.mustSay(v)
		}
		m.binary = binary
		m.start()
		m.ready()
		s := c.upgraded(agreed)
		if idOf(s, m.address) != idOf(before, m.address) {
			t.Errorf("machine %d is another one", m.number)
		}
		l.goOn(5)
	}
	order := random.Perm(3)
	restart(c.machines[order[0]], next, oldName)
	restart(c.machines[order[1]], next, oldName)
	restart(c.machines[order[1]], "", oldName) // it goes back
	restart(c.machines[order[1]], next, oldName)
	restart(c.machines[order[2]], next, newName)
	l.log("a rolling upgrade")
	// What the older release does not know may be on the disk from here on.
	refused := "agreed on protocol " + newName + ", this program has " + oldName
	m := c.machines[order[0]]
	m.stop()
	if _, err := generation.Inspect(nil, m.dir, nil); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("the older release opens the directory: %v", err)
	}
	m.binary = ""
	m.start()
	if code := m.process.wait(t); code == 0 || !strings.Contains(m.process.Said(), refused) {
		t.Errorf("the older release starts: code %d\n%s", code, m.process.Tail(20))
	}
	m.binary = next
	m.start()
	m.ready()
	c.upgraded(newName)
	// Nor may a machine of the older release join.
	one := c.newMachine(patiently, "--join", c.machines[order[1]].address)
	one.start()
	if code := one.process.wait(t); code == 0 || !strings.Contains(one.process.Said(), "its release has protocol "+oldName+", and the cluster has agreed on "+newName) {
		t.Errorf("the older release joins: code %d\n%s", code, one.process.Tail(20))
	}
	c.machines = c.machines[:3]
	l.goOn(5)
	l.stop()
	c.mustHold(h)
}

// mustSay fails the test if a view lacks the zone of a machine of the newer release, or has
// one of the older release.
func (c *cluster) mustSay(v later) {
	c.t.Helper()
	for _, m := range c.machines {
		i := slices.IndexFunc(v.Members, func(o struct{ Address, Zone string }) bool { return o.Address == m.address })
		if want := map[bool]string{true: "here"}[m.binary != ""]; i < 0 || v.Members[i].Zone != want {
			c.t.Errorf("machine %d says of itself %q, the view: %+v", m.number, want, v)
		}
	}
}

// lead restarts machines until one of a release leads, and returns it.
func (c *cluster) lead(binary string) (leader *machine) {
	c.t.Helper()
	until(c.t, "a leader of the release "+filepath.Base(binary), func() error {
		s := c.whole(3)
		for _, m := range c.machines {
			if idOf(s, m.address) != s.Leader {
				continue
			}
			if m.binary == binary {
				leader = m
				return nil
			}
			m.stop()
			m.start()
			m.ready()
		}
		return fmt.Errorf("%s leads", s.Leader)
	})
	return leader
}

// TestMixedReleases: a leader of each of two releases excludes a machine of the other one
// and lets it in again, while clients write and read; what the newer one adds to the view
// is kept by the older.
func TestMixedReleases(t *testing.T) {
	seed.Long(t)
	t.Parallel()
	next := newer.binary(t)
	random := newRandom(t)
	c := newCluster(t, 3)
	c.machines[2].binary = next
	c.form()
	h := &history{}
	c.fill(h, 2000)
	l := c.startLoad(h, random)
	for _, leads := range []string{"", next, ""} {
		c.lead(leads)
		victim := c.machines[slices.IndexFunc(c.machines, func(m *machine) bool { return m.binary != leads })]
		victim.kill()
		c.whole(2)
		l.goOn(5)
		victim.start()
		victim.ready()
		c.upgraded(oldName)
		l.goOn(5)
	}
	l.log("two releases in one cluster")
	l.stop()
	c.mustHold(h)
	// The newer release proposed views between those that the older one proposed.
	for _, m := range c.machines {
		m.stop()
	}
	for _, m := range c.machines {
		v := m.storedView()
		if len(v.Zones) == 0 || v.Zones[len(v.Zones)-1] >= v.Epoch || v.Gated {
			t.Fatalf("machine %d has lost what the newer release wrote: %+v", m.number, v)
		}
		if first := v.Zones[0]; uint64(len(v.Zones)) > v.Epoch-first {
			t.Errorf("the older release has proposed nothing between: %+v", v)
		}
		c.mustSay(v)
	}
}

// TestMajorsDiffer: nodes of two majors refuse each other, and both say why.
func TestMajorsDiffer(t *testing.T) {
	seed.Long(t)
	t.Parallel()
	c := newCluster(t, 2, patiently)
	first, second := c.machines[0], c.machines[1]
	first.start()
	first.ready()
	second.binary, second.wrap = newer.binary(t), []string{"env", nextMajor + "=1"}
	second.args = append(second.args, "--join", first.address)
	second.start()
	if code := second.process.wait(t); code == 0 {
		t.Error("a node of another major has joined")
	}
	const todo = "stop all nodes of the cluster, then start all with one release"
	for said, want := range map[string]string{
		second.process.Said(): fmt.Sprintf("the node there has protocol %d, this node %d: ", protocol.Major, protocol.Major+1),
		first.process.Said():  fmt.Sprintf("it has protocol %d, this node %d: ", protocol.Major+1, protocol.Major),
	} {
		if !strings.Contains(said, want) || !strings.Contains(said, todo) {
			t.Errorf("nobody says %q and what to do:\n%s", want, said)
		}
	}
	first.stop()
}
