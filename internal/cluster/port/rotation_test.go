// Tests of certificates that change.

package port_test

import (
	"crypto/tls"
	"math/big"
	"os"
	"testing"
	"testing/synctest"

	"github.com/trefoildb/trefoil/internal/cert"
	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/testing/memnet"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// New certificates count from the next handshake on, without a restart. If files do not fit,
// nothing changes. Open connections stay.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		dir, files := certs(t)
		a, b := two(t, n, port.Options{TLS: files})
		echo(t, b)
		shown := func() *big.Int {
			t.Helper()
			raw, err := n.Host(stranger).Dial(t.Context(), addrB)
			require.NoError(t, err)
			defer raw.Close()
			config := client(t, files)
			config.InsecureSkipVerify = true // the test looks at the number only
			conn := tls.Client(raw, config)
			require.NoError(t, conn.HandshakeContext(t.Context()))
			return conn.ConnectionState().PeerCertificates[0].SerialNumber
		}
		old, err := a.Dial(t.Context(), port.Peer, addrB)
		require.NoError(t, err)
		first := shown()
		if again := shown(); again.Cmp(first) != 0 {
			t.Error("the certificate changed by itself")
		}
		node(t, dir, "node", hostA, hostB)
		second := shown()
		if second.Cmp(first) == 0 {
			t.Error("the new certificate is not used")
		}
		works(t, a, addrB)

		// Half of a change: the key is of another certificate.
		whole, err := os.ReadFile(files.Key)
		require.NoError(t, err)
		for _, bad := range [][]byte{nil, whole[:len(whole)/2], []byte("x")} {
			require.NoError(t, os.WriteFile(files.Key, bad, 0o600))
			if shown().Cmp(second) != 0 {
				t.Error("half a change changed something")
			}
			works(t, a, addrB)
		}
		require.NoError(t, os.Remove(files.Key))
		works(t, a, addrB)

		// A new CA with new certificates for all: the old ones are worth nothing.
		require.NoError(t, os.WriteFile(files.Key, whole, 0o600))
		mine := pair(t, files)
		require.NoError(t, cert.MakeCA(dir, true))
		node(t, dir, "node", hostA, hostB)
		works(t, a, addrB)
		if _, err := get(t, n.Host(stranger).Dial, "https://"+addrB, client(t, files, mine)); err == nil {
			t.Error("a certificate of the old CA is taken")
		}
		if err := talk(old, port.Peer); err != nil {
			t.Errorf("the connection from before: %v", err)
		}
	})
}
