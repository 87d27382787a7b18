// Annotations of a cluster: any node serves them, of each application to its own token.

package processes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// as returns a client of a machine with a token.
func (m *machine) as(token string) *client.Client {
	t := m.c.t
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(m.url(), client.Options{Retries: -1, Token: token, HTTPClient: &http.Client{Transport: transport, Timeout: 30 * time.Second}})
	require.NoError(t, err)
	return c
}

// TestAnnotations: annotations of 1 MiB that one node set are read from all, by their application and
// its readers only, in lists and in SPARQL, also while a machine is down. Of conditional changes
// through several nodes exactly one is made. A dump in each format brings all of it into a node alone.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	// 1. Three machines with two applications.
	random := newRandom(t)
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	tokens := file("tokens", "mine m other\nother o\nalone a\n")
	c := newCluster(t, 3, "--token-file", file("token", "clients"), "--operator-token-file", file("operator", "operators"), "--application-tokens-file", tokens)
	c.token = "clients"
	c.form()
	ctx := t.Context()
	triples := make([]triple.Triple, 5)
	content := make([][]byte, len(triples))
	for i := range triples {
		triples[i] = exTriple(fmt.Sprint("s", i), "p", "o")
		content[i] = make([]byte, triple.MaxAnnotationContent-i)
		for j := range content[i] {
			content[i][j] = byte(random.Uint32())
		}
	}
	if _, err := c.machines[0].as("clients").Add(ctx, triples); err != nil {
		t.Fatal(err)
	}
	// 2. One node sets them, and all have them, for those who may read them.
	for i, tr := range triples {
		if _, err := c.machines[i%3].as("m").Annotations.Set(ctx, tr, client.Annotation{ApplicationID: "mine", Media: "image/png", Content: content[i]}, client.AnnotationCondition{}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(machines []*machine) {
		t.Helper()
		for _, m := range machines {
			for i, tr := range triples {
				for _, token := range []string{"m", "o", "operators"} {
					got, err := m.as(token).Annotations.Get(ctx, tr, "mine")
					if err != nil || got.Media != "image/png" || !bytes.Equal(got.Content, content[i]) {
						t.Fatalf("machine %d, %s: %s, %d bytes, %v", m.number, token, got.Media, len(got.Content), err)
					}
				}
				for _, token := range []string{"a", "clients"} {
					if _, err := m.as(token).Annotations.Get(ctx, tr, "mine"); !errors.Is(err, client.ErrForbidden) {
						t.Fatalf("machine %d, %s: %v", m.number, token, err)
					}
					if all, err := m.as(token).Annotations.List(ctx, tr); err != nil || len(all) > 0 {
						t.Fatalf("machine %d, %s: %d annotations, %v", m.number, token, len(all), err)
					}
				}
			}
			for token, want := range map[string]int{"m": len(triples), "a": 0} {
				if n := c.selected(m, token, `SELECT ?s { SERVICE <urn:trefoil:annotations> { ?n ann:application "mine" ; ann:subject ?s } }`); n != want {
					t.Fatalf("machine %d, %s: %d of %d by SERVICE", m.number, token, n, want)
				}
			}
		}
	}
	check(c.machines)
	// 3. Races: all nodes increment a counter on one triple, under its version.
	c.race(triples[0], random)
	// 4. A machine dies. The others have all of it, and take changes.
	victim := c.machines[random.IntN(3)]
	victim.kill()
	left := c.up()
	until(t, "an annotation is set without one machine", func() error {
		_, err := left[0].as("m").Annotations.Set(ctx, triples[1], client.Annotation{ApplicationID: "mine", Media: "image/png", Content: content[1][1:]}, client.AnnotationCondition{})
		return err
	})
	content[1] = content[1][1:]
	until(t, "a client reads", func() error { _, err := left[1].as("m").Annotations.Get(ctx, triples[2], "mine"); return err })
	check(left)
	c.race(triples[2], random)
	victim.start()
	victim.ready()
	c.whole(3)
	check(c.machines)
	// 5. Dumps lose nothing.
	want := c.mustDump(left[0], "nq")
	for _, format := range []string{"nq", "trig", "ndjson"} {
		dump := filepath.Join(t.TempDir(), "dump."+format)
		require.NoError(t, os.WriteFile(dump, []byte(c.mustDump(left[1], format)), 0o600))
		data := filepath.Join(t.TempDir(), "loaded")
		trefoil(t, "load", "--data", data, dump).must(t, 0)
		if got := trefoil(t, "dump", "--data", data).must(t, 0).stdout; got != want {
			t.Errorf("%s: the dump of the loaded store has %d bytes, the cluster's %d", format, len(got), len(want))
		}
	}
}

func (c *cluster) mustDump(m *machine, format string) string {
	c.t.Helper()
	return trefoilWith(c.t, nil, []string{"TREFOIL_TOKEN=operators"}, "dump", "--to", m.url(), "--format", format).must(c.t, 0).stdout
}

// selected returns the number of solutions of a query.
func (c *cluster) selected(m *machine, token, query string) int {
	c.t.Helper()
	out := trefoilWith(c.t, nil, []string{"TREFOIL_TOKEN=" + token}, "query", "--to", m.url(), "--format", "csv", "-e", "PREFIX ann: <urn:trefoil:annotations#> "+query).must(c.t, 0).stdout
	return strings.Count(out, "\n") - 1
}

// race increments a counter through all machines at the same time. Each increment requires the
// version that it has read, so none may be lost, and each version is replaced once.
func (c *cluster) race(tr triple.Triple, random *rand.Rand) {
	c.t.Helper()
	const each = 8
	machines := c.up()
	var mu sync.Mutex
	replaced := map[string]int{}
	var running sync.WaitGroup
	errs := make([]error, len(machines))
	start := random.IntN(1000)
	if _, err := machines[0].as("o").Annotations.Set(c.t.Context(), tr, client.Annotation{ApplicationID: "other", Content: fmt.Append(nil, start)}, client.AnnotationCondition{}); err != nil {
		c.t.Fatal(err)
	}
	for i, m := range machines {
		of := m.as("o")
		running.Go(func() {
			for done := 0; done < each; {
				version, err := increment(c.t.Context(), of, tr)
				switch {
				case errors.Is(err, client.ErrPrecondition):
				case err != nil:
					errs[i] = err
					return
				default:
					done++
					mu.Lock()
					replaced[version]++
					mu.Unlock()
				}
			}
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		c.t.Fatal(err)
	}
	for version, times := range replaced {
		if times > 1 {
			c.t.Errorf("version %s was replaced %d times", version, times)
		}
	}
	for _, m := range machines {
		got, err := m.as("o").Annotations.Get(c.t.Context(), tr, "other")
		if want := fmt.Sprint(start + each*len(machines)); err != nil || string(got.Content) != want {
			c.t.Errorf("machine %d: the counter is %s, not %s, %v", m.number, got.Content, want, err)
		}
	}
}

// increment increments the counter on a triple, and returns the version that it replaced.
func increment(ctx context.Context, of *client.Client, tr triple.Triple) (version string, err error) {
	got, err := of.Annotations.Get(ctx, tr, "other")
	if err != nil {
		return "", err
	}
	n := 0
	if _, err := fmt.Sscan(string(got.Content), &n); err != nil {
		return "", err
	}
	_, err = of.Annotations.Set(ctx, tr, client.Annotation{ApplicationID: "other", Content: fmt.Append(nil, n+1)}, client.AnnotationCondition{Version: got.Version})
	return got.Version, err
}
