// Package serve has trefoil serve, config and users: the flags of a server, their other sources, and their translation
// to options of package node.
package serve

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/http/httpguts"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/logs"
	"github.com/trefoildb/trefoil/node"
)

// Cmd serves a store over HTTP until a signal.
type Cmd struct {
	Data string `required:"" placeholder:"DIR" help:"The data directory; created if it is missing."`
	serveFlags
}

// serveFlags are all other flags of the server. See settings.go for their other sources.
type serveFlags struct {
	Config                configFlag        `placeholder:"F" help:"File with settings, in TOML: listen = \"0.0.0.0:7333\". Flags and environment variables override it. trefoil config prints one."`
	Listen                string            `default:"127.0.0.1:7333" placeholder:"ADDR" help:"Where to listen, ${default} by default; port 0 takes any free one, and a port alone is of 127.0.0.1. Other than loopback only with a token, users, or --insecure."`
	ReadOnly              bool              `help:"Take no changes."`
	TokenFile             string            `placeholder:"F" help:"File with the token that clients must send (Authorization: Bearer)."`
	OperatorTokenFile     string            `placeholder:"F" help:"File with the token of operators: only with it machines leave, are removed, losses accepted and the number of copies set. Nodes without certificates know each other by it, instead of by that of --token-file."`
	ApplicationTokensFile string            `placeholder:"F" help:"File with the tokens of applications, a line each: ID TOKEN [READER ...]. Only they, their readers (* is everybody) and operators read their annotations."`
	Users                 string            `placeholder:"F" help:"File with users, in TOML: their names, hashes of passwords (trefoil users hash), values in tokens of OpenID Connect, roles, and perhaps graphs. Then each request needs a user's password or a token."`
	Insecure              bool              `help:"Listen beyond loopback without a token: every client that reaches the port may read and change everything."`
	CORS                  []string          `name:"cors" placeholder:"ORIGIN" help:"Origins whose web pages may read answers and change data, such as https://app.example.org; * lets all pages read, and those named change."`
	PublicURL             string            `placeholder:"URL" help:"URL at which clients reach the node, such as https://data.example.org: links and graph IRIs begin with it. By default that of the Host header."`
	AcceptHost            []string          `placeholder:"HOST" help:"A name that requests to loopback may have in Host, beside localhost, addresses, this machine's name and that of --public-url; repeatable."`
	WebhookHost           []string          `placeholder:"HOST" help:"A host that may get the changes of subscriptions (trefoil subscriptions), by https; http://HOST by http. In the form of --allow-host; repeatable."`
	WebhookKeyFile        string            `placeholder:"F" help:"File with the key from which the secrets of webhooks are derived: one word of at least 16 bytes, the same on all nodes."`
	Memory                *console.ByteSize `placeholder:"SIZE" help:"Memory of the process, which all limits follow; by default that of the container, or of the machine."`
	oidcFlags             `group:"OpenID Connect"`
	target.DiskFlags      `group:"Disk"`
	sparqlFlags           `group:"Queries and updates"`
	graphFlags            `group:"The graph of links"`
	clusterFlags          `group:"Cluster"`
	logFlags              `group:"Log"`
	traceFlags            `group:"Traces"`
}

// traceFlags select the collector of traces.
type traceFlags struct {
	TraceEndpoint string  `env:"TREFOIL_TRACE_ENDPOINT,OTEL_EXPORTER_OTLP_ENDPOINT" placeholder:"URL" help:"Collector of OpenTelemetry traces, by OTLP over HTTP: http://127.0.0.1:4318. Spans go to v1/traces below it. There are no traces without one."`
	TraceRatio    float64 `default:"1" placeholder:"R" help:"The share of requests that are recorded, 0 to 1, ${default} by default. A request with a traceparent that is not sampled is not recorded."`
}

// options returns the options for the flags.
func (f *traceFlags) options() (o node.TraceOptions, err error) {
	if !(f.TraceRatio >= 0 && f.TraceRatio <= 1) {
		return o, console.Usagef("--trace-ratio %g: it is 0 to 1", f.TraceRatio)
	}
	if o = (node.TraceOptions{Endpoint: f.TraceEndpoint, Ratio: f.TraceRatio}); o.Ratio == 0 {
		o.Ratio = -1
	}
	if o.Endpoint != "" {
		o.Headers, err = headersOf(os.Getenv(envTraceHeaders))
	}
	return o, err
}

