// The table of known machines and their states.

package gossip

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/trie"
)

const (
	metaFormat = 1
	// maxPeers bounds the records of nodes, because strangers may send them if there is no key.
	maxPeers = 10_000
)

// Peer is the known state of a machine.
type Peer struct {
	Address     string // advertised host:port
	Incarnation uint64 // the greatest that was heard of
	Alive       bool   // false: it left, or does not answer any more
	Since       time.Time
}

// table has the states that memberlist reported, by machine. memberlist calls it under its own
// lock, so it must not call back.
type table struct {
	mu      sync.Mutex
	peers   map[trie.MachineID]Peer
	changed notify.Broadcast // peers changes
}

var (
	_ memberlist.EventDelegate = (*table)(nil)
	_ memberlist.AliveDelegate = (*table)(nil)
)

func newTable() *table { return &table{peers: map[trie.MachineID]Peer{}} }

func (t *table) get(id trie.MachineID) (Peer, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, ok := t.peers[id]
	return p, ok
}

func (t *table) all() map[trie.MachineID]Peer {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.peers)
}

// address returns where a node of memberlist is, if that is known.
func (t *table) address(name string) (string, bool) {
	id, incarnation, err := parseName(name)
	if err != nil {
		return "", false
	}
	p, ok := t.get(id)
	return p.Address, ok && p.Incarnation == incarnation
}

// NotifyAlive implements memberlist.AliveDelegate: an error keeps memberlist from
// taking note of a node. A machine that has started anew does not come back as
// what it was before.
func (t *table) NotifyAlive(n *memberlist.Node) error {
	id, incarnation, _, err := identify(n)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	p, known := t.peers[id]
	switch {
	case known && incarnation < p.Incarnation:
		return fmt.Errorf("incarnation %d of %s is over, it is %d now", incarnation, id, p.Incarnation)
	case !known && len(t.peers) >= maxPeers && !t.dropOldest():
		return fmt.Errorf("%d machines are known, which is the limit", maxPeers)
	}
	return nil
}

// dropOldest drops the machine dead for longest. The caller must hold mu.
func (t *table) dropOldest() bool {
	var oldest trie.MachineID
	for id, p := range t.peers {
		if !p.Alive && (oldest == 0 || p.Since.Before(t.peers[oldest].Since)) {
			oldest = id
		}
	}
	delete(t.peers, oldest)
	return oldest != 0
}

// NotifyJoin implements memberlist.EventDelegate.
func (t *table) NotifyJoin(n *memberlist.Node) { t.recordNode(n, true) }

// NotifyUpdate implements memberlist.EventDelegate.
func (t *table) NotifyUpdate(n *memberlist.Node) { t.recordNode(n, true) }

// NotifyLeave implements memberlist.EventDelegate.
func (t *table) NotifyLeave(n *memberlist.Node) { t.recordNode(n, false) }

func (t *table) recordNode(n *memberlist.Node, alive bool) {
	id, incarnation, address, err := identify(n)
	if err != nil {
		return // NotifyAlive has refused it
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	old, known := t.peers[id]
	if known && incarnation < old.Incarnation {
		return
	}
	p := Peer{Address: address, Incarnation: incarnation, Alive: alive, Since: time.Now()}
	if known && old.Incarnation == incarnation && old.Alive == alive {
		p.Since = old.Since
		if p == old {
			return
		}
	}
	t.peers[id] = p
	t.changed.Send()
}

// nameOf returns memberlist's name of one start of a machine's process.
func nameOf(id trie.MachineID, incarnation uint64) string {
	return id.String() + "-" + strconv.FormatUint(incarnation, 10)
}

func parseName(name string) (id trie.MachineID, incarnation uint64, err error) {
	machine, number, ok := strings.Cut(name, "-")
	if !ok {
		return 0, 0, fmt.Errorf("%.64q is no name of a node", name)
	}
	if id, err = trie.ParseMachineID(machine); err != nil {
		return 0, 0, err
	}
	if incarnation, err = strconv.ParseUint(number, 10, 64); err != nil {
		return 0, 0, fmt.Errorf("%.64q is no name of a node", name)
	}
	return id, incarnation, nil
}

func metaOf(incarnation uint64, address string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{metaFormat}, incarnation), address...)
}

// identify reads name and metadata. They must agree.
func identify(n *memberlist.Node) (id trie.MachineID, incarnation uint64, address string, err error) {
	if id, incarnation, err = parseName(n.Name); err != nil {
		return 0, 0, "", err
	}
	if len(n.Meta) < 9 || n.Meta[0] != metaFormat || len(n.Meta) > 9+maxAddressBytes {
		return 0, 0, "", errors.New("its metadata cannot be read")
	}
	if said := binary.BigEndian.Uint64(n.Meta[1:9]); said != incarnation || incarnation == 0 || id == 0 {
		return 0, 0, "", fmt.Errorf("%s says that its incarnation is %d", n.Name, said)
	}
	return id, incarnation, string(n.Meta[9:]), nil
}

// metadata describes this node to others. It has no messages of its own.
type metadata []byte

var _ memberlist.Delegate = metadata(nil)

func (m metadata) NodeMeta(int) []byte                { return m }
func (metadata) NotifyMsg([]byte)                     {}
func (metadata) GetBroadcasts(int, int) [][]byte      { return nil }
func (metadata) LocalState(bool) []byte               { return nil }
func (metadata) MergeRemoteState(_ []byte, join bool) {}
