// Read counts of a served node, as a client follows them.

package node

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// TestPageAsNQuads checks that a directory decodes no triple for a page of N-Quads.
func TestPageAsNQuads(t *testing.T) {
	db, err := Open(t.TempDir(), Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer db.Close()
	const n = 1000
	triples := make([]triple.Triple, n)
	for i := range triples {
		triples[i] = triple.Triple{Subject: triple.NewIRI(fmt.Sprint("http://ex/", i)), Predicate: triple.NewIRI("http://ex/p"), Object: triple.NewString(fmt.Sprint(i))}
	}
	_, err = db.Add(t.Context(), triples)
	require.NoError(t, err)
	var text bytes.Buffer
	allocations := testing.AllocsPerRun(1, func() {
		text.Reset()
		_, err = db.MatchPage(t.Context(), triple.Pattern{}, client.PageOptions{NQuads: &text})
	})
	require.NoError(t, err)
	if lines := bytes.Count(text.Bytes(), []byte{'\n'}); lines != n || allocations > n {
		t.Errorf("%d lines and %v allocations; a triple takes more than one", lines, allocations)
	}
}

// TestServeReads checks that a node without webhooks counts reads of triples and queries, stores what
// it has when it ends, and continues to count after its next start.
func TestServeReads(t *testing.T) {
	seed.Slow(t)
	dir := t.TempDir()
	serve := func(do func(c *client.Client)) {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		ready, ended := make(chan string, 1), make(chan error, 1)
		go func() {
			ended <- Serve(ctx, dir, ServeOptions{Options: Options{MinFreeBytes: -1}, Listen: "127.0.0.1:0", Ready: func(url string) { ready <- url }})
		}()
		defer func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}()
		select {
		case url := <-ready:
			c, err := client.New(url, client.Options{})
			require.NoError(t, err)
			defer c.Close()
			do(c)
		case err := <-ended:
			t.Fatal(err)
		}
	}
	p := triple.Pattern{Predicate: triple.NewIRI("http://ex/p")}
	follow := client.ChangesOptions{Since: "0", Subscription: "reads", End: true}
	// sum returns the reads of a pattern that the feed has.
	sum := func(c *client.Client) (reads int64) {
		t.Helper()
		for change, err := range c.Feed.Changes(t.Context(), follow) {
			require.NoError(t, err)
			if change.Read != nil && change.Read.Pattern == p {
				reads += change.Read.Reads
			}
		}
		return reads
	}
	// readUntil reads until the feed has a count of it, and returns how often it read.
	readUntil := func(c *client.Client, more int64) (times int64) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); sum(c) < more; times++ {
			if time.Now().After(deadline) {
				t.Fatal("no reads are counted")
			}
			if _, err := c.Count(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		return times
	}
	var first int64
	serve(func(c *client.Client) {
		if _, err := c.Subscriptions.Put(t.Context(), "reads", client.SubscriptionOptions{Pattern: p, Kinds: []string{"read"}}); err != nil {
			t.Fatal(err)
		}
		readUntil(c, 1)
		first = sum(c)
		// These are stored when the node ends.
		for range 5 {
			if _, err := c.Count(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
	})
	serve(func(c *client.Client) {
		if got := sum(c); got < first+5 {
			t.Errorf("%d reads after the end, want at least %d", got, first+5)
		}
		readUntil(c, sum(c)+1)
	})
}