// envTraceHeaders has headers for the collector, such as the password of an account. No flag has them, because
// all users of a machine see flags.
const envTraceHeaders = "OTEL_EXPORTER_OTLP_HEADERS"

// headersOf returns the headers in a list: name=value,name=value, with %XX in values.
func headersOf(list string) (http.Header, error) {
	h := http.Header{}
	for i, field := range strings.Split(list, ",") {
		if strings.TrimSpace(field) == "" {
			continue
		}
		name, value, ok := strings.Cut(field, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, console.Usagef("$%s: field %d is no header: it is name=value, with commas between several and %%XX in values", envTraceHeaders, i+1)
		}
		h.Add(name, value)
	}
	return h, nil
}

// logFlags select what is logged, and how.
type logFlags struct {
	LogFormat   string        `default:"text" enum:"text,json" placeholder:"FORMAT" help:"Lines on standard error: text, which has key=value, or json; ${default} by default."`
	LogLevel    string        `default:"info" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"The least level that is logged: debug, info, warn or error; ${default} by default. debug has each request, and what the libraries for storage, agreement and gossip write."`
	AuditLog    string        `placeholder:"F" help:"File to which a line of JSON is appended for each change and each request of operators: who, what, which graphs, how many triples. SIGHUP opens it again."`
	LogRequests bool          `help:"Log each request at level info, not debug."`
	SlowQuery   time.Duration `default:"1s" placeholder:"D" help:"Log queries and updates that take as long or longer as warnings, and list them (trefoil queries); ${default} by default, 0 is none."`
}

// logger returns the logger of the flags.
func (f *logFlags) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.LogLevel)); err != nil {
		return nil, console.Usagef("--log-level: %w", err)
	}
	return logs.New(w, f.LogFormat == "json", level), nil
}

// sparqlFlags are the limits of queries and updates.
type sparqlFlags struct {
	QueryMemory       *console.ByteSize `placeholder:"SIZE" help:"Memory of one query before it uses temporary files; 256 MiB by default, a sixteenth of --memory if that is less."`
	ColumnMemory      *console.ByteSize `placeholder:"SIZE" help:"Memory for columns, which joins compare instead of rows; if all predicates need more, those that queries use most have columns. By default a 32nd of --memory, a 16th from 16 GiB on, and none below 1 GiB; 0 is none."`
	QueryTimeout      time.Duration     `default:"60s" placeholder:"D" help:"Maximum duration of a query or update, ${default} by default; 0 is no limit."`
	UpdateMemory      *console.ByteSize `placeholder:"SIZE" help:"Maximum that one update may change at once; as --query-memory by default."`
	MaxQueries        int               `default:"16" placeholder:"N" help:"Queries that hold more than 2 MiB at a time, ${default} by default; more wait. Others take turns beside them."`
	MaxNesting        int               `default:"100" placeholder:"N" help:"Most levels of triple terms in one another that are read or made, ${default} by default."`
	SpillDir          string            `placeholder:"DIR" help:"Where queries create temporary files; DATA/tmp by default."`
	UnionDefaultGraph bool              `help:"The default graph of queries is the merge of all graphs."`
	AllowHost         []string          `placeholder:"HOST" help:"A host that SERVICE, LOAD and contexts of JSON-LD may request: example.org, example.org:8890, *.example.org, 10.0.0.0/8; repeatable. They are off without one."`
	JSONLDContexts    string            `name:"jsonld-contexts" placeholder:"DIR" help:"Directory with the JSON-LD contexts that documents name by URL: files, and contexts.json with the file of each URL: {\"https://schema.org/\": \"schemaorg.jsonld\"}."`
}

