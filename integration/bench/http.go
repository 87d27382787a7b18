package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/triple"
)

// server is a running `trefoil serve`.
type server struct {
	cmd *exec.Cmd
	url string
}

// serve starts a server on dir and waits until it says where it listens.
func (b *bench) serve(ctx context.Context, dir string) (*server, error) {
	cmd := exec.CommandContext(ctx, b.trefoil, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "http://"); ok {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return &server{cmd: cmd, url: "http://" + strings.TrimSpace(address)}, nil
		}
	}
	return nil, errors.Join(errors.New("trefoil serve ended without listening"), cmd.Wait())
}

func (s *server) stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// http measures the doors on loopback: the server is another process on the same
// processors, and so is its client.
func (b *bench) http(ctx context.Context) error {
	triples, err := b.questions(ctx)
	if err != nil {
		return err
	}
	s, err := b.serve(ctx, b.store("lubm"))
	if err != nil {
		return err
	}
	err = errors.Join(b.httpScan(ctx, s), b.httpPatterns(ctx, s, triples))
	return errors.Join(err, s.stop())
}

// questions samples triples before the server takes the directory.
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
	return sample(ctx, sn, questions, rand.New(rand.NewPCG(b.seed, 1)))
}

func get(ctx context.Context, address string, f func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, resp.Status)
	}
	return f(resp.Body)
}

func (b *bench) httpScan(ctx context.Context, s *server) error {
	begun := time.Now()
	lines := int64(0)
	err := get(ctx, s.url+"/range?order=spo", func(body io.Reader) error {
		buf := make([]byte, 1<<20)
		for {
			n, err := body.Read(buf)
			lines += int64(bytes.Count(buf[:n], []byte{'\n'}))
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
	if err != nil {
		return err
	}
	b.report.row("ordered scan over HTTP as N-Quads: triples/s", "1,000,000", "%s", thousands(perSecond(lines, time.Since(begun))))
	return nil
}

func (b *bench) httpPatterns(ctx context.Context, s *server, triples []triple.Triple) error {
	for _, p := range patterns {
		var took times
		for range 2 {
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
				if err := get(ctx, s.url+"/triples?"+q.Encode(), func(body io.Reader) error {
					_, err := io.Copy(io.Discard, body)
					return err
				}); err != nil {
					return err
				}
				took = append(took, time.Since(begun))
			}
		}
		b.report.row(fmt.Sprintf("pattern %s over HTTP, warm, first %d rows: median (p95)", p.name, questionRows), "300 µs",
			"%.0f µs (%.0f)", micro(took.quantile(0.5)), micro(took.quantile(0.95)))
	}
	return nil
}

// postOneByOne adds single triples over HTTP from many connections for a while.
func (b *bench) postOneByOne(ctx context.Context, connections int, duration time.Duration) error {
	dir := b.store("adds-http")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	s, err := b.serve(ctx, dir)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	begun := time.Now()
	for c := range connections {
		wg.Go(func() {
			for i := 0; time.Since(begun) < duration; i++ {
				body := fmt.Sprintf("<http://bench/s%d-%d> <http://bench/p%d> \"%d\" .\n", c, i, i%10, i)
				resp, err := client.Post(s.url+"/triples", "application/n-triples", strings.NewReader(body))
				if err != nil {
					failed.Store(&err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					err := fmt.Errorf("POST /triples: %s", resp.Status)
					failed.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	rate := perSecond(done.Load(), time.Since(begun))
	client.CloseIdleConnections()
	if err := s.stop(); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	b.report.row(fmt.Sprintf("durable adds one by one over HTTP, %d connections: triples/s", connections), "2,000", "%s", thousands(rate))
	return os.RemoveAll(dir)
}
