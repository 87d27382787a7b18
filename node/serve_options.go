// Options of a served store: its address, its clients and its cluster.

package node

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/oidc"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/tracing"
	"github.com/trefoildb/trefoil/internal/webhook"
)

// DefaultListen is the address of [ServeOptions] without one.
const DefaultListen = "127.0.0.1:7333"

// Application is an application with a token and annotations of its own.
type Application = access.Application

// User is a user with a password or values in tokens of OpenID Connect, roles and perhaps some graphs only.
type User = access.User

// OIDC are the parameters of an issuer of OpenID Connect. The zero value is none.
type OIDC = oidc.Options

// ServeOptions are the parameters of [Serve]. The zero value serves a lone store at
// [DefaultListen].
type ServeOptions struct {
	// Options are those of the store.
	Options
	// Listen is the address for clients and other members; "" is [DefaultListen]. Port 0
	// takes any free port. An address beyond loopback requires Token, Users or Insecure.
	Listen string
	// MaxNesting is the greatest number of levels of triple terms that the process reads or makes;
	// 0 leaves that of [triple.SetMaxNesting].
	MaxNesting int
	// Token, if not "", is the secret that clients must send (Authorization: Bearer).
	Token string
	// OperatorToken, if not "", is the secret that requests must send to change the
	// members of the cluster. Members without certificates prove it to each other
	// instead of Token.
	OperatorToken string
	// Applications have tokens, and own their annotations: others read and change them only if
	// they are granted. It requires Token.
	Applications []Application
	// Users have names, passwords and roles. If there are any, each request needs a user's password, a token of OIDC
	// or one of the tokens. All members of a cluster need the same users. Members do not prove passwords to each other: without
	// certificates they need a token or a gossip key, too.
	Users []User
	// OIDC is an issuer of OpenID Connect. Its tokens have the rights of the Users whose values they have. It
	// requires Users. All members of a cluster need the same issuer, and each verifies the tokens that it gets.
	OIDC OIDC
	// Insecure permits an address beyond loopback without a token, and members that
	// exchange messages in the clear.
	Insecure bool
	// AllowOrigins are the origins of web pages that may read answers and change data,
	// such as https://app.example.org; * lets all pages read.
	AllowOrigins []string
	// PublicURL is the URL at which clients reach the node: links and IRIs of graphs
	// begin with it. "" is the Host header of each request.
	PublicURL string
	// AcceptHosts are names that requests to loopback may have in Host, besides
	// localhost, addresses, the name of this machine and that of PublicURL.
	AcceptHosts []string

	// WebhookHost are the hosts that may get the changes of subscriptions: as AllowHosts, by https,
	// and with the prefix http:// by http.
	WebhookHost []string
	// WebhookKey is the key from which the secrets of subscriptions are derived, at least 16 bytes,
	// the same on all members; nil is no webhooks.
	WebhookKey []byte

	// Cluster is the cluster that the node forms or joins.
	Cluster ClusterOptions

	// SlowQuery is the time from which on a query or update is slow, so that it is logged and kept in
	// a list. 0 is 1 s; a negative value means that none is slow.
	SlowQuery time.Duration
	// LogRequests logs each request at level info instead of debug.
	LogRequests bool

	// Traces sends traces of requests to a collector; without an endpoint there are none.
	Traces TraceOptions

	// AuditLog is a file to which a record of each change and of each request of operators is appended; "" is none.
	AuditLog string

	// Reload, if not nil, is called again and again while the node serves. It must wait until tokens
	// or certificates have changed, or ctx ends, and return the current tokens. Certificates and
	// JSON-LD contexts are then read again, too. After an error the tokens before still count. While the node is a member
	// of a cluster whose members know each other by a token, that one cannot change.
	Reload func(ctx context.Context) (Tokens, error)

	// Ready, if not nil, is called with the URL of the node when it begins to listen
	// there, and again if Serve opens the store again (see [Serve]).
	Ready func(url string)
	// Report, if not nil, receives messages for the operator, each a sentence: what the
	// node begins, waits for and ends.
	Report func(message string)
}

// TraceOptions are the part of [ServeOptions] about traces.
type TraceOptions struct {
	// Endpoint is the URL of a collector for OTLP over HTTP, such as http://127.0.0.1:4318; "" is none.
	Endpoint string
	// Headers go with each request to the collector.
	Headers http.Header
	// Ratio is the share of requests without a traceparent that are recorded, up to 1; 0 is all of them, and a
	// negative value is none.
	Ratio float64
}

