// The flags that choose a store: a directory or a server.

package target

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/node"
)

const (
	DefaultURL = "http://127.0.0.1:7333"
	EnvTo      = "TREFOIL_TO"    // the server's address, if --to is not given
	EnvToken   = "TREFOIL_TOKEN" // the server's token, if --token-file is not given
	EnvCA      = "TREFOIL_CA"    // the file of the trusted authority, if --ca is not given
)

// StoreFlags choose the store of a command.
type StoreFlags struct {
	Data string `placeholder:"DIR" help:"Open the data directory; no server may have it open."`
	ServerFlags
}

// DiskFlags bound the use of the disk by commands that write a directory.
type DiskFlags struct {
	KeepFree      *console.ByteSize `env:"TREFOIL_KEEP_FREE" placeholder:"SIZE" help:"Space on the disk that adds leave free, because the store needs it to compact rows; 0 is none. A fiftieth of the disk by default, from 64 MiB to 2 GiB."`
	FeedRetention feedRetention     `env:"TREFOIL_FEED_RETENTION" placeholder:"SIZE,AGE" help:"How much of the change feed is kept, and how long: 256MiB,24h. 0 keeps 64MiB, which a link graph needs."`
}

// feedRetention is the value of --feed-retention: SIZE, or SIZE,AGE.
type feedRetention struct {
	bytes console.ByteSize
	age   time.Duration
}

// leastFeed is what a retention of 0 keeps, because a link graph may lag behind.
const leastFeed = 64 << 20

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *feedRetention) UnmarshalText(text []byte) (err error) {
	size, age, both := strings.Cut(string(text), ",")
	if err := r.bytes.UnmarshalText([]byte(size)); err != nil {
		return err
	}
	if r.bytes == 0 {
		r.bytes = leastFeed
	}
	if !both {
		return nil
	}
	if r.age, err = time.ParseDuration(strings.TrimSpace(age)); err != nil || r.age <= 0 {
		return fmt.Errorf("%q is no size and age; write it as 256MiB,24h", text)
	}
	return nil
}

// String returns the value as UnmarshalText reads it.
func (r feedRetention) String() string {
	if r.age == 0 {
		return r.bytes.String()
	}
	return r.bytes.String() + "," + r.age.String()
}

// Retention returns the flag as store.Options.FeedRetention.
func (d *DiskFlags) Retention() changefeed.Retention {
	return changefeed.Retention{Bytes: int64(d.FeedRetention.bytes), Age: d.FeedRetention.age}
}

// MinFreeBytes returns the flag as store.Options.MinFreeBytes.
func (d *DiskFlags) MinFreeBytes() int64 {
	switch {
	case d.KeepFree == nil:
		return 0
	case *d.KeepFree == 0:
		return -1
	}
	return int64(*d.KeepFree)
}

// ServerFlags choose a server.
type ServerFlags struct {
	To        string `placeholder:"URL" help:"Ask the server at this address: $$TREFOIL_TO, or else ${url}. Of several members of a cluster, with commas between, the next one is asked if one is not available."`
	TokenFile string `placeholder:"F" help:"File with the server's token; $$TREFOIL_TOKEN may hold the token itself."`
	CA        string `name:"ca" placeholder:"F" help:"File with the certificates to know an https server by: $$TREFOIL_CA, or else those of the system."`
}

// Local reports whether a directory was chosen.
func (d *StoreFlags) Local() (bool, error) {
	switch {
	case d.Data != "" && d.To != "":
		return false, console.Usagef("--data and --to exclude each other: a directory or a server")
	case d.Data != "" && d.TokenFile != "":
		return false, console.Usagef("--token-file is for servers; --data opens the directory itself")
	case d.Data != "" && d.CA != "":
		return false, console.Usagef("--ca is for servers; --data opens the directory itself")
	}
	return d.Data != "", nil
}

