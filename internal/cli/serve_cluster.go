package cli

// This file holds the flags of serve that make a node one of a cluster.

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/node/view"
)

// clusterFlags say which cluster a node belongs to, and how its nodes know each
// other.
type clusterFlags struct {
	Advertise      string        `placeholder:"HOST:PORT" help:"Where other nodes reach this one; where it listens by default."`
	Join           []string      `placeholder:"HOST:PORT" help:"Members of the cluster to join, or to find again; repeatable, or with commas between."`
	Spare          bool          `help:"Join as a spare, which holds nothing until another machine fails."`
	Copies         int           `default:"3" placeholder:"N" help:"How many machines hold each triple, 2 to 5, ${default} by default. It counts at the first start of a cluster's first node; later trefoil cluster set copies changes it."`
	Cluster        string        `default:"trefoil" placeholder:"NAME" help:"The cluster's name, the same on all its nodes; ${default} by default."`
	CA             string        `name:"ca" placeholder:"F" help:"Certificates of the authority that signs those of nodes (trefoil cert)."`
	Cert           string        `placeholder:"F" help:"This node's certificate."`
	Key            string        `placeholder:"F" help:"The key of the certificate."`
	GossipKeyFile  string        `placeholder:"F" help:"File with the key that nodes know each other by and that gossip is encrypted with, the same on all nodes (trefoil cert gossip-key)."`
	FailureTimeout time.Duration `default:"3s" placeholder:"D" help:"How long a machine may be silent until the others go on without it, ${default} by default; the same on all nodes."`
	RebuildShare   int           `default:"10" placeholder:"PERCENT" help:"The share of its time that a node gives to copies, lost or moved, while it answers requests, 1 to 100; ${default} by default."`
	PurgeEvery     time.Duration `default:"10m" placeholder:"D" help:"How long marks of deleted triples wait for the next purge where they are few, ${default} by default; 0 is for ever."`
	ScrubEvery     time.Duration `default:"24h" placeholder:"D" help:"How long after one comparison of all copies the next one begins, ${default} by default; 0 is never."`
	ScrubRate      byteSize      `default:"8MiB" placeholder:"SIZE" help:"How much of its rows a node reads a second for that, ${default} by default."`
}

// clusterConfig is what the flags say, checked.
type clusterConfig struct {
	Name      string
	Advertise string // "" is where the node listens
	Join      []string
	Spare     bool
	Copies    int // of each triple
	// CA, Cert and Key are files; all are "" where nodes talk in the clear.
	CA, Cert, Key string
	Secret        []byte // what nodes prove to each other to have; nil for none
	Closed        bool   // the node talks to no other node
	// Lease is how long a member may answer on the leader's word, Patience how long
	// the leader does without a sign of it.
	Lease, Patience time.Duration
	RebuildShare    float64 // above 0, up to 1
	// PurgeEvery and ScrubEvery are less than 0 for never.
	PurgeEvery, ScrubEvery time.Duration
	ScrubRate              int64 // bytes a second
}

// Bounds of --failure-timeout. A shorter one takes pauses of the network, of disks
// and of the collector for failures.
const (
	minFailureTimeout = 500 * time.Millisecond
	maxFailureTimeout = 5 * time.Minute
)