// ClusterOptions are the part of [ServeOptions] about other machines. The zero value
// is a node that is alone until another one joins it.
type ClusterOptions struct {
	// Name is the cluster's, the same on all members; "" is trefoil.
	Name string
	// Advertise is the address at which other members reach this one; "" is where it
	// listens.
	Advertise string
	// Join are addresses of members of the cluster to join, or to find again.
	Join []string
	// Spare joins as a spare: it stores nothing until another machine fails.
	Spare bool
	// Copies is how many machines hold each row of a triple, 2 to 5; 0 is 3. It counts
	// when the first member of a cluster starts for the first time.
	Copies int
	// LinkCopies is how many followers keep the cells of a partition of the link graph
	// beside its primary, up to 4. 0 is one fewer than Copies, and -1 is none. It must be
	// the same on all machines.
	LinkCopies int
	// CA, Cert and Key are PEM files: the authority of the members' certificates, and
	// the certificate of this one with its key. If all are "", there is no TLS.
	CA, Cert, Key string
	// GossipKey encrypts gossip, and members prove it to each other: 16, 24 or 32 bytes,
	// the same on all members; nil is none.
	GossipKey []byte
	// FailureTimeout is how long a machine may be silent before the others go on without
	// it, the same on all members; 0 is 3 s.
	FailureTimeout time.Duration
	// RebuildShare is the percentage of a member's time that backfills may take while it
	// answers requests, 1 to 100; 0 is 10.
	RebuildShare int
	// PurgeEvery is the interval of purges of tombstones; 0 is ten minutes, and a negative value
	// is never. If tombstones are many, a tenth of it is enough.
	PurgeEvery time.Duration
	// ScrubEvery is the time between two scrubs; 0 is a day, and a negative value is
	// never.
	ScrubEvery time.Duration
	// ScrubRate is how many bytes of its rows a member compares in a second; 0 is 8 MiB.
	ScrubRate int64
}

// Bounds of FailureTimeout. A shorter one takes pauses of the network, of disks and of
// the garbage collector for failures.
const (
	minFailureTimeout = 500 * time.Millisecond
	maxFailureTimeout = 5 * time.Minute
)

// defaultName is the cluster's without ClusterOptions.Name.
const defaultName = "trefoil"

var clusterName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Validate returns an error if an option is invalid, or if the options would expose
// data: see [Options.Validate].
func (o ServeOptions) Validate() error {
	o = o.withDefaults()
	if err := o.Options.Validate(); err != nil {
		return err
	}
	if err := (server.Options{Users: o.Users, OIDC: o.OIDC, AllowOrigins: o.AllowOrigins, PublicURL: o.PublicURL, AcceptHosts: o.AcceptHosts}).Validate(); err != nil {
		return invalid("%v", err)
	}
	if o.MaxNesting < 0 {
		return invalid("{MaxNesting} %d: it must be more than 0", o.MaxNesting)
	}
	if _, _, err := net.SplitHostPort(o.Listen); err != nil {
		return invalid("listen address %q: %v", o.Listen, err)
	}
	if err := (webhook.Options{AllowHosts: o.WebhookHost}).Validate(); err != nil {
		return invalid("%v", err)
	}
	if (len(o.WebhookHost) > 0) != (len(o.WebhookKey) > 0) {
		return invalid("webhooks need both {WebhookHost} and {WebhookKey}")
	}
	if n := len(o.WebhookKey); n > 0 && n < 16 {
		return invalid("{WebhookKey} has %d bytes: at least 16 are needed", n)
	}
	if o.Traces.Endpoint != "" {
		if err := o.tracing().Validate(); err != nil {
			return invalid("traces: %v", err)
		}
	}
	// 1. A token must protect what strangers can reach.
	if !isLoopback(o.Listen) && o.Token == "" && len(o.Users) == 0 && !o.Insecure {
		return invalid("listening at %s lets everybody who reaches it read and change the data: "+
			"give {Token} or {Users}, or {Insecure} where the network is trusted", o.Listen)
	}
	// 2. The cluster's numbers must be in their linkgraph.
	if err := o.Cluster.validate(); err != nil {
		return err
	}
	// 3. Other members must reach this one, and must know each other.
	if err := o.checkAddresses(); err != nil {
		return err
	}
	return o.checkTLS()
}

// validate checks each option by itself.
func (c *ClusterOptions) validate() error {
	switch {
	case !clusterName.MatchString(c.Name):
		return invalid("{Cluster} %q: a name of up to 64 letters, digits, '.', '_' and '-'", c.Name)
	case c.Spare && len(c.Join) == 0:
		return invalid("{Spare}: a spare needs a cluster; say which with {Join}")
	case c.FailureTimeout != 0 && (c.FailureTimeout < minFailureTimeout || c.FailureTimeout > maxFailureTimeout):
		return invalid("{FailureTimeout} %s: it is %s to %s", c.FailureTimeout, minFailureTimeout, maxFailureTimeout)
	case c.RebuildShare < 0 || c.RebuildShare > 100:
		return invalid("{RebuildShare} %d: it is 1 to 100 percent", c.RebuildShare)
	case c.ScrubRate < 0:
		return invalid("{ScrubRate} is a size")
	case c.LinkCopies < -1 || c.LinkCopies > linkgraph.MaxCopies:
		return invalid("{LinkCopies}: %d is not 0 to %d", c.LinkCopies, linkgraph.MaxCopies)
	}
	if err := view.CheckCopies(c.Copies); c.Copies != 0 && err != nil {
		return invalid("{Copies}: %v", err)
	}
	if n := len(c.GossipKey); n != 0 && n != 16 && n != 24 && n != 32 {
		return invalid("{GossipKey}: it has %d bytes, not 16, 24 or 32", n)
	}
	return nil
}

