// Options of the doors, and what may listen where.

package httpapi

import (
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/node/engine"
)

// Options are the parameters of [New]. The zero value is ready to use.
type Options struct {
	// Token, where set, is what clients must send as Authorization: Bearer. Only
	// /healthz and /readyz go without.
	Token string
	// OperatorToken, if set, is what requests that change the members of the cluster
	// must send instead; it is good for all others too.
	OperatorToken string
	// Engine answers SPARQL; nil leaves its doors out.
	Engine *engine.Engine
	// Links is the graph of links behind /links; nil leaves its doors out. Where it has
	// a method Epoch() uint64, answers tell its epoch, and cost no call of Stats where a
	// request names one: that of what a read sees which begins now, which never shrinks.
	Links links.Graph
	// Cluster is what the node may be a member of; nil for one that stays alone.
	Cluster Cluster
	// AllowOrigins are the origins, such as "https://app.example.org", whose web
	// pages may read answers and change data. "*" lets all pages read; which may
	// change data is still to be named.
	AllowOrigins []string
	// PublicURL is where clients reach the node, such as https://data.example.org or,
	// behind a proxy that cuts the path off, https://example.org/trefoil: the IRIs of
	// graphs below /data and the links of /fragments begin with it. "" is http or
	// https and the Host header of each request.
	PublicURL string
	// AcceptHosts are names of hosts, without a port, that requests to a loopback
	// address may have in Host if no token is needed: beside localhost, addresses,
	// this machine's name and the host of PublicURL.
	AcceptHosts []string
	// ReadOnly refuses every change.
	ReadOnly bool
	// Full, if set, refuses every change with this error: the disk has no room for any.
	Full error
	// MaxBodyBytes is the greatest document, decompressed, that POST and DELETE
	// /triples take; 0 is 64 MiB.
	MaxBodyBytes int64
	// MemoryBytes bounds what all requests together hold of documents and pages;
	// beyond it they are answered 503. One document may unfold to four times
	// MaxBodyBytes or to all of it. 0 is 512 MiB.
	MemoryBytes int64
	// LoadMemoryBytes is the memory of one bulk load, and the most that a request
	// may ask for; 0 is the loader's default.
	LoadMemoryBytes int64
	// MaxLoadBytes is the greatest body, decompressed, that /load takes; 0 is no
	// limit.
	MaxLoadBytes int64

	// MaxBackups is how many backups are taken at a time; 0 is two.
	MaxBackups int
	// StallTimeout is the longest that a client may keep a read or write waiting;
	// 0 is 30 s.
	StallTimeout time.Duration
	// MinBytesPerSecond is the pace that a body keeps on average, StallTimeout
	// aside; 0 is 16 KiB.
	MinBytesPerSecond int64
	// Registry is what /metrics shows, and where the doors register theirs; nil is
	// a new one, with the metrics of the process and of Go.
	Registry *prometheus.Registry
	// Collectors are registered there too.
	Collectors []prometheus.Collector
	// Logger takes requests (debug) and failures (error); nil is nobody.
	Logger *slog.Logger
}

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"MaxBodyBytes", o.MaxBodyBytes}, {"MemoryBytes", o.MemoryBytes}, {"LoadMemoryBytes", o.LoadMemoryBytes},
		{"MaxLoadBytes", o.MaxLoadBytes}, {"MaxBackups", int64(o.MaxBackups)},
		{"StallTimeout", int64(o.StallTimeout)}, {"MinBytesPerSecond", o.MinBytesPerSecond},
	} {
		if n.value < 0 {
			return fmt.Errorf("http: %s is negative: %d", n.name, n.value)
		}
	}
	if err := checkPublicURL(o.PublicURL); err != nil {
		return err
	}
	if err := checkHosts(o.AcceptHosts); err != nil {
		return err
	}
	return checkOrigins(o.AllowOrigins)
}

func (o Options) withDefaults() Options {
	setDefault(&o.MaxBodyBytes, 64<<20)
	setDefault(&o.MemoryBytes, 512<<20)
	setDefault(&o.MaxBackups, 2)
	setDefault(&o.StallTimeout, 30*time.Second)
	setDefault(&o.MinBytesPerSecond, 16<<10)
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
		o.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func setDefault[T comparable](value *T, to T) {
	var zero T
	if *value == zero {
		*value = to
	}
}

// CheckListen returns nil where a node may listen at addr: at a loopback address
// always, elsewhere with a token, or where the operator insists (insecure).
func CheckListen(addr string, hasToken, insecure bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen address %q: %w", addr, err)
	}
	ip := net.ParseIP(host)
	if hasToken || insecure || host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("listening at %s lets everybody who reaches it read and change the data: "+
		"give --token-file, or --insecure where the network is trusted", addr)
}
