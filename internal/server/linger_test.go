// Early answers, and the rest of the body after them.

package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// writeAll is a client that reads nothing before it has written its whole request,
// as many are. It returns the answer's status and body.
func writeAll(addr, head string, body io.Reader) (int, string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, head+"\r\nHost: localhost\r\n\r\n"); err != nil {
		return 0, "", fmt.Errorf("write the head: %w", err)
	}
	if _, err := io.Copy(conn, body); err != nil {
		return 0, "", fmt.Errorf("write the body: %w", err)
	}
	got, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, "", fmt.Errorf("read the answer: %w", err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return got.StatusCode, string(text), err
}

// An early answer reaches clients that write all before they read anything, many of
// them at a time.
func TestEarlyAnswers(t *testing.T) {
	seed.Slow(t)
	const size = 20 << 20
	s := serve(t, newStore(t), Options{MaxBodyBytes: 1 << 20}, ServerOptions{})
	s.api.triples.Loads <- struct{}{} // a load runs
	defer func() { <-s.api.triples.Loads }()
	line := "<http://a> <http://b> <http://c> .\n"
	body := func() io.Reader {
		return io.LimitReader(strings.NewReader(strings.Repeat(line, size/len(line)+1)), size)
	}
	for _, test := range []struct {
		head   string
		status int
	}{
		{"POST /load HTTP/1.1\r\nContent-Type: application/n-triples", 503},
		{"POST /triples HTTP/1.1\r\nContent-Type: application/n-triples", 413},
		{"POST /triples HTTP/1.1\r\nContent-Type: application/n-triples\r\nContent-Encoding: gzip", 413},
		{"POST /nowhere HTTP/1.1", 404},
		{"GET /count HTTP/1.1", 400},
	} {
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				status, text, err := writeAll(s.addr, fmt.Sprintf("%s\r\nContent-Length: %d", test.head, size), body())
				if err != nil || status != test.status && status != 400 || !strings.Contains(text, `"error"`) {
					t.Errorf("%q: %d %.100q, %v", test.head, status, text, err)
				}
			})
		}
		all.Wait()
	}
}

// After an early answer to a small body the connection goes on. After one to a larger
// body it is closed, so that no part of the body is taken for a request; a client that
// waits for a word before it sends the body gets the answer instead.
func TestAfterEarlyAnswer(t *testing.T) {
	s := serve(t, newStore(t), Options{}, ServerOptions{})
	for _, test := range []struct {
		length, sent int
		expect       string
		closed       bool
	}{
		{1000, 1000, "", false},
		{200 << 10, 200 << 10, "", false},
		{1 << 20, 1 << 20, "", true},
		{1000, 0, "Expect: 100-continue\r\n", true},
		{1 << 20, 0, "Expect: 100-continue\r\n", true},
	} {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		in := bufio.NewReader(conn)
		fmt.Fprintf(conn, "POST /nowhere HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n%s", test.expect, test.length, strings.Repeat("x", test.sent))
		got, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, got.Body); err != nil || got.StatusCode != 404 || got.Close != test.closed {
			t.Errorf("%+v: %d, close %v, %v", test, got.StatusCode, got.Close, err)
		}
		got.Body.Close()
		fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if text, _ := in.ReadString('\n'); (text != "") == test.closed {
			t.Errorf("%+v: then it answers %q", test, text)
		}
		conn.Close()
		t.Logf("%+v took %v", test, time.Since(start))
	}
}

// What is read after an early answer is bounded in time.
func TestLingerEnds(t *testing.T) {
	request.LeftoverTimeout, request.LingerTimeout = 50*time.Millisecond, 100*time.Millisecond // before the server starts
	t.Cleanup(func() { request.LeftoverTimeout, request.LingerTimeout = time.Second, 10*time.Second })
	s := serve(t, newStore(t), Options{}, ServerOptions{})
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx")
	if text, _ := io.ReadAll(conn); !strings.HasPrefix(string(text), "HTTP/1.1 404") { // returns when it is closed
		t.Errorf("%.100q", text)
	}
	s.idle()
}
