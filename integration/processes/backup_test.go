// Backups of clusters of processes.

package processes

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/triple"
)

// TestBackup: a cluster is backed up in full and by increments while clients write, and is restored as a
// lone machine, as another cluster, and as of positions in between.
func TestBackup(t *testing.T) {
	t.Parallel()
	c := form(t, 3)
	random := newRandom(t)
	chain := filepath.Join(t.TempDir(), "chain") + "/"
	through := func() *machine { return c.machines[random.IntN(3)] }
	b := &backedUp{c: c}
	// 1. A full backup, with a subscription and annotations.
	trefoil(t, "subscriptions", "put", "follower", "--pattern", "? <"+ex+"likes> ?", "--to", c.machines[0].url()).must(t, 0)
	b.change(random, 150)
	trefoil(t, "backup", "--to", through().url(), chain).must(t, 0)
	// 2. Increments; states between two changes; one backup while clients write.
	type state struct {
		position string
		lines    []string
	}
	var states []state
	for round := range 3 {
		for range 2 {
			b.change(random, 25)
			position, err := through().client.Feed.Position(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, state{position, b.dump(t, "--to", through().url())})
		}
		var writing sync.WaitGroup
		if round == 1 {
			own := rand.New(rand.NewPCG(random.Uint64(), 0))
			writing.Go(func() { b.change(own, 60) })
		}
		trefoil(t, "backup", "--to", through().url(), "--since", chain, chain).must(t, 0)
		writing.Wait()
	}
	trefoil(t, "backup", "--to", through().url(), chain).must(t, 0)
	whole := b.dump(t, "--to", through().url())
	// 3. A lone machine has all of it, and checks well.
	lone := filepath.Join(t.TempDir(), "lone")
	trefoil(t, "restore", "--data", lone, chain).must(t, 0)
	b.mustEqual(t, "a lone machine", b.dump(t, "--data", lone), whole)
	trefoil(t, "check", "--data", lone).must(t, 0)
	// 4. A moment in between.
	for i, s := range states {
		into := filepath.Join(t.TempDir(), fmt.Sprint("until", i))
		trefoil(t, "restore", "--data", into, "--until", s.position, chain).must(t, 0)
		b.mustEqual(t, fmt.Sprintf("state %d", i), b.dump(t, "--data", into), s.lines)
	}
	// 5. Another cluster, through one of its machines.
	other := form(t, 3)
	trefoil(t, "restore", "--to", other.machines[1].url(), chain).must(t, 0)
	for _, m := range other.machines {
		b.mustEqual(t, fmt.Sprintf("machine %d of another cluster", m.number), b.dump(t, "--to", m.url()), whole)
	}
	list := trefoil(t, "subscriptions", "list", "--to", other.machines[2].url()).must(t, 0)
	if !strings.Contains(list.stdout, "follower") {
		t.Errorf("the restored cluster has no subscription: %s", list.stdout)
	}
	// 6. The lone machine begins a cluster of its own, and goes on.
	third := newCluster(t, 2)
	third.machines[0].dir = lone
	third.form()
	b.mustEqual(t, "a cluster that begins with the lone machine", b.dump(t, "--to", third.machines[1].url()), whole)
	if _, err := third.machines[1].client.Add(t.Context(), []triple.Triple{exTriple("x", "likes", "y")}); err != nil {
		t.Error(err)
	}
}

// backedUp changes the triples of a cluster.
type backedUp struct {
	c      *cluster
	number int
}

// change makes n changes: adds, deletes and annotations. Only one call may run at a time.
func (b *backedUp) change(random *rand.Rand, n int) {
	t := b.c.t
	of := func(i int) triple.Triple { return exTriple(fmt.Sprint("s", i), "likes", fmt.Sprint(i)) }
	for range n {
		to := b.c.machines[random.IntN(len(b.c.machines))].client
		some := []triple.Triple{of(b.number), of(b.number + 1)}
		b.number += 2
		old := of(random.IntN(b.number))
		kind := random.IntN(6)
		until(t, "a change", func() (err error) {
			switch kind {
			case 0:
				_, err = to.Delete(t.Context(), []triple.Triple{old})
			case 1:
				note := client.Annotation{ApplicationID: "app", Media: "text/plain", Content: []byte(fmt.Sprint(b.number))}
				_, err = to.Annotations.Set(t.Context(), old, note, client.AnnotationCondition{})
				var answer *client.Error
				if errors.As(err, &answer) && answer.Status == http.StatusNotFound {
					err = nil // the triple was deleted
				}
			default:
				_, err = to.Add(t.Context(), some)
			}
			return err
		})
	}
}

// dump returns the sorted lines of a dump.
func (b *backedUp) dump(t *testing.T, args ...string) []string {
	t.Helper()
	lines := strings.Split(trefoil(t, append([]string{"dump"}, args...)...).must(t, 0).stdout, "\n")
	slices.Sort(lines)
	return lines
}

// mustEqual fails the test if two dumps differ.
func (b *backedUp) mustEqual(t *testing.T, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) && len(want) > 100 {
		return
	}
	for _, line := range got {
		if _, ok := slices.BinarySearch(want, line); !ok {
			t.Logf("it should not have %s", line)
		}
	}
	for _, line := range want {
		if _, ok := slices.BinarySearch(got, line); !ok {
			t.Logf("it lacks %s", line)
		}
	}
	t.Errorf("%s has %d lines, want %d", what, len(got), len(want))
}