// oidcFlags name an issuer of OpenID Connect.
type oidcFlags struct {
	OIDCIssuer   string `name:"oidc-issuer" placeholder:"URL" help:"Accept tokens (JWT) of this issuer, which is their claim iss. They have the rights of the users of --users whose oidc has a value of theirs."`
	OIDCAudience string `name:"oidc-audience" placeholder:"NAME" help:"What the claim aud of these tokens must have."`
	OIDCJWKS     string `name:"oidc-jwks" placeholder:"F|URL" help:"File or URL with the issuer's public keys, as a JWK set; by default the URL that ISSUER/.well-known/openid-configuration names. A file is read again at SIGHUP, a URL when keys may have changed."`
	OIDCClaim    string `name:"oidc-claim" default:"${oidcclaim}" placeholder:"NAME" help:"The claim whose values name users in oidc, such as groups; ${default} by default."`
}

// options returns the options for the flags; keys are the content of --oidc-jwks if that is a file.
func (f *oidcFlags) options(users string, keys []byte) (o node.OIDC, err error) {
	given := f.OIDCIssuer != "" && f.OIDCAudience != ""
	switch {
	case f.OIDCIssuer == "" && f.OIDCAudience == "" && f.OIDCJWKS == "":
		return o, nil
	case !given || users == "":
		return o, console.Usagef("--oidc-issuer and --oidc-audience go together, also with --oidc-jwks, and need --users, because the users have the roles")
	}
	o = node.OIDC{Issuer: f.OIDCIssuer, Audience: f.OIDCAudience, Claim: f.OIDCClaim, Keys: keys}
	if keys == nil {
		o.KeysURL = f.OIDCJWKS
	}
	return o, nil
}

// isFile reports whether the value of --oidc-jwks is the name of a file.
func isFile(jwks string) bool { return jwks != "" && !strings.Contains(jwks, "://") }

// graphFlags select the triples of the graph of links.
type graphFlags struct {
	LinkPredicate string            `default:"${linkpredicate}" placeholder:"IRI" help:"The predicate of links, ${default} by default. Its triples are kept in memory too, as a graph (trefoil links)."`
	LinkMemory    *console.ByteSize `placeholder:"SIZE" help:"Maximum memory of the graph of links on this machine; no maximum by default. A graph that does not fit is not kept: requests under /links are answered with 507, and triples are served all the same."`
	TextMemory    *console.ByteSize `placeholder:"SIZE" help:"Maximum memory of the index for text search on this machine; an eighth of --memory by default. If the index does not fit, searches are answered with 507, and triples are served all the same."`
	NoLinks       bool              `help:"Keep no graph of links. In a cluster the other machines keep it."`
	LinkCopies    int               `default:"-1" placeholder:"N" help:"In a cluster, how many machines besides the first one hold each part of the graph of links, 0 to 4: this number of machines may be lost at once, and each list is still answered at once. Use the same number on all machines. By default one less than the copies of a triple (--copies)."`
}

// Help returns what the help says behind the flags.
func (*Cmd) Help() string {
	return `Every flag is also an environment variable: TREFOIL_LISTEN for --listen, with commas between several values.

Examples:
  trefoil serve --data data
  trefoil serve --data data --listen 0.0.0.0:7333 --token-file token
  trefoil serve --data data2 --listen 127.0.0.1:7334 --join 127.0.0.1:7333
  TREFOIL_DATA=data TREFOIL_TOKEN_FILE=token trefoil serve --config trefoil.toml`
}

// Run serves the data directory until the context ends.
func (c *Cmd) Run(e *console.Env) error {
	o, err := c.Options()
	if err != nil {
		return err
	}
	if o.Logger, err = c.logger(e.Stderr); err != nil {
		return err
	}
	e.WarnVariables(func(message string) { o.Logger.Warn(message) })
	o.Report = func(message string) { o.Logger.Info(message) }
	ctx, reload, stop := c.onHangup(e.Ctx)
	defer stop()
	o.Reload = reload
	return flagError(node.Serve(ctx, c.Data, o))
}

