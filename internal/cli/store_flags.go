// The flags that choose a store: a directory or a server.

package cli

import (
	"context"
	"crypto/x509"
	"fmt"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/triple"
)

const (
	defaultURL = "http://127.0.0.1:7333"
	envTo      = "TREFOIL_TO"    // the server's address, if --to is not given
	envToken   = "TREFOIL_TOKEN" // the server's token, if --token-file is not given
	envCA      = "TREFOIL_CA"    // the file of the trusted authority, if --ca is not given
)

// reader is a store for reading commands: local or on a server.
type reader interface {
	match(context.Context, triple.Pattern, page) *listing
	bounded(context.Context, triple.Bounds, page) *listing
	count(ctx context.Context, p triple.Pattern, estimate bool) (n int64, exact bool, err error)
	status(context.Context) (status, error)
	prefixer
	Close() error
}

// writer is a store for changing commands: local or on a server.
type writer interface {
	// add adds triples and then sets their annotations.
	add(context.Context, []statement) (added, existing int64, err error)
	delete(context.Context, []triple.Triple) (deleted, missing int64, err error)
	deleteMatch(context.Context, triple.Pattern) (deleted int64, err error)
	// annotate makes changes of annotations. A change that fails leaves the others as they are.
	annotate(context.Context, iter.Seq2[triple.AnnotationChange, error]) (client.AnnotateResult, error)
	prefixWriter
	Close() error
}

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

// open opens the store for reading.
func (d *storeFlags) open(e *env) (reader, error) {
	local, err := d.local()
	if err != nil {
		return nil, err
	}
	if local {
		return openLocal(d.Data)
	}
	return d.connect(e)
}

// openWriter opens the store for changes. If a directory is missing, it is created.
func (d *storeFlags) openWriter(e *env, disk diskFlags) (writer, error) {
	local, err := d.local()
	if err != nil {
		return nil, err
	}
	if local {
		db, err := store.Open(d.Data, store.Options{MinFreeBytes: disk.minFreeBytes(), FeedRetention: disk.retention(), Version: thisVersion().Version})
		return localWriter{db}, err
	}
	return d.connect(e)
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
