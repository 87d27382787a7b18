// Certificates that are bound to a cluster.

package port_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/trefoildb/trefoil/internal/cert"
	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/testing/memnet"
)

// TestBoundCertificates: if a node's certificate names clusters, the node gets connections only
// with nodes of the same one, in both directions and for any claimed name.
func TestBoundCertificates(t *testing.T) {
	const name = "a b/ü:%" // any name can be in a URI
	synctest.Test(t, func(t *testing.T) {
		dir, free := certs(t)
		bound := func(file, cluster string) *port.TLS {
			if err := cert.MakeNode(dir, file, cluster, []string{hostA, hostB}, false); err != nil {
				t.Fatal(err)
			}
			return files(dir, file)
		}
		ours, others := bound("ours", name), bound("others", "other")
		for _, c := range []struct {
			a, b  *port.TLS
			aName string // "" is name
			meet  bool
		}{
			{free, free, "", true},
			{ours, ours, "", true},
			{ours, free, "", false},
			{free, ours, "", false},
			{others, free, "other", false},
			{others, ours, "other", false},
		} {
			n := memnet.New(1)
			if c.aName == "" {
				c.aName = name
			}
			// a starts under the name of its certificate, and claims name when it dials.
			claims := c.aName
			a := open(t, port.Options{Network: n.Host(hostA), Listen: addrA, TLS: c.a, Cluster: func() string { return claims }})
			b := open(t, port.Options{Network: n.Host(hostB), Listen: addrB, TLS: c.b, Cluster: cluster(name)})
			claims = name
			echo(t, a)
			echo(t, b)
			for _, way := range []struct {
				from *port.Port
				to   string
			}{{a, addrB}, {b, addrA}} {
				conn, err := way.from.Dial(t.Context(), port.Peer, way.to)
				if err == nil {
					err = talk(conn, port.Peer)
				}
				if (err == nil) != c.meet {
					t.Errorf("%s with %s, to %s: %v", c.a.Cert, c.b.Cert, way.to, err)
				}
			}
			a.Close()
			b.Close()
		}
		n := memnet.New(1)
		if _, err := port.Listen(t.Context(), port.Options{Network: n.Host(hostA), Listen: addrA, TLS: others, Cluster: cluster(name)}); err == nil ||
			!strings.Contains(err.Error(), "trefoil cert node --cluster") {
			t.Errorf("a node starts with the certificate of another cluster: %v", err)
		}
	})
}
