package cli

// This file holds the two doors to a store: the directory itself, or a server.

import (
	"context"
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
	add(context.Context, []triple.Triple) (added, existing int64, err error)
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
}

// local tells whether the directory was chosen.
func (d *door) local() (bool, error) {
	switch {
	case d.Data != "" && d.To != "":
		return false, usagef("--data and --to exclude each other: a directory or a server")
	case d.Data != "" && d.TokenFile != "":
		return false, usagef("--token-file is for servers; --data opens the directory itself")
	}
	return d.Data != "", nil
}

// open opens the door for reading.
func (d *door) open() (reader, error) {
	local, err := d.local()
	if err != nil {
		return nil, err
	}
	if local {
		return openLocal(d.Data)
	}
	return d.connect()
}

// openWriter opens the door for changes; a directory is made where there is none.
func (d *door) openWriter() (writer, error) {
	local, err := d.local()
	if err != nil {
		return nil, err
	}
	if local {
		store, err := node.Open(d.Data, node.Options{Version: thisVersion().Version})
		return localWriter{store}, err
	}
	return d.connect()
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
		url = "http://" + url
	}
	return url
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
