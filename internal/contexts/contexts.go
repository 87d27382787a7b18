// The contexts of a process, and how a URL is found.

// Package contexts has the JSON-LD contexts that documents name by URL: those of files, and those
// fetched from allowed hosts. [Set.Context] returns one. Files come first, so that a context in a file is never
// fetched.
//
// Two URLs name the same context if they differ in http and https, in the case of the host, or in an
// empty path and "/", because documents write all of these for one context.
package contexts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/outbound"
	"github.com/trefoildb/trefoil/rdfload/jsonld"
)

// maxBytes is the greatest context. That of schema.org has 0.2 MiB.
const maxBytes = 4 << 20

// Options are the parameters of [New]. The zero value has no contexts.
type Options struct {
	// Files are the names of files by URL.
	Files map[string]string
	// Dir is a directory with files and their index, see [IndexName]; "" is none.
	Dir string
	// Hosts may be queried for other contexts; nil means none.
	Hosts *outbound.Hosts
	// Timeout bounds the fetching of one context; 0 is 10 s.
	Timeout time.Duration
	// Hint says how a context can be given that is in no file, and whose host is not allowed. It ends an error.
	Hint func(url string) string
	// Logger gets refused addresses; nil discards them.
	Logger *slog.Logger
}

// Set is a set of contexts. It is safe for concurrent use.
type Set struct {
	files  atomic.Pointer[map[string]*jsonld.Context] // by key; the map does not change
	client *outbound.Client                           // nil if nothing is fetched
	opts   Options

	ctx   context.Context // ends at Close
	end   context.CancelFunc
	slots chan struct{} // one for each request that may run
	tasks sync.WaitGroup

	mu      sync.Mutex
	fetched map[string]*fetching // by URL
	bytes   int64                // of what is fetched
}

// New reads all files, because a wrong one must be found before a document needs it.
func New(o Options) (*Set, error) {
	// 1. Defaults.
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Hint == nil {
		o.Hint = func(string) string { return "put it into the document" }
	}
	s := &Set{opts: o, fetched: make(map[string]*fetching), slots: make(chan struct{}, maxRequests)}
	s.ctx, s.end = context.WithCancel(context.Background())
	if o.Hosts != nil {
		s.client = &outbound.Client{Hosts: o.Hosts, IdleTimeout: o.Timeout, Logger: o.Logger}
	}
	// 2. The files.
	if err := s.Reload(); err != nil {
		return nil, err
	}
	return s, nil
}

// Reload reads the files and the directory again. If one is wrong, those read before still count. It is safe
// for concurrent use with Context.
func (s *Set) Reload() error {
	files := make(map[string]*jsonld.Context)
	for name, file := range s.opts.Files {
		if err := add(files, name, file); err != nil {
			return err
		}
	}
	if s.opts.Dir != "" {
		index, err := readIndex(s.opts.Dir)
		if err != nil {
			return err
		}
		for name, file := range index {
			if err := add(files, name, file); err != nil {
				return err
			}
		}
	}
	s.files.Store(&files)
	return nil
}

// add reads the context of a URL from a file into files.
func add(files map[string]*jsonld.Context, name, file string) error {
	key, err := keyOf(name)
	if err != nil {
		return err
	}
	if files[key] != nil {
		return fmt.Errorf("the context <%s> has two files", name)
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("context <%s>: %w", name, err)
	}
	defer f.Close()
	c, err := parse(f, file)
	if err != nil {
		return fmt.Errorf("context <%s>: %w", name, err)
	}
	c.URL = name // relative URLs in it begin there
	files[key] = c
	return nil
}

// parse reads a context of at most maxBytes.
func parse(r io.Reader, source string) (*jsonld.Context, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("%s has more than %d bytes, the most of a context", source, maxBytes)
	}
	return jsonld.ParseContext(data, source)
}

// keyOf returns what equal URLs have in common.
func keyOf(name string) (string, error) {
	u, err := url.Parse(name)
	if err != nil {
		return "", fmt.Errorf("%q is no URL of a context", name)
	}
	if u.Scheme == "" {
		return "", fmt.Errorf("%q is no URL of a context: it has no scheme, such as https://", name)
	}
	u.Fragment, u.RawFragment = "", ""
	if u.Scheme == "https" {
		u.Scheme = "http"
	}
	u.Host = strings.ToLower(u.Host)
	if u.Host != "" && u.Path == "" {
		u.Path = "/"
	}
	return u.String(), nil
}

// Context returns the context with a URL. If it is in no file and may not be fetched, the error is
// [jsonld.ErrRemoteContext]. ctx bounds the fetching.
func (s *Set) Context(ctx context.Context, name string) (*jsonld.Context, error) {
	key, err := keyOf(name)
	if err != nil {
		return nil, err
	}
	if c := (*s.files.Load())[key]; c != nil {
		return c, nil
	}
	if s.client == nil {
		return nil, fmt.Errorf("%w; %s", jsonld.ErrRemoteContext, s.opts.Hint(name))
	}
	c, err := s.fetch(ctx, name)
	if errors.Is(err, outbound.ErrHost) {
		return nil, fmt.Errorf("%w: %w; %s", jsonld.ErrRemoteContext, err, s.opts.Hint(name))
	}
	return c, err
}

// Close ends requests and closes the connections to other hosts. Context must not be called any more.
func (s *Set) Close() {
	s.end()
	s.tasks.Wait()
	s.client.Close()
}

// Host returns the host of a URL, in the form of an allowed host.
func Host(name string) string {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" {
		return "HOST"
	}
	return u.Host
}