// Options returns the options for the flags.
func (c *serveFlags) Options() (o node.ServeOptions, err error) {
	o = node.ServeOptions{
		Options: node.Options{
			ReadOnly: c.ReadOnly, MinFreeBytes: c.MinFreeBytes(), FeedBytes: c.Retention().Bytes, FeedAge: c.Retention().Age, QueryTimeout: c.QueryTimeout, MaxQueries: c.MaxQueries, SpillDir: c.SpillDir,
			UnionDefaultGraph: c.UnionDefaultGraph, AllowHosts: c.AllowHost, JSONLDContexts: c.JSONLDContexts,
			LinkPredicate: c.LinkPredicate, NoLinks: c.NoLinks, Version: console.ThisVersion().Version,
		},
		Listen: target.WithHost(c.Listen), Insecure: c.Insecure, MaxNesting: c.MaxNesting, AllowOrigins: c.CORS, PublicURL: c.PublicURL, AcceptHosts: c.AcceptHost,
	}
	// 1. Read the files of the flags.
	tokens, err := c.tokens()
	if err != nil {
		return o, err
	}
	o.Token, o.OperatorToken, o.Applications, o.Users = tokens.Token, tokens.OperatorToken, tokens.Applications, tokens.Users
	if o.OIDC, err = c.oidcFlags.options(c.Users, tokens.OIDCKeys); err != nil {
		return o, err
	}
	o.WebhookHost, o.AuditLog, o.LogRequests = c.WebhookHost, c.AuditLog, c.LogRequests
	if c.WebhookKeyFile != "" {
		key, err := target.ReadToken(c.WebhookKeyFile)
		if err != nil {
			return o, err
		}
		o.WebhookKey = []byte(key)
	}
	if o.Cluster, err = c.clusterFlags.options(); err != nil {
		return o, err
	}
	if o.Traces, err = c.traceFlags.options(); err != nil {
		return o, err
	}

	// 2. Translate 0, because it is the default of an option, but never that of a flag.
	for _, size := range []struct {
		name string
		flag *console.ByteSize
		to   *int64
	}{{"memory", c.Memory, &o.Memory}, {"query-memory", c.QueryMemory, &o.QueryMemory}, {"update-memory", c.UpdateMemory, &o.UpdateMemory},
		{"link-memory", c.LinkMemory, &o.LinkMemory}, {"text-memory", c.TextMemory, &o.TextMemory}} {
		if size.flag == nil {
			continue
		}
		if *size.to = int64(*size.flag); *size.to <= 0 {
			return o, console.Usagef("--%s %d: it must be more than 0", size.name, *size.to)
		}
	}
	if c.ColumnMemory != nil {
		if o.ColumnMemory = int64(*c.ColumnMemory); o.ColumnMemory == 0 {
			o.ColumnMemory = -1
		}
	}
	// 0 is the default of the option. As a flag it means none, and no query could run.
	if c.MaxQueries == 0 {
		return o, console.Usagef("--max-queries 0: it must be more than 0")
	}
	if c.MaxNesting == 0 {
		return o, console.Usagef("--max-nesting 0: it must be more than 0")
	}
	// Without a timeout, the option is negative.
	if c.QueryTimeout == 0 {
		o.QueryTimeout = -1
	}
	// Without a limit of slow queries, the option is negative.
	if o.SlowQuery = c.SlowQuery; o.SlowQuery == 0 {
		o.SlowQuery = -1
	}
	// The flag's default is -1. Its 0 means no copies, and an option of -1 means the same.
	switch c.LinkCopies {
	case -1:
		o.Cluster.LinkCopies = 0
	case 0:
		o.Cluster.LinkCopies = -1
	default:
		o.Cluster.LinkCopies = c.LinkCopies
	}
	return o, flagError(o.Validate())
}

// flagError turns an error of options into a usage error with the names of the flags.
func flagError(err error) error {
	var bad *node.OptionError
	if errors.As(err, &bad) {
		return console.Usagef("%s", bad.Message(flagName))
	}
	return err
}

// flagName returns the flag of an option of package node: FailureTimeout is --failure-timeout.
func flagName(option string) string {
	switch option {
	case "JSONLDContexts":
		return "--jsonld-contexts"
	case "Token", "OperatorToken", "GossipKey", "WebhookKey":
		option += "File"
	}
	flag := []byte("--")
	for i, c := range option {
		if i > 0 && unicode.IsUpper(c) && !unicode.IsUpper(rune(option[i-1])) {
			flag = append(flag, '-')
		}
		flag = append(flag, strings.ToLower(string(c))...)
	}
	return string(flag)
}