var clusterName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// config returns what the flags say of a node that listens at an address and has a
// token, "" for none. Insecure lets nodes talk in the clear beyond loopback.
func (f *clusterFlags) config(listen, token string, insecure bool) (c clusterConfig, err error) {
	switch {
	case !clusterName.MatchString(f.Cluster):
		return c, usagef("--cluster %q: a name of up to 64 letters, digits, '.', '_' and '-'", f.Cluster)
	case f.Spare && len(f.Join) == 0:
		return c, usagef("--spare: a spare needs a cluster; say which with --join")
	case f.FailureTimeout < minFailureTimeout || f.FailureTimeout > maxFailureTimeout:
		return c, usagef("--failure-timeout %s: it is %s to %s", f.FailureTimeout, minFailureTimeout, maxFailureTimeout)
	}
	if err := view.CheckCopies(f.Copies); err != nil {
		return c, usagef("--copies: %v", err)
	}
	if f.RebuildShare < 1 || f.RebuildShare > 100 {
		return c, usagef("--rebuild-share %d: it is 1 to 100 percent", f.RebuildShare)
	}
	if f.PurgeEvery < 0 {
		return c, usagef("--purge-every %s: it is a time, or 0", f.PurgeEvery)
	}
	if f.ScrubEvery < 0 || f.ScrubRate <= 0 {
		return c, usagef("--scrub-every is a time, or 0; --scrub-rate is a size")
	}
	if err := f.checkAddresses(listen); err != nil {
		return c, err
	}
	if err := f.checkTLS(listen, insecure); err != nil {
		return c, err
	}
	c = clusterConfig{
		Name: f.Cluster, Advertise: f.Advertise, Join: f.Join, Spare: f.Spare, Copies: f.Copies, CA: f.CA, Cert: f.Cert, Key: f.Key,
		// After the last sign of a machine its lease has to run out, with some drift,
		// before the time that the leader waits is over.
		Lease: f.FailureTimeout * 2 / 3, Patience: f.FailureTimeout,
		RebuildShare: float64(f.RebuildShare) / 100, PurgeEvery: f.PurgeEvery, ScrubEvery: f.ScrubEvery, ScrubRate: int64(f.ScrubRate),
	}
	if c.PurgeEvery == 0 {
		c.PurgeEvery = -1
	}
	if c.ScrubEvery == 0 {
		c.ScrubEvery = -1
	}
	var key []byte
	if f.GossipKeyFile != "" {
		if key, err = readGossipKey(f.GossipKeyFile); err != nil {
			return c, err
		}
	}
	// Beyond loopback a token alone is no reason to let nodes in: it would be sent,
	// and so would all data, in the clear.
	c.Closed = c.Cert == "" && key == nil && !insecure && !isLoopback(listen)
	c.Secret, err = f.secret(key, token)
	return c, err
}

// secret returns what nodes prove to each other to have. Nodes with certificates know
// each other by those, and by the gossip key if there is one. Without certificates a
// token is part of it: a process that does not have the token is no node.
func (f *clusterFlags) secret(key []byte, token string) ([]byte, error) {
	if f.Cert != "" || token == "" {
		return key, nil
	}
	const keyBytes = 32
	material := append(binary.AppendUvarint(nil, uint64(len(key))), key...)
	secret, err := hkdf.Key(sha256.New, append(material, token...), nil, "trefoil secret of nodes", keyBytes)
	if err != nil {
		return nil, fmt.Errorf("the secret of nodes: %w", err)
	}
	return secret, nil
}

func (f *clusterFlags) checkAddresses(listen string) error {
	if f.Advertise != "" {
		if err := checkHostPort("--advertise", f.Advertise); err != nil {
			return err
		}
	} else if host, _, err := net.SplitHostPort(listen); err == nil && isWildcard(host) && len(f.Join) > 0 {
		return usagef("--listen %s is no address that other nodes could reach: say --advertise HOST:PORT", listen)
	}
	for _, address := range f.Join {
		if err := checkHostPort("--join", address); err != nil {
			return err
		}
	}
	return nil
}

// checkTLS demands all of the three files or none, and beyond loopback all.
func (f *clusterFlags) checkTLS(listen string, insecure bool) error {
	given := 0
	for _, file := range []string{f.CA, f.Cert, f.Key} {
		if file != "" {
			given++
		}
	}
	switch {
	case given == 3:
		return nil
	case given > 0:
		return usagef("--ca, --cert and --key go together: nodes show a certificate, and ask for one")
	case insecure || len(f.Join) == 0 && f.Advertise == "":
		return nil // a node alone talks to no other
	}
	for _, address := range append([]string{listen, f.Advertise}, f.Join...) {
		if address != "" && !isLoopback(address) {
			return usagef("nodes would talk in the clear with whoever answers at %s: "+
				"give --ca, --cert and --key (trefoil cert makes them), or --insecure where the network is trusted", address)
		}
	}
	return nil
}

// checkHostPort demands an address that others can dial.
func checkHostPort(flag, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return usagef("%s %q: it is HOST:PORT", flag, address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return usagef("%s %q: the port is 1 to 65535", flag, address)
	}
	if isWildcard(host) {
		return usagef("%s %q: nobody can be reached there; name a host", flag, address)
	}
	return nil
}

func isWildcard(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// readGossipKey returns the key that a file holds in base64: of 16, 24 or 32 bytes,
// as AES takes them.
func readGossipKey(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("gossip key: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 16 && len(key) != 24 && len(key) != 32 {
		return nil, hinted{fmt.Errorf("gossip key %s: it must hold 16, 24 or 32 bytes in base64", file), "trefoil cert gossip-key makes one."}
	}
	return key, nil
}
