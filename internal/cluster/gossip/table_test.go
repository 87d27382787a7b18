// Tests of the table of machines.

package gossip

import (
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"

	"github.com/trefoildb/trefoil/trie"
)

func node(id trie.MachineID, incarnation uint64) *memberlist.Node {
	return &memberlist.Node{Name: nameOf(id, incarnation), Meta: metaOf(incarnation, addressOf(id))}
}

func TestTableKeepsTheGreatestIncarnation(t *testing.T) {
	tab := newTable()
	tab.NotifyJoin(node(7, 3))
	tab.NotifyLeave(node(7, 2))
	if p, ok := tab.get(7); !ok || !p.Alive || p.Incarnation != 3 {
		t.Errorf("%+v", p)
	}
	if err := tab.NotifyAlive(node(7, 2)); err == nil {
		t.Error("an earlier incarnation is heard")
	}
	if err := tab.NotifyAlive(node(7, 3)); err != nil {
		t.Error(err)
	}
	changed := tab.changed.Next()
	tab.NotifyUpdate(node(7, 3))
	select {
	case <-changed:
		t.Error("changed without a change")
	default:
	}
	tab.NotifyLeave(node(7, 3))
	<-changed
	if p, _ := tab.get(7); p.Alive {
		t.Errorf("%+v", p)
	}
}

func TestTableIsBounded(t *testing.T) {
	tab := newTable()
	for id := range trie.MachineID(maxPeers) {
		tab.NotifyJoin(node(id+1, 1))
	}
	if err := tab.NotifyAlive(node(maxPeers+1, 1)); err == nil {
		t.Error("one more is heard")
	}
	if err := tab.NotifyAlive(node(5, 2)); err != nil {
		t.Error(err)
	}
	tab.NotifyLeave(node(5, 1))
	if err := tab.NotifyAlive(node(maxPeers+1, 1)); err != nil {
		t.Error("no room for one where another is dead:", err)
	}
	if _, ok := tab.get(5); ok {
		t.Error("the dead one is still there")
	}
}

func TestIdentify(t *testing.T) {
	good := node(7, 3)
	if id, incarnation, address, err := identify(good); err != nil || id != 7 || incarnation != 3 || address != addressOf(7) {
		t.Fatal(id, incarnation, address, err)
	}
	for what, n := range map[string]*memberlist.Node{
		"no name":             {Meta: good.Meta},
		"a name without -":    {Name: "0000000000000007", Meta: good.Meta},
		"a short ID":          {Name: "7-3", Meta: good.Meta},
		"no number":           {Name: "0000000000000007-x", Meta: good.Meta},
		"machine 0":           {Name: "0000000000000000-3", Meta: good.Meta},
		"no metadata":         {Name: good.Name},
		"another format":      {Name: good.Name, Meta: append([]byte{9}, good.Meta[1:]...)},
		"another incarnation": {Name: good.Name, Meta: metaOf(4, "a:1")},
		"a long address":      {Name: good.Name, Meta: metaOf(3, strings.Repeat("a", 400))},
	} {
		if _, _, _, err := identify(n); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func FuzzIdentify(f *testing.F) {
	f.Add(nameOf(1, 2), metaOf(2, "a:1"))
	f.Fuzz(func(t *testing.T, name string, meta []byte) {
		id, incarnation, _, err := identify(&memberlist.Node{Name: name, Meta: meta})
		if err == nil && (id == 0 || incarnation == 0) {
			t.Errorf("%q: %d, %d", name, id, incarnation)
		}
	})
}