// clusterFlags hold the cluster of a node, and the keys of its members.
type clusterFlags struct {
	Advertise      string           `placeholder:"HOST:PORT" help:"Where other nodes reach this one; where it listens by default."`
	Join           []string         `placeholder:"HOST:PORT" help:"Members of the cluster to join, or to find again; repeatable, or with commas between."`
	Spare          bool             `help:"Join as a spare, which holds nothing until another machine fails."`
	Copies         int              `default:"3" placeholder:"N" help:"How many machines hold each triple, 2 to 5, ${default} by default. It counts at the first start of a cluster's first node; later trefoil cluster set copies changes it."`
	Cluster        string           `default:"trefoil" placeholder:"NAME" help:"The cluster's name, the same on all its nodes; ${default} by default."`
	CA             string           `name:"ca" placeholder:"F" help:"Certificates of the authority that signs those of nodes (trefoil cert)."`
	Cert           string           `placeholder:"F" help:"This node's certificate."`
	Key            string           `placeholder:"F" help:"The key of the certificate."`
	GossipKeyFile  string           `placeholder:"F" help:"File with the key that nodes know each other by and that gossip is encrypted with, the same on all nodes (trefoil cert gossip-key)."`
	FailureTimeout time.Duration    `default:"3s" placeholder:"D" help:"How long a machine may be silent until the others go on without it, ${default} by default; the same on all nodes."`
	RebuildShare   int              `default:"10" placeholder:"PERCENT" help:"The share of its time that a node gives to backfills, of lost or moved copies, while it answers requests, 1 to 100; ${default} by default."`
	PurgeEvery     time.Duration    `default:"10m" placeholder:"D" help:"How long tombstones of deleted triples wait for the next purge if they are few, ${default} by default; 0 is never."`
	ScrubEvery     time.Duration    `default:"24h" placeholder:"D" help:"How long after one comparison of all copies the next one begins, ${default} by default; 0 is never."`
	ScrubRate      console.ByteSize `default:"8MiB" placeholder:"SIZE" help:"How much of its rows a node reads a second for that, ${default} by default."`
}

// options returns the options for the flags. A flag of 0 must not become the default of its option.
func (f *clusterFlags) options() (o node.ClusterOptions, err error) {
	// 1. Reject values that would mean a default.
	switch {
	case f.Cluster == "":
		return o, console.Usagef(`--cluster "": a name of up to 64 letters, digits, '.', '_' and '-'`)
	case f.Copies == 0:
		return o, console.Usagef("--copies 0: it is 2 to 5")
	case f.FailureTimeout == 0:
		return o, console.Usagef("--failure-timeout 0s: it must be more than 0")
	case f.RebuildShare == 0:
		return o, console.Usagef("--rebuild-share 0: it is 1 to 100 percent")
	case f.PurgeEvery < 0:
		return o, console.Usagef("--purge-every %s: it is a time, or 0", f.PurgeEvery)
	case f.ScrubEvery < 0 || f.ScrubRate <= 0:
		return o, console.Usagef("--scrub-every is a time, or 0; --scrub-rate is a size")
	}
	// 2. Translate the rest. -1 is "never" in an option.
	o = node.ClusterOptions{
		Name: f.Cluster, Advertise: f.Advertise, Join: f.Join, Spare: f.Spare, Copies: f.Copies, CA: f.CA, Cert: f.Cert, Key: f.Key,
		FailureTimeout: f.FailureTimeout, RebuildShare: f.RebuildShare,
		PurgeEvery: f.PurgeEvery, ScrubEvery: f.ScrubEvery, ScrubRate: int64(f.ScrubRate),
	}
	if o.PurgeEvery == 0 {
		o.PurgeEvery = -1
	}
	if o.ScrubEvery == 0 {
		o.ScrubEvery = -1
	}
	if f.GossipKeyFile != "" {
		o.GossipKey, err = readGossipKey(f.GossipKeyFile)
	}
	return o, err
}

// readGossipKey returns the key in a file. It must be 16, 24 or 32 bytes in base64, because it is a
// key of AES.
func readGossipKey(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("gossip key: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 16 && len(key) != 24 && len(key) != 32 {
		return nil, console.WithHint(fmt.Errorf("gossip key %s: it must hold 16, 24 or 32 bytes in base64", file), "trefoil cert gossip-key makes one.")
	}
	return key, nil
}
