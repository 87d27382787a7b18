// The flags that choose a store: a directory or a server.

package cli

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/links"
)

const (
	defaultURL = "http://127.0.0.1:7333"
	envTo      = "TREFOIL_TO"    // the server's address, if --to is not given
	envToken   = "TREFOIL_TOKEN" // the server's token, if --token-file is not given
	envCA      = "TREFOIL_CA"    // the file of the trusted authority, if --ca is not given
)

// storeFlags choose the store of a command.
type storeFlags struct {
	Data string `placeholder:"DIR" help:"Open the data directory; no server may have it open."`
	serverFlags
}

// diskFlags bound the use of the disk by commands that write a directory.
type diskFlags struct {
	KeepFree      *byteSize     `env:"TREFOIL_KEEP_FREE" placeholder:"SIZE" help:"Space on the disk that adds leave free, because the store needs it to compact rows; 0 is none. A fiftieth of the disk by default, from 64 MiB to 2 GiB."`
	FeedRetention feedRetention `env:"TREFOIL_FEED_RETENTION" placeholder:"SIZE,AGE" help:"How much of the change feed is kept, and how long: 256MiB,24h. 0 keeps 64MiB, which a link graph needs."`
}

// feedRetention is the value of --feed-retention: SIZE, or SIZE,AGE.
type feedRetention struct {
	bytes byteSize
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

// retention returns the flag as store.Options.FeedRetention.
func (d *diskFlags) retention() changefeed.Retention {
	return changefeed.Retention{Bytes: int64(d.FeedRetention.bytes), Age: d.FeedRetention.age}
}

// minFreeBytes returns the flag as store.Options.MinFreeBytes.
func (d *diskFlags) minFreeBytes() int64 {
	switch {
	case d.KeepFree == nil:
		return 0
	case *d.KeepFree == 0:
		return -1
	}
	return int64(*d.KeepFree)
}

// serverFlags choose a server.
type serverFlags struct {
	To        string `placeholder:"URL" help:"Ask the server at this address: $$TREFOIL_TO, or else ${url}. Of several members of a cluster, with commas between, the next one is asked if one is not available."`
	TokenFile string `placeholder:"F" help:"File with the server's token; $$TREFOIL_TOKEN may hold the token itself."`
	CA        string `name:"ca" placeholder:"F" help:"File with the certificates to know an https server by: $$TREFOIL_CA, or else those of the system."`
}

// local reports whether a directory was chosen.
func (d *storeFlags) local() (bool, error) {
	switch {
	case d.Data != "" && d.To != "":
		return false, usagef("--data and --to exclude each other: a directory or a server")
	case d.Data != "" && d.TokenFile != "":
		return false, usagef("--token-file is for servers; --data opens the directory itself")
	case d.Data != "" && d.CA != "":
		return false, usagef("--ca is for servers; --data opens the directory itself")
	}
	return d.Data != "", nil
}

// with opens the store, calls do with it, and closes it. how is for a directory only.
func (d *storeFlags) with(e *env, how opening, do func(target) error) error {
	s, err := d.open(e, how)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

func (d *storeFlags) open(e *env, how opening) (target, error) {
	local, err := d.local()
	if err != nil {
		return nil, err
	}
	if local {
		return openLocal(e, d.Data, how)
	}
	c, err := d.connect(e)
	if err != nil {
		return nil, err
	}
	return remote{c}, nil
}

// changing is the opening of a directory for changes. If the directory is missing, it is created.
func (d *diskFlags) changing() opening {
	return opening{store: store.Options{MinFreeBytes: d.minFreeBytes(), FeedRetention: d.retention()}, create: true}
}

// request calls do with a client of the server.
func (s *serverFlags) request(e *env, do func(*client.Client) error) error {
	c, err := s.connect(e)
	if err != nil {
		return err
	}
	return errors.Join(do(c), c.Close())
}

// connect returns a client of the server in the flags and the environment.
func (s *serverFlags) connect(e *env) (*client.Client, error) { return s.dial(e, client.Options{}) }

// dial is connect with options. It adds the server's token and authority. It reports degraded
// answers once.
func (s *serverFlags) dial(e *env, options client.Options) (*client.Client, error) {
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
			e.sayf("degraded: machines of the cluster are away, and other copies stand in for theirs; the answer is complete. " +
				"See trefoil cluster status")
		})
	}
	options.Warning = e.sayEmpty
	c, err := client.New(s.url(), options)
	if err != nil {
		return nil, usage(err)
	}
	return c, nil
}

// url returns the server's address, or those of several members with commas between.
func (s *serverFlags) url() string {
	url := s.To
	if url == "" {
		url = os.Getenv(envTo)
	}
	if url == "" {
		url = defaultURL
	}
	var all []string
	for one := range strings.SplitSeq(url, ",") {
		all = append(all, s.urlOf(strings.TrimSpace(one)))
	}
	return strings.Join(all, ",")
}

// urlOf returns the URL of one address.
func (s *serverFlags) urlOf(url string) string {
	// The address of an endpoint means its server.
	url = strings.TrimRight(url, "/")
	for _, path := range []string{"/sparql", "/query", "/update", "/data"} {
		url = strings.TrimSuffix(url, path)
	}
	if !strings.Contains(url, "://") {
		url = withHost(url)
		if s.CA != "" {
			return "https://" + url
		}
		return "http://" + url
	}
	return url
}

// withHost returns an address with the loopback host if it is only a port.
func withHost(address string) string {
	if address != "" && strings.Trim(address, "0123456789") == "" {
		return "127.0.0.1:" + address
	}
	return address
}

// roots returns the certificates to verify the server; nil is the system's.
func (s *serverFlags) roots() (*x509.CertPool, error) {
	file := s.CA
	if file == "" {
		file = os.Getenv(envCA)
	} else if strings.Contains(s.url(), "http://") {
		return nil, usagef("--ca is for https, and the server's address is %s", s.url())
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
func (s *serverFlags) token() (string, error) {
	if s.TokenFile == "" {
		return strings.TrimSpace(os.Getenv(envToken)), nil
	}
	return readToken(s.TokenFile)
}

// readToken returns the token in a file: its text without surrounding white space.
func readToken(file string) (string, error) {
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

// graphOf returns the server's graph of links.
func graphOf(e *env, c *client.Client) links.Graph {
	if e.links != nil {
		return e.links
	}
	return c.Links
}

// askGraph calls ask with the graph of the server in the flags.
func askGraph(e *env, s *serverFlags, ask func(links.Graph) error) error {
	return s.request(e, func(c *client.Client) error { return ask(graphOf(e, c)) })
}
