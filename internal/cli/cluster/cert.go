// trefoil cert: the keys of a cluster.

package cluster

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/trefoildb/trefoil/internal/cert"
	"github.com/trefoildb/trefoil/internal/cli/console"
)

// CertCmd makes the keys of a cluster: authority, certificates and gossip key.
type CertCmd struct {
	CA        certCACmd    `cmd:"" name:"ca" help:"Make a certificate authority: ca.crt for all nodes, and ca.key, which no node needs."`
	Node      certNodeCmd  `cmd:"" help:"Make a node's certificate and key, NAME.crt and NAME.key; ca.key signs it."`
	GossipKey gossipKeyCmd `cmd:"" help:"Print a new gossip key; all nodes of a cluster have the same."`
}

type certCACmd struct {
	Out   string `default:"." placeholder:"DIR" help:"The directory to write to, created if it is missing; this one by default."`
	Force bool   `help:"Replace an authority that is there. Its certificates are then worth nothing."`
}

func (c *certCACmd) Run(e *console.Env) error {
	if err := cert.MakeCA(c.Out, c.Force); err != nil {
		return withForce(err)
	}
	e.Sayf("wrote %s and ca.key; keep ca.key off the nodes", filepath.Join(c.Out, "ca.crt"))
	return nil
}

type certNodeCmd struct {
	Host    []string `required:"" placeholder:"HOST" help:"The names and IP addresses that the node is reached at, without port; repeatable, or with commas between."`
	Cluster string   `placeholder:"NAME" help:"The name of the one cluster (serve --cluster) that the certificate is good for; without it, any whose nodes have this authority."`
	Out     string   `default:"." placeholder:"DIR" help:"The directory with ca.crt and ca.key, which is written to; this one by default."`
	Force   bool     `help:"Replace a certificate that is there."`
	Name    string   `arg:"" help:"The node's name: it becomes that of the files."`
}

func (c *certNodeCmd) Run(e *console.Env) error {
	if err := cert.MakeNode(c.Out, c.Name, c.Cluster, c.Host, c.Force); err != nil {
		return withForce(err)
	}
	e.Sayf("wrote %s and %s.key", filepath.Join(c.Out, c.Name+".crt"), c.Name)
	return nil
}

type gossipKeyCmd struct {
	Out string `placeholder:"F" help:"Write it to a new file that its owner alone reads, instead of printing it."`
}

func (c *gossipKeyCmd) Run(e *console.Env) error {
	if c.Out == "" {
		_, err := fmt.Fprintln(e.Stdout, cert.GossipKey())
		return err
	}
	return cert.WriteGossipKey(c.Out)
}

// withForce adds the hint to use --force if a file exists.
func withForce(err error) error {
	if errors.Is(err, cert.ErrExists) {
		return console.WithHint(err, "--force replaces it.")
	}
	return err
}
