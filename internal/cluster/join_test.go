// Tests of joining.

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/memnet"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// A machine with too many bytes of unknown fields does not join, because all members would
// keep them.
func TestJoinBounds(t *testing.T) {
	pair(t, -1, func(t *testing.T, nodes []*Node) {
		n := nodes[0]
		body, err := json.Marshal(joining{Cluster: n.cfg.Name, Member: view.Member{ID: 7, Incarnation: 1, Address: "nobody:1", State: view.Up, Minor: protocol.Minor}, Lease: n.cfg.Lease})
		require.NoError(t, err)
		text := strings.Replace(string(body), `"state":`, `"zone":"`+strings.Repeat("z", 5000)+`","state":`, 1)
		_, err = n.handleJoin(t.Context(), peer.Header{}, []byte(text))
		if r := (*peer.Refusal)(nil); !errors.As(err, &r) || r.Code != peer.CodeStranger || !strings.Contains(r.Message, "4096 are allowed") {
			t.Errorf("a machine joins with 5,000 bytes that this release does not know: %v", err)
		}
		r := nodes[1].reporter.makeReport()
		r.Self = new(view.Member)
		require.NoError(t, json.Unmarshal([]byte(`{"id":"0000000000000007","zone":"`+strings.Repeat("z", 5000)+`","state":"up"}`), r.Self))
		for _, to := range nodes {
			if to.agreement().IsLeader() {
				if _, err := to.leader().Receive(t.Context(), r); err == nil || !strings.Contains(err.Error(), "4096 are allowed") {
					t.Errorf("a report with 5,000 such bytes: %v", err)
				}
			}
		}
	})
}

// A machine with another failure timeout than the cluster's does not join.
func TestJoinTimeouts(t *testing.T) {
	pair(t, -1, func(t *testing.T, nodes []*Node) {
		n := nodes[0]
		for _, lease := range []time.Duration{n.cfg.Lease / 2, n.cfg.Lease * 2} {
			body, err := json.Marshal(joining{Cluster: n.cfg.Name, Member: view.Member{ID: 7, Incarnation: 1, Address: "nobody:1", Minor: protocol.Minor}, Lease: lease})
			require.NoError(t, err)
			_, err = n.handleJoin(t.Context(), peer.Header{}, body)
			if r := (*peer.Refusal)(nil); !errors.As(err, &r) || r.Code != peer.CodeStranger || !strings.Contains(r.Message, "--failure-timeout") {
				t.Errorf("leases of %s: %v", lease, err)
			}
		}
	})
}

// slowDisk takes a while for its first look-up of a file.
type slowDisk struct {
	vfs.FS
	waited *atomic.Bool
}

func (d slowDisk) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if d.waited.CompareAndSwap(false, true) {
		time.Sleep(time.Minute) // of virtual time
	}
	return d.FS.Open(name, opts...)
}

// TestJoinWhileStarting: while a member starts again, without Join, another machine requests to join at
// its address. The member must not form a cluster of its own, which would replace its identity.
func TestJoinWhileStarting(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		defer time.Sleep(time.Minute) // as in pairOf
		begin, net := time.Now(), memnet.New(1)
		ctx, cancel := context.WithCancel(t.Context())
		start := func(address string, join ...string) (*Node, Config, error) {
			fs := vfs.NewMem()
			s, err := replica.Open("data", store.Options{FS: fs, MemTableBytes: 1 << 20, CacheBytes: 4 << 20, MinFreeBytes: -1}, replica.Options{})
			if err != nil {
				return nil, Config{}, err
			}
			t.Cleanup(func() { s.Close() })
			cfg := Config{Store: s, Listen: address + ":7000", Network: net.Host(address), FS: fs, Clock: sinceStart(begin), LoadDir: t.TempDir(), Join: join}
			n, err := Start(ctx, cfg)
			if err == nil {
				if err = n.AwaitJoined(ctx); err != nil {
					return nil, cfg, errors.Join(err, n.Close())
				}
			}
			return n, cfg, err
		}
		// 1. Two machines are a cluster.
		first, cfg, err := start("10.0.0.1")
		require.NoError(t, err)
		second, _, err := start("10.0.0.2", first.Address())
		require.NoError(t, err)
		defer second.Close()
		before, _ := cfg.Store.Identity()
		require.NoError(t, first.Close())
		// 2. The first one starts again, slowly, while a third one joins at its address.
		joined := make(chan *Node, 1)
		go func() {
			third, _, err := start("10.0.0.3", "10.0.0.1:7000")
			if err != nil {
				t.Error(err)
			}
			joined <- third
		}()
		defer func() {
			cancel()
			if third := <-joined; third != nil {
				third.Close()
			}
		}()
		cfg.FS = slowDisk{cfg.FS, new(atomic.Bool)}
		again, err := Start(ctx, cfg)
		// 3. It is a member of the same cluster.
		if after, _ := cfg.Store.Identity(); after != before {
			t.Errorf("the identity was %+v, and is %+v", before, after)
		}
		if err != nil {
			t.Error(err)
			return
		}
		defer again.Close()
		// 4. The third one joins it.
		third := <-joined
		if third != nil && third.View().ClusterID != before.ClusterID {
			t.Errorf("the third machine is in cluster %s, want %s", third.View().ClusterID, before.ClusterID)
		}
		joined <- third
	})
}
