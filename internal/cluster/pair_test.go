// Two nodes of one cluster, for tests.

package cluster

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/memnet"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// pair runs f with two nodes of one cluster, in virtual time, which are looked after
// so often.
func pair(t *testing.T, every time.Duration, f func(t *testing.T, nodes []*Node)) {
	pairOf(t, every, replica.Options{}, f)
}

// pairOf is pair with some options of stores.
func pairOf(t *testing.T, every time.Duration, journal replica.Options, f func(t *testing.T, nodes []*Node)) {
	bubble.Test(t, func(t *testing.T) {
		defer time.Sleep(time.Minute) // of virtual time, when all is closed: memberlist does not wait for its last probes
		start, net := time.Now(), memnet.New(1)
		var nodes []*Node
		for i := range 2 {
			fs := vfs.NewMem()
			s, err := replica.Open("data", store.Options{FS: fs, MemTableBytes: 1 << 20, CacheBytes: 4 << 20, MinFreeBytes: -1}, journal)
			require.NoError(t, err)
			address := fmt.Sprintf("10.0.0.%d", i+1)
			cfg := Config{Store: s, Listen: address + ":7000", Network: net.Host(address), FS: fs, Clock: sinceStart(start), LoadDir: t.TempDir(), PurgeEvery: every, ScrubEvery: every, maxRequests: 64}
			if i > 0 {
				cfg.Join = []string{nodes[0].Address()}
			}
			n, err := Start(t.Context(), cfg)
			require.NoError(t, err)
			require.NoError(t, n.AwaitJoined(t.Context()))
			nodes = append(nodes, n)
			defer func() {
				if err := errors.Join(n.Close(), s.Close()); err != nil {
					t.Error(err)
				}
			}()
		}
		for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Second) { // of virtual time
			quiet := true
			for _, n := range nodes {
				v := n.View()
				_, err := n.upkeep.AtRest(v.Epoch)
				quiet = quiet && err == nil && len(v.Members) == 2 && v.Epoch == nodes[0].View().Epoch && n.Lease() == nil
			}
			if quiet {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the two do not come to rest")
			}
		}
		f(t, nodes)
	})
}

type sinceStart time.Time

func (s sinceStart) Now() time.Duration { return time.Since(time.Time(s)) }
