// Helpers of the tests: nodes and networks that break.

package client_test

// Help for the tests: a real node, and a network between it and the client that
// can fail.

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/serving"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
	"github.com/trefoildb/trefoil/triple"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ex = "http://example.org/"

// startNode serves a store on a port of its own.
func startNode(t testing.TB, options server.Options) (url string, db *store.Store) {
	t.Helper()
	db = storetest.Open(t)
	return serving.Serve(t, db, options), db
}

// newClient returns a client whose pauses take no time.
func newClient(t testing.TB, url string, options client.Options) *client.Client {
	t.Helper()
	if options.Sleep == nil {
		options.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	}
	c, err := client.New(url, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// network is a transport that may fail before a request arrives, lose its
// answer, or break the answer off.
type network struct {
	base *http.Transport
	mu   sync.Mutex
	// fate decides about the n-th request, from 0.
	fate func(n int, r *http.Request) fate
	n    int
}

type fate struct {
	refuse  bool           // the request never arrives
	lose    bool           // it arrives, its answer does not
	done    func()         // called when the answer is lost
	cut     int64          // the answer breaks off after so many bytes; 0: it does not
	instead *http.Response // a stranger answers
}

var errNetwork = errors.New("the network is down")

func newNetwork(t testing.TB, decide func(n int, r *http.Request) fate) *network {
	w := &network{base: &http.Transport{}, fate: decide}
	t.Cleanup(w.base.CloseIdleConnections)
	return w
}

func (w *network) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	f := w.fate(w.n, r)
	w.n++
	w.mu.Unlock()
	if f.refuse {
		return nil, errNetwork
	}
	if f.instead != nil {
		f.instead.Request = r
		return f.instead, nil
	}
	answer, err := w.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if f.lose {
		_, err := io.Copy(io.Discard, answer.Body)
		if f.done != nil {
			f.done()
		}
		return nil, errors.Join(errNetwork, err, answer.Body.Close())
	}
	if f.cut > 0 {
		answer.Body = &cutBody{answer.Body, f.cut}
	}
	return answer, nil
}

func (w *network) requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

type cutBody struct {
	io.ReadCloser
	left int64
}

func (c *cutBody) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// numbered returns n triples in SPO order.
func numbered(n int) []triple.Triple {
	all := make([]triple.Triple, n)
	for i := range all {
		all[i] = triple.Triple{Subject: triple.NewIRI(ex + string(rune('a'+i/676%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i%26))),
			Predicate: triple.NewIRI(ex + "p"), Object: triple.NewString("value \"of\"\n" + string(rune('α'+i%24)))}
	}
	return all
}

func collect(t testing.TB, seq func(func(triple.Triple, error) bool)) []triple.Triple {
	t.Helper()
	var all []triple.Triple
	for tr, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tr)
	}
	return all
}

// forget begins to count anew.
func (w *network) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n = 0
}
