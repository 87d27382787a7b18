// Partitions and packet loss between network namespaces.

package processes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trefoildb/trefoil/client"
)

// hosts are network namespaces, one for each machine, with a bridge between them
// that stands in one of its own. Clients are at the bridge: what cuts machines off
// from each other does not cut clients off from them.
type hosts struct {
	t     *testing.T
	name  string // of the bridge's namespace; -1, -2 behind it are those of machines
	names []string
}

// hostPrefix and the test's process ID begin the names of its namespaces.
const hostPrefix = "trefoil-"

var hostsMade atomic.Int64

func (s *hosts) address(number int) string { return fmt.Sprintf("10.77.0.%d:7401", number) }

// run runs a command that must succeed.
func (s *hosts) run(words ...string) {
	s.t.Helper()
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v: %s", strings.Join(words, " "), err, out)
	}
}

// removeOldHosts deletes the namespaces of tests that were killed.
func removeOldHosts() {
	entries, err := os.ReadDir("/run/netns")
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), hostPrefix)
		id, _, _ := strings.Cut(rest, "-")
		if pid, err := strconv.Atoi(id); ours && err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			_ = exec.Command("ip", "netns", "del", e.Name()).Run()
		}
	}
}

// formInNamespaces forms a cluster of n machines, each on a host of its own.
func formInNamespaces(t *testing.T, n int) (*cluster, *hosts) {
	t.Helper()
	need(t, "ip", "nft")
	removeOldHosts()
	s := &hosts{t: t, name: fmt.Sprintf("%s%d-%d", hostPrefix, os.Getpid(), hostsMade.Add(1))}
	t.Cleanup(func() {
		for _, name := range s.names {
			if out, err := exec.Command("ip", "netns", "del", name).CombinedOutput(); err != nil {
				t.Errorf("ip netns del %s: %v: %s", name, err, out)
			}
		}
	})
	add := func(name string) {
		s.run("ip", "netns", "add", name)
		s.names = append(s.names, name)
		s.run("ip", "-n", name, "link", "set", "lo", "up")
	}
	add(s.name)
	s.run("ip", "-n", s.name, "link", "add", "br0", "type", "bridge")
	s.run("ip", "-n", s.name, "link", "set", "br0", "up")
	s.run("ip", "-n", s.name, "addr", "add", "10.77.0.254/24", "dev", "br0")
	c := newCluster(t, n, "--insecure")
	c.dial = s.dial
	for _, m := range c.machines {
		host, port := fmt.Sprintf("%s-%d", s.name, m.number), fmt.Sprintf("p%d", m.number)
		add(host)
		s.run("ip", "-n", s.name, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host)
		s.run("ip", "-n", s.name, "link", "set", port, "master", "br0", "up")
		s.run("ip", "-n", host, "addr", "add", fmt.Sprintf("10.77.0.%d/24", m.number), "dev", "eth0")
		s.run("ip", "-n", host, "link", "set", "eth0", "up")
		m.address, m.wrap = s.address(m.number), []string{"ip", "netns", "exec", host}
	}
	c.form()
	return c, s
}

// dial connects from the namespace of the bridge.
func (s *hosts) dial(ctx context.Context, network, address string) (net.Conn, error) {
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	defer own.Close()
	space, err := os.Open("/run/netns/" + s.name)
	if err != nil {
		return nil, err
	}
	defer space.Close()
	// The thread must come back: where it ended, processes that it has started would.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	defer func() {
		if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
			panic(err) // the thread would dial from elsewhere
		}
	}()
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// rules replaces what the bridge does to packets between machines.
func (s *hosts) rules(rules ...string) {
	s.t.Helper()
	text := "flush ruleset\n"
	if len(rules) > 0 {
		text += "table bridge faults {\n chain forward {\n type filter hook forward priority 0;\n" + strings.Join(rules, "\n") + "\n }\n}\n"
	}
	cmd := exec.Command("ip", "netns", "exec", s.name, "nft", "-f", "-")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("nft: %v: %s\n%s", err, out, text)
	}
}

