// This file builds the binary, and holds what all tests wait and choose with.

package processes

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/testing/testbinary"
)

// binary is the path of the trefoil that is tested.
var binary string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	path, remove, err := testbinary.Trefoil(filepath.Join("..", ".."))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	defer newer.clean()
	binary = path
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == f.DefValue {
		_ = flag.Set("test.parallel", "5") // they wait most of the time
	}
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// waitLimit bounds every wait for a cluster to get somewhere, on a slow machine.
const waitLimit = 90 * time.Second

// until waits until f says that it is so. What f says otherwise is shown where it
// never becomes so.
func until(t testing.TB, what string, f func() error) {
	t.Helper()
	deadline := time.Now().Add(waitLimit)
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for this: %s; but %v", waitLimit, what, err)
		}
		<-ticker.C
	}
}

// pass lets time go by in which something is to go wrong by itself: a lease that
// runs out, faults that come at random.
func pass(d time.Duration) {
	<-time.After(d)
}

var newRandom = seed.Rand

// torture returns how long a random run lasts.
func torture(t *testing.T, short time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv("TREFOIL_TORTURE")
	if text == "" {
		return short
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// need skips a test where something of the machine is not there; where CI=true it
// has to be.
func need(t *testing.T, programs ...string) {
	t.Helper()
	var missing []error
	if os.Getuid() != 0 {
		missing = append(missing, errors.New("root"))
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			missing = append(missing, err)
		}
	}
	err := errors.Join(missing...)
	if err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI needs, for this test: %v", err)
	}
	t.Skipf("LEFT OUT, for this is needed: %v (scripts/netns.sh installs the programs)", err)
}
