package cluster

import (
	"bytes"
	"testing"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/port"
)

// Gossip has a key wherever nodes authenticate each other. With certificates alone it
// follows from the cluster's ID.
func TestGossipKey(t *testing.T) {
	store, err := node.Open(t.TempDir(), node.Options{Member: true, MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	keys := map[string][]byte{}
	check := func(name string, cfg Config, known, some bool) {
		t.Helper()
		n := &Node{cfg: cfg, store: store}
		key, ok := n.gossipKey()
		if ok != known || ok && (len(key) == 32) != some {
			t.Errorf("%s: a key of %d bytes, known %v", name, len(key), ok)
		}
		keys[name] = key
	}
	check("nothing", Config{}, true, false)
	check("a secret", Config{Secret: []byte("s")}, true, true)
	check("both", Config{Secret: []byte("s"), TLS: &port.TLS{}}, true, true)
	check("certificates, no cluster yet", Config{TLS: &port.TLS{}}, false, false)
	for _, id := range []string{"1", "2"} {
		if err := store.SetIdentity(node.Identity{Cluster: "c", ClusterID: id, Generation: 1}); err != nil {
			t.Fatal(err)
		}
		check(id, Config{TLS: &port.TLS{}}, true, true)
	}
	if !bytes.Equal(keys["a secret"], keys["both"]) || bytes.Equal(keys["1"], keys["2"]) || bytes.Equal(keys["1"], keys["a secret"]) {
		t.Errorf("keys: %x", keys)
	}
}