// drop is the rules by which nothing comes from some machines to others.
func drop(from, to []*machine) (rules []string) {
	for _, a := range from {
		for _, b := range to {
			rules = append(rules, fmt.Sprintf("iifname \"p%d\" oifname \"p%d\" drop", a.number, b.number))
		}
	}
	return rules
}

// Machines on hosts of their own are cut off from each other, both ways or one way,
// or lose packets. The majority goes on; who is cut off answers nothing old, but
// that it is not available; healed, the cluster is whole again.

func TestPartition(t *testing.T) {
	testNetwork(t, 5, func(c *cluster, s *hosts, machines []*machine, l *load, _ *rand.Rand) {
		few, most := machines[:2], machines[2:]
		s.rules(slices.Concat(drop(few, most), drop(most, few))...)
		c.cutOff(few, most, l)
	})
}

func TestOneWayPartition(t *testing.T) {
	testNetwork(t, 3, func(c *cluster, s *hosts, machines []*machine, l *load, _ *rand.Rand) {
		s.rules(drop(machines[:1], machines[1:])...)
		c.cutOff(machines[:1], machines[1:], l)
	})
}

func TestPacketLoss(t *testing.T) {
	testNetwork(t, 3, func(_ *cluster, s *hosts, _ []*machine, _ *load, random *rand.Rand) {
		s.rules("numgen random mod 100 < 30 drop")
		// A machine that owes an answer for longer (leader.SlowAfter) is excluded as slow, and rests for minutes.
		pass(randomTime(random, failureTimeout/2, 3*failureTimeout/2))
	})
}

// testNetwork does something to the network of n machines, in random order, while
// clients write and read, once or as long as the torture lasts.
func testNetwork(t *testing.T, n int, fault func(*cluster, *hosts, []*machine, *load, *rand.Rand)) {
	t.Parallel()
	c, s := formInNamespaces(t, n)
	h := &history{}
	c.fill(h, 3000)
	random := newRandom(t)
	l := c.startLoad(h, random)
	l.goOn(8)
	end := time.Now().Add(torture(t, 0))
	for again := true; again; again = time.Now().Before(end) && !t.Failed() {
		machines := slices.Clone(c.machines)
		random.Shuffle(n, func(i, j int) { machines[i], machines[j] = machines[j], machines[i] })
		l.mark()
		fault(c, s, machines, l, random)
		l.log("the network's fault")
		s.rules()
		c.whole(n)
		l.goOn(8)
	}
	l.stop()
	c.mustHold(h)
}

// cutOff waits until the most go on without the few, and until these answer that
// they cannot, or nothing.
func (c *cluster) cutOff(few, most []*machine, l *load) {
	c.t.Helper()
	refused := make(chan error, len(few))
	for _, m := range few {
		go func() { refused <- m.refuses() }()
	}
	until(c.t, "the majority goes on", func() error {
		s, err := most[0].status()
		if err != nil {
			return err
		}
		return isWhole(s, len(most))
	})
	l.goOn(8)
	for range few {
		if err := <-refused; err != nil {
			c.t.Error(err)
		}
	}
}

// refuses repeats a request until it fails, or until nothing listens, because a machine that knows
// that it was excluded ends.
func (m *machine) refuses() error {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	for {
		_, err := m.newPatientClient().Ask(ctx, "ASK { ?s ?p ?o }", client.QueryOptions{})
		e := (*client.Error)(nil)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("machine %d still answers after %s, or says: %v", m.number, waitLimit, err)
		case err != nil && (!errors.As(err, &e) || e.Status == http.StatusServiceUnavailable):
			return nil
		}
		sleep(ctx, rest)
	}
}

// newPatientClient returns one that waits for an answer, whatever it is.
func (m *machine) newPatientClient() *client.Client {
	transport := &http.Transport{DialContext: m.c.dial, DisableKeepAlives: true}
	c, err := client.New(m.url(), client.Options{Retries: -1, HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		m.c.t.Fatal(err)
	}
	return c
}
