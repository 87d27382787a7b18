// Options of the API, and their defaults.

package server

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/trefoildb/trefoil/internal/audit"
	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/logs"
	"github.com/trefoildb/trefoil/internal/oidc"
	"github.com/trefoildb/trefoil/internal/readcount"
	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/admin"
	"github.com/trefoildb/trefoil/internal/server/functions"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/subscriptions"
	"github.com/trefoildb/trefoil/internal/textsearch"
	"github.com/trefoildb/trefoil/internal/tracing"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/rdfload/syntax"
)

// Options are the parameters of [New]. The zero value is ready to use.
type Options struct {
	// Version is the program's version, for /metrics and /openapi.json.
	Version string
	// Token must be sent by clients as Authorization: Bearer, if it is set. Endpoints such as
	// /healthz and /readyz need none.
	Token string
	// OperatorToken, if set, must be sent by requests to change the members of the cluster. It is
	// valid for all other requests too.
	OperatorToken string
	// Applications have tokens and own their annotations. If set, Token must be set, too.
	Applications []access.Application
	// Users have names, passwords, roles and perhaps some graphs only. If there are any, each request needs a
	// user's password or one of the tokens.
	Users []access.User
	// OIDC is an issuer of OpenID Connect whose tokens have the rights of Users. If it is zero, none is accepted.
	OIDC oidc.Options
	// Engine answers SPARQL. If nil, its endpoints are missing.
	Engine *engine.Engine
	// Links is the graph of links behind /links. If nil, its endpoints are missing. If it has a
	// method Epoch() uint64, answers contain its epoch, and a request with an epoch costs no call
	// of Stats. Epoch must return the epoch of a read that begins now, and must never shrink.
	Links links.Graph
	// Text is the text index behind /search and /text. If nil, these endpoints are missing.
	Text *textsearch.Index
	// LinkPredicate is the IRI of the predicate of the links; "" is [links.DefaultPredicate].
	LinkPredicate string
	// Functions is the registry of update functions behind /functions. If nil, its endpoints are
	// missing.
	Functions functions.Registry
	// Subscriptions is the registry behind /subscriptions. If nil, its endpoints are missing.
	Subscriptions *subscriptions.Registry
	// Reads counts what clients read, for subscriptions. If nil, nothing is counted.
	Reads *readcount.Counter
	// Stalled returns the followers of the change feed that stand still, for the status and readiness; nil means
	// that there are none.
	Stalled func() []*feed.StalledError
	// Cluster is the cluster of this machine; nil if the store is alone.
	Cluster Cluster
	// AllowOrigins are origins such as "https://app.example.org". Their web pages may read answers
	// and change data. "*" lets all pages read, but origins must be listed if their pages may
	// change data.
	AllowOrigins []string
	// PublicURL is the address of the node for its clients, such as https://data.example.org, or
	// https://example.org/trefoil if a proxy removes the path. The IRIs of graphs below /data and
	// the links of /fragments begin with it. If "", they begin with http or https and the Host
	// header of each request.
	PublicURL string
	// AcceptHosts are host names, without a port, for the Host header of requests to a loopback
	// address. They matter only if no token is needed. Addresses, localhost, this machine's name
	// and the host of PublicURL are always accepted.
	AcceptHosts []string
	// ReadOnly rejects every change.
	ReadOnly bool
	// Full, if set, rejects every change with this error, because the disk has no room.
	Full error
	// MaxBodyBytes is the greatest document in the body of a request, decompressed; 0 is 64 MiB.
	// It holds for /triples, /data and links.
	MaxBodyBytes int64
	// MemoryBytes bounds the memory of all requests together for documents and pages. Beyond it
	// they get 503. One document may take four times MaxBodyBytes in memory, but never more than
	// this budget allows. 0 is 512 MiB.
	MemoryBytes int64
	// Contexts returns the JSON-LD contexts that documents name by URL; nil means none.
	Contexts syntax.Contexts
	// LoadMemoryBytes is the memory of one bulk load, and the most for a request's own setting; 0
	// is the loader's default.
	LoadMemoryBytes int64
	// MaxLoadBytes is the greatest body, decompressed, for /load; 0 is no limit.
	MaxLoadBytes int64

	// MaxBackups is the number of backups at a time; 0 is two.
	MaxBackups int
	// StallTimeout is the longest wait for a client in one read or write; 0 is 30 s.
	StallTimeout time.Duration
	// MinBytesPerSecond is the average rate of a body, beyond StallTimeout; 0 is 16 KiB.
	MinBytesPerSecond int64
	// Registry holds the metrics of the endpoints, and /metrics shows all of it. If nil, it is a
	// new one with the metrics of the process and of Go.
	Registry *prometheus.Registry
	// Collectors are registered in Registry too.
	Collectors []prometheus.Collector
	// SlowQuery is the time from which on a query, an update or a stream of triples is slow: it is
	// logged, and kept for a list. 0 is 1 s; a negative value means that none is slow.
	SlowQuery time.Duration
	// LogRequests logs requests at level info instead of debug.
	LogRequests bool
	// Audit gets a record of each change and of each request of operators, also of refused ones. If nil, there is
	// none. Its owner closes it.
	Audit  *audit.Log
	issuer *oidc.Verifier  // of the first OIDC; made by currentTokens
	tokens *access.Current // made by currentTokens
	// Tracer records requests; nil records nothing.
	Tracer *tracing.Tracer

	// Logger gets requests (debug), slow queries (warn), answers broken off by a limit (warn) and
	// failures (error), each with the request's ID. If nil, nothing is logged.
	Logger *slog.Logger
}

