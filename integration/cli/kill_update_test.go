// Kills during SPARQL updates.

package cli

// This file kills a server in the middle of SPARQL updates that change thousands
// of triples each: of every update all is there or nothing. TREFOIL_KILLS and
// TREFOIL_SEED are those of kill_test.go.

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The data: counters that all have the same value, and a graph that is under one
// of two names.
const (
	killCounters = 1500
	killMoved    = 1000
)

// killUpdates are what the writers send, again and again. Each keeps what
// checkUpdates asks.
var killUpdates = []string{
	`DELETE { ?c <x:is> ?n } INSERT { ?c <x:is> ?m } WHERE { ?c <x:is> ?n BIND(?n + 1 AS ?m) }`,
	`DELETE { ?c <x:is> ?n } INSERT { ?c <x:was> ?n } WHERE { ?c <x:is> ?n } ;
	 INSERT { ?c <x:is> ?m } WHERE { ?c <x:was> ?n BIND(?n + 1 AS ?m) } ;
	 DELETE WHERE { ?c <x:was> ?n }`,
	`MOVE SILENT <x:a> TO <x:b>`,
	`MOVE SILENT <x:b> TO <x:a>`,
	`COPY SILENT <x:a> TO <x:c> ; DROP SILENT GRAPH <x:c>`,
}

func TestKillUpdates(t *testing.T) {
	rnd := random(t)
	data := filepath.Join(t.TempDir(), "store")
	var start strings.Builder
	for i := range killCounters {
		fmt.Fprintf(&start, "<x:c%d> <x:is> \"0\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n", i)
	}
	for i := range killMoved {
		fmt.Fprintf(&start, "<x:s%d> <x:p> \"%d\" <x:a> .\n", i, i)
	}
	trefoil(t, "load", "--data", data, file(t, "start.nq", start.String())).mustCode(t, done)

	var acknowledged atomic.Int64 // increments
	var others int64              // that a kill left open
	for kill := range max(kills(t)/2, 1) {
		s := serve(t, "--data", data)
		const writers = 3
		first := make(chan struct{}, writers)
		var running sync.WaitGroup
		failures := make(chan error, writers)
		for range writers {
			writer := rand.New(rand.NewPCG(rnd.Uint64(), 0))
			running.Go(func() {
				if err := writeUpdates(s.url, writer, &acknowledged, first); err != nil {
					failures <- err
				}
			})
		}
		select {
		case <-first:
		case <-s.Ended:
			t.Fatalf("the server ended: %s", s.Said())
		}
		s.killAt(t, time.Duration(rnd.Int64N(int64(250*time.Millisecond))))
		running.Wait()
		others += writers
		select {
		case err := <-failures:
			t.Fatal(err)
		default:
		}
		trefoil(t, "check", "--data", data).mustCode(t, done)
		value := checkUpdates(t, kill, trefoil(t, "dump", "--no-annotations", "--data", data).mustCode(t, done).lines())
		if least := acknowledged.Load(); value < least || value > least+others {
			t.Fatalf("after kill %d: the counters are %d, %d increments were acknowledged and at most %d left open", kill+1, value, least, others)
		}
	}
	t.Logf("%d increments of %d counters acknowledged", acknowledged.Load(), killCounters)
}

// writeUpdates sends updates until the server is gone. An answer that is no
// success is an error.
func writeUpdates(url string, rnd *rand.Rand, acknowledged *atomic.Int64, first chan<- struct{}) error {
	for {
		i := rnd.IntN(len(killUpdates))
		response, err := http.Post(url+"/sparql", "application/sparql-update", strings.NewReader(killUpdates[i]))
		if err != nil {
			return nil
		}
		// The status line is the promise, whether or not the rest comes.
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode/100 != 2 {
			return fmt.Errorf("%s: %s: %s", killUpdates[i], response.Status, body)
		}
		if i < 2 {
			acknowledged.Add(1)
		}
		select {
		case first <- struct{}{}:
		default:
		}
	}
}

// checkUpdates fails the test where some of an update is there, and returns the
// value of the counters.
func checkUpdates(t *testing.T, kill int, lines []string) int64 {
	t.Helper()
	values, graphs := map[string]int{}, map[string]int{}
	for _, line := range lines {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 4 && fields[1] == "<x:is>":
			values[fields[2]]++
		case len(fields) == 5 && fields[1] == "<x:p>":
			graphs[fields[3]]++
		default:
			t.Fatalf("after kill %d: of no update whole: %s", kill+1, line)
		}
	}
	for graph, n := range graphs {
		if len(graphs) != 1 || n != killMoved || graph != "<x:a>" && graph != "<x:b>" {
			t.Fatalf("after kill %d: %d triples in %s; in all: %v", kill+1, n, graph, graphs)
		}
	}
	if len(graphs) != 1 || len(values) != 1 {
		t.Fatalf("after kill %d: the counters have %v, the graphs %v", kill+1, values, graphs)
	}
	for text, n := range values {
		number, _, _ := strings.Cut(strings.TrimPrefix(text, `"`), `"`)
		value, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n != killCounters {
			t.Fatalf("after kill %d: %d counters are %s", kill+1, n, text)
		}
		return value
	}
	return 0
}
