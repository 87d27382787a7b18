// Followers of the change feed of a served node, over HTTP.

package node

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// TestLargeCommits: a graph that is replaced by 20,000 triples, and a commit with more texts than the text index applies
// at a time, are searched at once, and the follower of the text index reaches the end of the feed. The first is so
// without an index, too: then there is nothing to search.
func TestLargeCommits(t *testing.T) {
	seed.Slow(t)
	const property = "http://example.org/p"
	ctx := t.Context()
	url, c := serveAll(t)
	put := func(word string, n int) {
		t.Helper()
		var document bytes.Buffer
		for i := range n {
			fmt.Fprintf(&document, "<http://example.org/s%d> <%s> \"%s%d\" .\n", i, property, word, i)
		}
		if _, err := c.Graphs.Put(ctx, client.DefaultGraph, "application/n-triples", document.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	search := func(word string, want int) {
		t.Helper()
		result, err := c.Text.Search(ctx, client.SearchRequest{Query: word})
		if err != nil || len(result.Hits) != want {
			t.Fatalf("%s: %d hits, want %d: %v", word, len(result.Hits), want, err)
		}
	}
	// 1. A graph is replaced while nothing is indexed. The index can be built only behind it.
	put("early", 1)
	put("first", 20_000)
	require.NoError(t, c.Text.AddPredicate(ctx, property))
	// 2. It is replaced with an index, and by more texts than the index applies at a time.
	put("second", 20_000)
	search("second19999", 1)
	search("first19999", 0)
	put("third", 110_000)
	search("third109999", 1)
	search("second19999", 0)
	// 3. All followers are watched, and none waits.
	metrics := fetchText(t, url+"/metrics")
	for _, name := range []string{"text", "links", "columns", "subscriptions"} {
		if want := `trefoil_feed_follower_waited_seconds{follower="` + name + `"} 0` + "\n"; !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	if !strings.Contains(metrics, "trefoil_text_behind 0\n") {
		t.Error("the text index is behind")
	}
	if status, err := c.Status(ctx); err != nil || len(status.Stalled) > 0 {
		t.Errorf("stalled: %v, %v", status.Stalled, err)
	}
	fetchText(t, url+"/readyz?follower=text")
}

// fetchText returns the body of an answer, which must be 200.
func fetchText(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", url, resp.StatusCode, body, err)
	}
	return string(body)
}

// serveAll serves a node with all that follows the change feed, until the end of the test.
func serveAll(t *testing.T) (url string, c *client.Client) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	dir := t.TempDir()
	go func() {
		ended <- Serve(ctx, dir, ServeOptions{Options: Options{MinFreeBytes: -1}, Listen: "127.0.0.1:0", Ready: func(url string) { ready <- url },
			WebhookKey: []byte("0123456789abcdef"), WebhookHost: []string{"example.org"}})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case url = <-ready:
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	c, err := client.New(url, client.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return url, c
}
