// Tests with functions that take all of their time.

package functions

import (
	"fmt"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// spins is the body of a function that ends at its limit of time.
const spins = `(loop $forever (br $forever)) (i64.const 0)`

// TestSlowFunctionsDoNotBlockWrites: while a function takes its limit of 100 ms for each of many
// changes, and a check for each of its triples, adds of other triples do not wait for them. If they
// waited for one call each, they would take twice the time that is allowed here.
func TestSlowFunctionsDoNotBlockWrites(t *testing.T) {
	seed.Slow(t)
	b := open(t, nil, Options{})
	defer b.close()
	b.put(Registration{Name: "slow", Pattern: "? <http://example.org/slow> ?"}, assemble(t, spins))
	b.put(Registration{Name: "check", Mode: Check, Pattern: "? <http://example.org/checked> ?"}, assemble(t, spins))
	const adds = 100
	var queued []triple.Triple
	for i := range 10 * adds {
		queued = append(queued, of(fmt.Sprint("s", i), "slow", "x"))
	}
	b.add(queued...)
	b.eventually("the first calls", func() bool { return b.state("slow").Counts.Failures > 0 })
	// 1. One client's adds wait for the check, again and again.
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				store.Add(b.ctx, b.checked, []triple.Triple{of(fmt.Sprint("c", i), "checked", "x")}) //nolint:errcheck // it is rejected
			}
		}
	}()
	// 2. Adds of other triples.
	began := time.Now()
	for i := range adds {
		b.add(of(fmt.Sprint("a", i), "other", "x"))
	}
	took := time.Since(began)
	close(stop)
	<-ended
	t.Logf("%s for each add, %+v", took/adds, b.state("slow").Counts)
	if took > adds*50*time.Millisecond {
		t.Errorf("%d adds took %s, although each call takes only 100 ms", adds, took)
	}
	if lag := time.Since(time.Unix(0, b.service.functions()["slow"].figures.until.Load())); lag < took {
		t.Errorf("the lag is %s, and the function was behind for %s", lag, took)
	}
	if s := b.state("slow"); s.Counts.Calls >= int64(len(queued)) {
		t.Errorf("the slow function was not busy all the time: %+v", s.Counts)
	}
}

// TestSlowFunctionsLeaveRoom: while a function takes 10 seconds for each call, another one runs.
func TestSlowFunctionsLeaveRoom(t *testing.T) {
	b := open(t, nil, Options{})
	defer b.close()
	b.put(Registration{Name: "slow", Pattern: "? <http://example.org/parentOf> ?", TimeoutMS: MaxTimeout.Milliseconds()}, assemble(t, spins))
	// The slow one makes all calls that one function may make at a time, whatever the machine has.
	const changes = 20
	most := b.service.ahead
	var first []triple.Triple
	for i := range most {
		first = append(first, of("a", "parentOf", fmt.Sprint("a", i)))
	}
	b.add(first...)
	b.eventually("the slow calls", func() bool { return len(b.service.calls) == most })
	b.put(Registration{Name: "inverse", Pattern: "? <http://example.org/parentOf> ?", TimeoutMS: 10_000}, module(t, "inverse"))
	var all []triple.Triple
	for i := range changes {
		all = append(all, of("a", "parentOf", fmt.Sprint("b", i)))
	}
	b.add(all...)
	b.eventually("the effects of the fast function", func() bool { return b.count(triple.Pattern{Predicate: iri("childOf")}) == changes })
	if s := b.state("slow"); s.Counts.Calls > 0 {
		t.Errorf("the fast function has waited for the slow one: %+v", s.Counts)
	}
}