func (o ServeOptions) withDefaults() ServeOptions {
	o.Listen = cmp.Or(o.Listen, DefaultListen)
	o.Logger = o.logger()
	o.Cluster.Name = cmp.Or(o.Cluster.Name, defaultName)
	if o.Ready == nil {
		o.Ready = func(string) {}
	}
	if o.Report == nil {
		o.Report = func(string) {}
	}
	return o
}

// linkCopies returns LinkCopies as package linkgraph takes it.
func (c *ClusterOptions) linkCopies() int {
	switch c.LinkCopies {
	case 0:
		return linkgraph.CopiesOfView
	case -1:
		return 0
	}
	return c.LinkCopies
}

// tracing returns the options of the tracer.
func (o *ServeOptions) tracing() tracing.Options {
	t := tracing.Options{Endpoint: o.Traces.Endpoint, Headers: o.Traces.Headers, Ratio: max(o.Traces.Ratio, 0), Failure: problem.Failure, Version: o.Version, Logger: o.Logger}
	if o.Traces.Ratio == 0 {
		t.Ratio = 1
	}
	return t
}

func (o *ServeOptions) reportf(format string, args ...any) { o.Report(fmt.Sprintf(format, args...)) }

// tls returns the files of the node's certificate, nil if it has none.
func (c *ClusterOptions) tls() *port.TLS {
	if c.Cert == "" {
		return nil
	}
	return &port.TLS{CA: c.CA, Cert: c.Cert, Key: c.Key}
}

// scheme returns the scheme of the URLs of the endpoints.
func (c *ClusterOptions) scheme() string {
	if c.Cert != "" {
		return "https"
	}
	return "http"
}

// closed reports whether the node must reject all other nodes. Beyond loopback a token
// alone must not admit them, because they would send it, and all data, in the clear. With
// users and nothing that nodes prove, a process without a password would read everything.
func (o *ServeOptions) closed() bool {
	if o.Cluster.Cert != "" || o.Cluster.GossipKey != nil || o.Insecure {
		return false
	}
	return !isLoopback(o.Listen) || len(o.Users) > 0 && o.Token == "" && o.OperatorToken == ""
}

// secret returns the secret that members prove to each other to have; nil is none.
// Members with certificates use the gossip key alone. An operator token, if there is
// one, is part of the secret instead of the clients' token, because clients must not
// be able to start members.
func (o *ServeOptions) secret() ([]byte, error) {
	if o.Cluster.Cert != "" {
		return o.Cluster.GossipKey, nil
	}
	return port.MemberSecret(o.Cluster.GossipKey, cmp.Or(o.OperatorToken, o.Token))
}

// checkAddresses rejects addresses that others cannot dial.
func (o *ServeOptions) checkAddresses() error {
	c := &o.Cluster
	if c.Advertise != "" {
		if err := CheckAddress(c.Advertise); err != nil {
			return invalid("{Advertise} %v", err)
		}
	} else if host, _, err := net.SplitHostPort(o.Listen); err == nil && isWildcard(host) && len(c.Join) > 0 {
		return invalid("{Listen} %s is no address that other nodes could reach: say {Advertise} HOST:PORT", o.Listen)
	}
	for _, address := range c.Join {
		if err := CheckAddress(address); err != nil {
			return invalid("{Join} %v", err)
		}
	}
	return nil
}

// checkTLS demands all of the three files or none, and all if members are beyond
// loopback.
func (o *ServeOptions) checkTLS() error {
	c := &o.Cluster
	given := 0
	for _, file := range []string{c.CA, c.Cert, c.Key} {
		if file != "" {
			given++
		}
	}
	switch {
	case given == 3:
		return nil
	case given > 0:
		return invalid("{CA}, {Cert} and {Key} go together: nodes show a certificate, and ask for one")
	case o.Insecure || len(c.Join) == 0 && c.Advertise == "":
		return nil // because a lone node sends nothing to others
	}
	for _, address := range append([]string{o.Listen, c.Advertise}, c.Join...) {
		if address != "" && !isLoopback(address) {
			return invalid("nodes would talk in the clear with any process that answers at %s: "+
				"give {CA}, {Cert} and {Key} (trefoil cert makes them), or {Insecure} where the network is trusted", address)
		}
	}
	return nil
}

// CheckAddress returns an error unless address is HOST:PORT as other machines can dial it.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q: it is HOST:PORT", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q: the port is 1 to 65535", address)
	}
	if isWildcard(host) {
		return fmt.Errorf("%q: no node can be reached there; name a host", address)
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
