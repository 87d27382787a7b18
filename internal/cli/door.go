package cli

// This file holds the two doors to a store: the directory itself, or a server.

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

const (
	defaultURL = "http://127.0.0.1:7333"
	envTo      = "TREFOIL_TO"    // the server's address, where --to is not given
	envToken   = "TREFOIL_TOKEN" // the server's token, where --token-file is not given
	envCA      = "TREFOIL_CA"    // the file of the authority to trust, where --ca is not given
)

// reader is what reading commands need of a store, wherever it is.
type reader interface {
	match(context.Context, triple.Pattern, page) *listing
	bounded(context.Context, triple.Bounds, page) *listing
	count(ctx context.Context, p triple.Pattern, estimate bool) (n int64, exact bool, err error)
	status(context.Context) (status, error)
	Close() error
}

// writer is what changing commands need of a store, wherever it is.
type writer interface {
	// add adds triples and then sets their annotations.
	add(context.Context, []statement) (added, existing int64, err error)
	delete(context.Context, []triple.Triple) (deleted, missing int64, err error)
	deleteMatch(context.Context, triple.Pattern) (deleted int64, err error)
	Close() error
}

// door is the choice of a store that most commands take.
type door struct {
	Data string `placeholder:"DIR" help:"Open the data directory; no server may have it open."`
	server
}

// server is the choice of a server.
type server struct {
	To        string `placeholder:"URL" help:"Ask the server at this address: $$TREFOIL_TO, or else ${url}."`
	TokenFile string `placeholder:"F" help:"File with the server's token; $$TREFOIL_TOKEN may hold the token itself."`
	CA        string `name:"ca" placeholder:"F" help:"File with the certificates to know an https server by: $$TREFOIL_CA, or else those of the system."`
}

// local reports whether the directory was chosen.
func (d *door) local() (bool, error) {
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

// open opens the door for reading.
func (d *door) open(e *env) (reader, error) {
	local, err := d.local()
	if err != nil {
		return nil, err
	}
	if local {
		return openLocal(d.Data)
	}
	return d.connect(e)
}

// openWriter opens the door for changes; a directory is made where there is none.
func (d *door) openWriter(e *env) (writer, error) {
	local, err := d.local()
	if err != nil {
		return nil, err
	}
	if local {
		store, err := node.Open(d.Data, node.Options{Version: thisVersion().Version})
		return localWriter{store}, err
	}
	return d.connect(e)
}

// url returns the server's address.
func (s *server) url() string {
	url := s.To
	if url == "" {
		url = os.Getenv(envTo)
	}
	if url == "" {
		url = defaultURL
	}
	if !strings.Contains(url, "://") {
		if s.CA != "" {
			return "https://" + url
		}
		return "http://" + url
	}
	return url
}

// roots returns the certificates to know the server by; nil is the system's.
func (s *server) roots() (*x509.CertPool, error) {
	file := s.CA
	if file == "" {
		file = os.Getenv(envCA)
	} else if strings.HasPrefix(s.url(), "http://") {
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

// token returns the server's token; "" for none.
func (s *server) token() (string, error) {
	if s.TokenFile == "" {
		return strings.TrimSpace(os.Getenv(envToken)), nil
	}
	return readToken(s.TokenFile)
}

// readToken returns the token that a file holds: its text without white space
// around it.
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
