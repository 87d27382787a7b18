// Tests of the key of gossip.

package cluster

import (
	"bytes"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// Gossip has a key wherever nodes authenticate each other. With certificates alone it
// follows from the cluster's ID.
func TestGossipKey(t *testing.T) {
	db, err := replica.Open(t.TempDir(), store.Options{MinFreeBytes: -1}, replica.Options{})
	require.NoError(t, err)
	defer db.Close()
	keys := map[string][]byte{}
	check := func(name string, cfg Config, known, some bool) {
		t.Helper()
		n := &Node{membership: &membership{cfg: cfg, store: db}}
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
		require.NoError(t, db.SetIdentity(store.Identity{Cluster: "c", ClusterID: id, Generation: 1}))
		check(id, Config{TLS: &port.TLS{}}, true, true)
	}
	if !bytes.Equal(keys["a secret"], keys["both"]) || bytes.Equal(keys["1"], keys["2"]) || bytes.Equal(keys["1"], keys["a secret"]) {
		t.Errorf("keys: %x", keys)
	}
}
