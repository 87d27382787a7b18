// Broken pages and retries.

package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// TestBrokenPages: over a network that refuses, loses and cuts, every triple is
// yielded exactly once.
func TestBrokenPages(t *testing.T) {
	url, db := startNode(t, server.Options{})
	all := numbered(200)
	if _, err := store.Add(ctx, db, all); err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, s := range all {
		want += string(triple.AppendNQuad(nil, s))
	}
	rapid.Check(t, func(rt *rapid.T) {
		fates := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 12).Draw(rt, "fates")
		w := newNetwork(t, func(n int, _ *http.Request) fate {
			switch f := fates[n%len(fates)]; {
			case n%5 == 4:
				return fate{} // else it might never end
			case f == 0:
				return fate{refuse: true}
			case f == 1:
				return fate{lose: true}
			case f < 6:
				return fate{cut: int64(f * f * 30)}
			}
			return fate{}
		})
		c := newClient(t, url, client.Options{HTTPClient: &http.Client{Transport: w}, PageSize: rapid.IntRange(7, 90).Draw(rt, "page")})
		if got := collect(t, c.Range(ctx, triple.Bounds{Order: triple.SPO}, client.RangeOptions{})); !slices.Equal(got, all) {
			rt.Fatalf("%d triples of %d, or others", len(got), len(all))
		}
		// The same as text.
		var text strings.Builder
		o := client.PageOptions{NQuads: &text}
		for done := false; !done; done = o.Cursor == "" {
			page, err := c.MatchPage(ctx, triple.Pattern{}, o)
			if err != nil {
				rt.Fatal(err)
			}
			o.Cursor = page.Next
		}
		if text.String() != want {
			rt.Fatalf("%d bytes of %d, or others", text.Len(), len(want))
		}
	})
}

// TestForeignPages checks that text which no node has sent is not written as N-Quads.
func TestForeignPages(t *testing.T) {
	const line = "<x:s> <x:p> <x:o> .\n"
	for _, test := range []struct {
		media, text string
		want        string // "" is an error
	}{
		{"application/n-quads", line, line},
		{"application/n-quads; charset=utf-8", line, line},
		{"application/n-quads", triple.AnnotationsHeader + "\n" + line, line},
		{"text/html", line, ""},
		{"", line, ""},
		{"application/n-quads", line + "<x:s> <x:p>", ""},
	} {
		w := newNetwork(t, func(int, *http.Request) fate {
			return fate{instead: &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {test.media}}, Body: io.NopCloser(strings.NewReader(test.text)), ProtoMajor: 1, ProtoMinor: 1}}
		})
		c := newClient(t, "http://127.0.0.1:1", client.Options{HTTPClient: &http.Client{Transport: w}})
		var got strings.Builder
		_, err := c.MatchPage(ctx, triple.Pattern{}, client.PageOptions{NQuads: &got, Annotations: true})
		if got.String() != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%q as %q: %q, %v", test.text, test.media, got.String(), err)
		}
	}
}