// Tokens are the secrets of clients and the users, which [API.SetTokens] replaces. [Options] describes them.
type Tokens struct {
	Token, OperatorToken string
	Applications         []access.Application
	Users                []access.User
	// OIDCKeys replace [oidc.Options.Keys]. They are ignored if there is no issuer, or if its keys have a URL.
	OIDCKeys []byte
}

// Validate returns an error if an option is out of range or malformed.
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
	if err := request.CheckPublicURL(o.PublicURL); err != nil {
		return err
	}
	if err := access.CheckHosts(o.AcceptHosts); err != nil {
		return err
	}
	if err := access.CheckApplications(o.Applications, o.Token, o.OperatorToken); err != nil {
		return err
	}
	if _, _, err := o.newUsers(); err != nil {
		return err
	}
	return access.CheckOrigins(o.AllowOrigins)
}

func (o Options) withDefaults() Options {
	setDefault(&o.MaxBodyBytes, 64<<20)
	setDefault(&o.MemoryBytes, 512<<20)
	setDefault(&o.MaxBackups, 2)
	setDefault(&o.LinkPredicate, links.DefaultPredicate)
	setDefault(&o.StallTimeout, 30*time.Second)
	setDefault(&o.MinBytesPerSecond, 16<<10)
	setDefault(&o.SlowQuery, time.Second)
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
		o.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = logs.WithRequests(o.Logger)
	return o
}

func setDefault[T comparable](value *T, to T) {
	var zero T
	if *value == zero {
		*value = to
	}
}

// Filter parses the filter of a subscription, for [Options.Subscriptions].
func Filter(params map[string]string) (feed.Filter, error) { return request.Params(params).Filter() }

// newUsers returns the users, and the verifier of their tokens.
func (o *Options) newUsers() (*access.Users, *oidc.Verifier, error) {
	if o.OIDC.Logger == nil {
		o.OIDC.Logger = o.Logger
	}
	issuer, err := oidc.New(o.OIDC)
	if err != nil {
		return nil, nil, fmt.Errorf("http: %w", err)
	}
	users, err := access.NewUsers(o.Users, issuer)
	return users, issuer, err
}

// currentTokens returns the tokens, which are the same for the API and for OwnerMayRead.
func (o *Options) currentTokens() (*access.Current, error) {
	if o.tokens == nil {
		users, issuer, err := o.newUsers()
		if err != nil {
			return nil, err
		}
		o.issuer = issuer
		o.tokens = access.NewCurrent(access.NewTokens(o.Token, o.OperatorToken, o.Applications).WithUsers(users))
	}
	return o.tokens, nil
}

// OwnerMayRead returns a function that reports whether the owner of a subscription may read the
// annotations of an application. It follows [API.SetTokens].
// Without valid options nobody may read.
func (o *Options) OwnerMayRead() func(owner, applicationID string) bool {
	tokens, err := o.currentTokens()
	return func(owner, applicationID string) bool {
		return err == nil && tokens.Load().OwnerMayRead(owner, applicationID)
	}
}

// Cluster is the cluster as one of its members sees it.
type Cluster interface {
	admin.Cluster
	// NoMajority reports whether this member, one of two, answers reads although the other one is
	// not reached.
	NoMajority() bool
	// IsAlone reports whether this machine is alone: it is in no cluster yet.
	IsAlone() bool
}
