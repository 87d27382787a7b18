// Reads and adds through the HTTP API of a server.

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/triple"
)

// server is a running server with its URL.
type server struct {
	*rig.Process
	url string
}

// serve starts a server on a directory and waits until it listens.
func (b *bench) serve(ctx context.Context, dir string) (*server, error) {
	p, err := b.Serve(ctx, nil, "--data", dir, "--listen", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address, err := p.Address(ctx)
	if err != nil {
		p.Kill()
		return nil, err
	}
	return &server{p, "http://" + address}, nil
}

// http measures reads over loopback. The server and its client share the processors.
func (b *bench) http(ctx context.Context) error {
	triples, err := b.questions(ctx)
	if err != nil {
		return err
	}
	s, err := b.serve(ctx, b.dir("lubm"))
	if err != nil {
		return err
	}
	err = errors.Join(b.httpScan(ctx, s), b.httpPatterns(ctx, s, triples))
	return errors.Join(err, s.Stop())
}

// questions samples triples, which must be done before the server locks the directory.
func (b *bench) questions(ctx context.Context) ([]triple.Triple, error) {
	store, err := b.openLoaded(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	sn, err := store.Snapshot()
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	return b.sample(ctx, sn, 1)
}

func (b *bench) httpScan(ctx context.Context, s *server) error {
	begun := time.Now()
	lines, err := rig.GetLines(ctx, http.DefaultClient, s.url+"/range?order=spo")
	if err != nil {
		return err
	}
	b.Report.Row("ordered scan over HTTP as N-Quads: triples/s", "1,000,000", "%s", rig.Thousands(rig.PerSecond(lines, time.Since(begun))))
	return nil
}

func (b *bench) httpPatterns(ctx context.Context, s *server, triples []triple.Triple) error {
	for _, p := range patterns {
		var took rig.Times
		for range 2 { // the first round warms the caches
			took = took[:0]
			for _, t := range triples[:min(len(triples), 2000)] {
				pattern := p.of(t)
				q := url.Values{"limit": {fmt.Sprint(questionRows)}}
				for name, term := range map[string]triple.Term{"s": pattern.Subject, "p": pattern.Predicate, "o": pattern.Object} {
					if !term.IsZero() {
						q.Set(name, term.String())
					}
				}
				begun := time.Now()
				if _, err := rig.GetLines(ctx, http.DefaultClient, s.url+"/triples?"+q.Encode()); err != nil {
					return err
				}
				took = append(took, time.Since(begun))
			}
		}
		b.Report.Row(fmt.Sprintf("pattern %s over HTTP, warm, first %d rows: median (p95)", p.name, questionRows), "300 µs",
			"%.0f µs (%.0f)", micro(took.Quantile(0.5)), micro(took.Quantile(0.95)))
	}
	return nil
}

// postOneByOne adds single triples over HTTP from many connections for a while.
func (b *bench) postOneByOne(ctx context.Context, connections int, duration time.Duration) error {
	// 1. A server on an empty directory.
	dir := b.dir("adds-http")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := b.serve(ctx, dir)
	if err != nil {
		return err
	}

	// 2. Each connection adds one triple after the other. The first error ends its adds.
	client := rig.NewHTTP(connections)
	var added atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	begun := time.Now()
	for c := range connections {
		wg.Go(func() {
			for i := 0; time.Since(begun) < duration; i++ {
				if err := post(client, s.url, fmt.Sprintf("<http://bench/s%d-%d> <http://bench/p%d> \"%d\" .\n", c, i, i%10, i)); err != nil {
					failed.Store(&err)
					return
				}
				added.Add(1)
			}
		})
	}
	wg.Wait()
	rate := rig.PerSecond(added.Load(), time.Since(begun))

	// 3. The server must shut down cleanly too.
	client.CloseIdleConnections()
	if err := s.Stop(); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	b.Report.Row(fmt.Sprintf("durable adds one by one over HTTP, %d connections: triples/s", connections), "2,000", "%s", rig.Thousands(rate))
	return nil
}

func post(client *http.Client, address, body string) error {
	resp, err := client.Post(address+"/triples", "application/n-triples", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("POST /triples: %s", resp.Status)
	}
	return nil
}