// TestRetries: what is sent again, how often, and after which pauses.
func TestRetries(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	answer := func(status int, retryAfter string) fate {
		header := http.Header{}
		if retryAfter != "" {
			header.Set("Retry-After", retryAfter)
		}
		return fate{instead: &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("<html>")), ProtoMajor: 1, ProtoMinor: 1}}
	}
	var pauses []time.Duration
	new := func(decide func(n int, r *http.Request) fate) (*client.Client, *network) {
		pauses = nil
		w := newNetwork(t, decide)
		return newClient(t, url, client.Options{HTTPClient: &http.Client{Transport: w}, Retries: 3, MinBackoff: time.Second, MaxBackoff: 3 * time.Second,
			Sleep: func(_ context.Context, d time.Duration) error {
				pauses = append(pauses, d)
				return nil
			}}), w
	}
	one := numbered(1)
	// The rest of an add or a delete is done when it is sent again; of others it may not be.
	byTriple := map[string]int{"delete match": 1, "update": 1, "links": 1}

	t.Run("backoff", func(t *testing.T) {
		c, w := new(func(int, *http.Request) fate { return fate{refuse: true} })
		if _, err := c.Count(ctx, triple.Pattern{}); !errors.Is(err, errNetwork) || w.requests() != 4 {
			t.Fatal(err, w.requests())
		}
		for i, most := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
			if pauses[i] > most || pauses[i] < most/2 {
				t.Errorf("pause %d is %s, want up to %s", i, pauses[i], most)
			}
		}
	})
	t.Run("Retry-After", func(t *testing.T) {
		for header, most := range map[string]time.Duration{
			"7": 7 * time.Second,
			time.Now().Add(8 * time.Hour).UTC().Format(http.TimeFormat): 8 * time.Hour,
		} {
			c, _ := new(func(n int, _ *http.Request) fate {
				if n == 0 {
					return answer(503, header)
				}
				return fate{}
			})
			if _, err := c.Count(ctx, triple.Pattern{}); err != nil || len(pauses) != 1 || pauses[0] < most*7/8 || pauses[0] > most {
				t.Error(err, pauses)
			}
		}
	})
	t.Run("a pause beyond the deadline", func(t *testing.T) {
		c, w := new(func(int, *http.Request) fate { return answer(503, "3600") })
		soon, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		var e *client.Error
		if _, err := c.Count(soon, triple.Pattern{}); !errors.As(err, &e) || e.Status != 503 || e.Message != "<html>" || w.requests() != 1 {
			t.Error(err, w.requests())
		}
	})
	t.Run("statuses", func(t *testing.T) {
		for status, tries := range map[int]int{429: 4, 502: 4, 503: 4, 504: 4, 500: 1, 507: 1, 404: 1, 413: 1, 301: 1} {
			c, w := new(func(int, *http.Request) fate { return answer(status, "") })
			var e *client.Error
			if _, err := c.Count(ctx, triple.Pattern{}); !errors.As(err, &e) || e.Status != status || w.requests() != tries {
				t.Errorf("%d: %v after %d tries", status, err, w.requests())
			}
		}
	})
	t.Run("a lost answer to an add", func(t *testing.T) {
		other := newClient(t, url, client.Options{})
		c, w := new(func(n int, r *http.Request) fate {
			if n > 0 {
				return fate{}
			}
			return fate{lose: true, done: func() { // another client has seen it, and deletes it
				if got, err := other.Delete(ctx, one); err != nil || got != (client.DeleteResult{Deleted: 1}) {
					t.Error(got, err)
				}
			}}
		})
		if got, err := c.Add(ctx, one); err != nil || got != (client.AddResult{Added: 1}) || w.requests() != 2 {
			t.Error(got, err, w.requests())
		}
		if n, err := other.Count(ctx, triple.Pattern{}); n != 0 || err != nil {
			t.Errorf("%d triples: an acknowledged delete is undone by another try (%v)", n, err)
		}
	})
	t.Run("changes", func(t *testing.T) {
		refusal := func(status int, body string) fate {
			f := answer(status, "")
			f.instead.Body = io.NopCloser(strings.NewReader(body))
			return f
		}
		changes := map[string]func(*client.Client) error{
			"add":    func(c *client.Client) error { _, err := c.Add(ctx, one); return err },
			"delete": func(c *client.Client) error { _, err := c.Delete(ctx, one); return err },
			"delete match": func(c *client.Client) error {
				_, err := c.DeleteMatch(ctx, triple.Pattern{Subject: one[0].Subject})
				return err
			},
			"update": func(c *client.Client) error { _, err := c.Update(ctx, "CLEAR ALL", client.QueryOptions{}); return err },
			"links": func(c *client.Client) error {
				_, err := c.Links.Update(ctx, []links.Change{{Source: "http://a/", Targets: []string{"http://b/"}}})
				return err
			},
		}
		for _, test := range []struct {
			name    string
			fate    func() fate
			tries   map[string]int // 4 is the default
			unknown bool
		}{
			{"busy", func() fate { return refusal(503, `{"error":{"kind":"busy"}}`) }, nil, false},
			{"unavailable", func() fate { return refusal(503, `{"error":{"kind":"unavailable"}}`) }, map[string]int{"update": 1, "links": 1}, false},
			{"done in part", func() fate { return refusal(503, `{"error":{"kind":"unavailable","done":3,"begun":true}}`) }, byTriple, false},
			{"found in part", func() fate { return refusal(503, `{"error":{"kind":"unavailable","begun":true}}`) }, byTriple, false},
			{"under way", func() fate { return refusal(409, `{"error":{"kind":"under-way"}}`) }, nil, false},
			{"unknown", func() fate { return refusal(504, `{"error":{"kind":"unknown-outcome"}}`) }, byTriple, true},
			{"a proxy's 502", func() fate { return answer(502, "") }, nil, true},
			{"a proxy's 503", func() fate { return answer(503, "") }, nil, true},
			{"a broken connection", func() fate { return fate{refuse: true} }, nil, true},
			{"a broken answer", func() fate { return fate{cut: 3} }, nil, true},
		} {
			for name, do := range changes {
				if name == "links" && test.name == "a broken answer" {
					continue // this node has no links to answer for
				}
				c, w := new(func(int, *http.Request) fate { return test.fate() })
				tries := test.tries[name]
				if tries == 0 {
					tries = 4
				}
				err := do(c)
				if err == nil || w.requests() != tries || errors.Is(err, client.ErrUnknownOutcome) != test.unknown {
					t.Errorf("%s, %s: %d tries, not %d: %v", test.name, name, w.requests(), tries, err)
				}
			}
		}
		// No connection, no change.
		c := newClient(t, "http://127.0.0.1:1", client.Options{Retries: 1, Sleep: func(context.Context, time.Duration) error { pauses = append(pauses, 0); return nil }})
		pauses = nil
		if _, err := c.Add(ctx, one); err == nil || errors.Is(err, client.ErrUnknownOutcome) || len(pauses) != 1 {
			t.Error(err, pauses)
		}
	})
	t.Run("loads and backups", func(t *testing.T) {
		c, w := new(func(int, *http.Request) fate { return answer(503, "") })
		if _, err := c.Load(ctx, strings.NewReader(""), client.LoadOptions{}); err == nil || w.requests() != 1 {
			t.Error(err, w.requests())
		}
		if err := c.Backup(ctx, io.Discard); err == nil || w.requests() != 2 {
			t.Error(err, w.requests())
		}
	})
	t.Run("no retries", func(t *testing.T) {
		w := newNetwork(t, func(int, *http.Request) fate { return fate{refuse: true} })
		c := newClient(t, url, client.Options{HTTPClient: &http.Client{Transport: w}, Retries: -1})
		if _, err := c.Count(ctx, triple.Pattern{}); err == nil || w.requests() != 1 {
			t.Error(err, w.requests())
		}
	})
	t.Run("strange answers", func(t *testing.T) {
		for _, header := range []http.Header{{"Link": {`<?x=1>; rel="next"`}}, {"Link": {`<%zz>; rel="next"`}}, {"Content-Length": {"x"}}} {
			f := answer(200, "")
			f.instead.Header = header
			c, _ := new(func(int, *http.Request) fate { return f })
			if _, err := c.MatchPage(ctx, triple.Pattern{}, client.PageOptions{}); err == nil {
				t.Errorf("%v was taken", header)
			}
			if _, err := c.Status(ctx); err == nil {
				t.Error("HTML is a status")
			}
		}
	})
}