// With opens the store, calls do with it, and closes it. how is for a directory only.
func (d *StoreFlags) With(e *console.Env, how Opening, do func(Store) error) error {
	s, err := d.open(e, how)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

func (d *StoreFlags) open(e *console.Env, how Opening) (s Store, err error) {
	local, err := d.Local()
	if err != nil {
		return s, err
	}
	if local {
		return openLocal(e, d.Data, how)
	}
	c, err := d.Connect(e)
	if err != nil {
		return s, err
	}
	return Store{c, c.Annotations, c.Prefixes, c.Admin}, nil
}

// Changing is the opening of a directory for changes. If the directory is missing, it is created.
func (d *DiskFlags) Changing() Opening {
	return Opening{Options: node.Options{MinFreeBytes: d.MinFreeBytes(), FeedBytes: d.Retention().Bytes, FeedAge: d.Retention().Age}, create: true}
}

// Request calls do with a client of the server.
func (s *ServerFlags) Request(e *console.Env, do func(*client.Client) error) error {
	c, err := s.Connect(e)
	if err != nil {
		return err
	}
	return errors.Join(do(c), c.Close())
}

// Connect returns a client of the server in the flags and the environment.
func (s *ServerFlags) Connect(e *console.Env) (*client.Client, error) {
	return s.Dial(e, client.Options{})
}

// Dial is connect with options. It adds the server's token and authority. It reports degraded
// answers once.
func (s *ServerFlags) Dial(e *console.Env, options client.Options) (*client.Client, error) {
	var err error
	if options.Token, err = s.token(); err != nil {
		return nil, err
	}
	if options.RootCAs, err = s.roots(); err != nil {
		return nil, err
	}
	var once sync.Once
	options.Degraded = func(string) {
		once.Do(func() {
			e.Sayf("degraded: machines of the cluster are away, and other copies stand in for theirs; the answer is complete. " +
				"See trefoil cluster status")
		})
	}
	options.Warning = e.SayEmpty
	c, err := client.New(s.URL(), options)
	if err != nil {
		return nil, console.Usage(err)
	}
	return c, nil
}

// URL returns the server's address, or those of several members with commas between.
func (s *ServerFlags) URL() string {
	url := s.To
	if url == "" {
		url = os.Getenv(EnvTo)
	}
	if url == "" {
		url = DefaultURL
	}
	var all []string
	for one := range strings.SplitSeq(url, ",") {
		all = append(all, s.urlOf(strings.TrimSpace(one)))
	}
	return strings.Join(all, ",")
}

// urlOf returns the URL of one address.
func (s *ServerFlags) urlOf(url string) string {
	// The address of an endpoint means its server.
	url = strings.TrimRight(url, "/")
	for _, path := range []string{"/sparql", "/query", "/update", "/data"} {
		url = strings.TrimSuffix(url, path)
	}
	if !strings.Contains(url, "://") {
		url = WithHost(url)
		if s.CA != "" {
			return "https://" + url
		}
		return "http://" + url
	}
	return url
}

// WithHost returns an address with the loopback host if it is only a port.
func WithHost(address string) string {
	if address != "" && strings.Trim(address, "0123456789") == "" {
		return "127.0.0.1:" + address
	}
	return address
}

// roots returns the certificates to verify the server; nil is the system's.
func (s *ServerFlags) roots() (*x509.CertPool, error) {
	file := s.CA
	if file == "" {
		file = os.Getenv(EnvCA)
	} else if strings.Contains(s.URL(), "http://") {
		return nil, console.Usagef("--ca is for https, and the server's address is %s", s.URL())
	}
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificates to trust: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("certificates to trust: %s holds none in PEM, as ca.crt of trefoil cert ca does", file)
	}
	return pool, nil
}

// token returns the server's token; "" if there is none.
func (s *ServerFlags) token() (string, error) {
	if s.TokenFile == "" {
		return strings.TrimSpace(os.Getenv(EnvToken)), nil
	}
	return ReadToken(s.TokenFile)
}

// ReadToken returns the token in a file: its text without surrounding white space.
func ReadToken(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("token file %s: it must hold one token, without white space within", file)
	}
	return token, nil
}

// GraphOf returns the server's graph of links.
func GraphOf(e *console.Env, c *client.Client) links.Graph {
	if e.Links != nil {
		return e.Links
	}
	return c.Links
}

// WithGraph calls do with the graph of the server in the flags.
func WithGraph(e *console.Env, s *ServerFlags, do func(links.Graph) error) error {
	return s.Request(e, func(c *client.Client) error { return do(GraphOf(e, c)) })
}
