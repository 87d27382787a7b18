// Helpers: clusters of processes.

package processes

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
)

// failureTimeout is how long a machine of these tests may be silent.
const failureTimeout = 2 * time.Second

// cluster is machines that know each other.
type cluster struct {
	t        *testing.T
	machines []*machine
	token    string                                                               // of clients; "" where they need none
	secure   *secured                                                             // nil where nodes and clients talk in the clear
	dial     func(ctx context.Context, network, address string) (net.Conn, error) // nil where all share the loopback
}

// machine is a directory and an address, and a process while it runs.
type machine struct {
	c       *cluster
	number  int // from 1
	dir     string
	address string
	args    []string // beside those that all have
	wrap    []string // the command that the binary is run by; none
	binary  string   // the release that it runs; "" is the one that is tested
	process *process
	client  *client.Client
}

// newCluster makes machines that do not run yet.
func newCluster(t *testing.T, n int, args ...string) *cluster {
	t.Helper()
	c := &cluster{t: t}
	for range n {
		c.newMachine(args...)
	}
	return c
}

// newMachine makes one more.
func (c *cluster) newMachine(args ...string) *machine {
	c.t.Helper()
	number := len(c.machines) + 1
	m := &machine{c: c, number: number, dir: filepath.Join(c.t.TempDir(), fmt.Sprintf("d%d", number)), args: args}
	c.machines = append(c.machines, m)
	return m
}

// form starts a cluster of n machines and waits until it is whole.
func form(t *testing.T, n int, args ...string) *cluster {
	t.Helper()
	c := newCluster(t, n, args...)
	c.form()
	return c
}

func (c *cluster) form() {
	c.t.Helper()
	first := c.machines[0]
	first.start()
	first.ready()
	for _, m := range c.machines[1:] {
		m.args = append(m.args, "--join", first.address)
		m.start()
	}
	for _, m := range c.machines[1:] {
		m.ready()
	}
	c.whole(len(c.machines))
}

// given are the ports that freeAddress has returned: a machine that is down for a
// while keeps its own.
var given sync.Map

// freeAddress returns an address of loopback that nobody listens at, with TCP and
// with UDP, and that it has not returned before. The system must not assign it
// to a dialing socket.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := 10_000 + rand.IntN(20_000)
		if _, again := given.LoadOrStore(port, true); again {
			continue
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		stream, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		packets, err := net.ListenPacket("udp", address)
		stream.Close()
		if err != nil {
			continue
		}
		packets.Close()
		return address
	}
	t.Fatal("no free port")
	return ""
}

// start starts the machine's process.
func (m *machine) start() {
	t := m.c.t
	t.Helper()
	if m.address == "" {
		m.address = freeAddress(t)
	}
	words := append(slices.Clone(m.wrap), cmp.Or(m.binary, binary), "serve", "--data", m.dir, "--listen", m.address, "--failure-timeout", failureTimeout.String())
	words = append(words, m.args...)
	if os.Getenv("TREFOIL_LOG") == "debug" {
		words = append(words, "--log-level", "debug")
	}
	if s := m.c.secure; s != nil {
		words = append(words, s.flags(m.number)...)
	}
	m.process = begin(t, words...)
	p := m.process
	t.Cleanup(func() {
		if t.Failed() || os.Getenv("TREFOIL_LOG") != "" {
			t.Logf("machine %d, %s, said last:\n%s", m.number, m.address, p.Tail(400))
		}
	})
	if m.client == nil {
		m.client = m.newClient()
	}
}

// ready waits until the machine serves.
func (m *machine) ready() {
	m.c.t.Helper()
	m.process.waitFor(m.c.t, `serving .* at (https?://[^\s"]+)`)
}

func (m *machine) url() string {
	if m.c.secure != nil {
		return "https://" + m.address
	}
	return "http://" + m.address
}

// patiently is a flag for tests in which no machine is to be given up: on a slow
// machine a process may take longer to start than failureTimeout.
const patiently = "--failure-timeout=10s"

// requestTimeout is when a client of these tests gives up a request.
const requestTimeout = 2 * time.Second

// newClient returns a client that sends nothing twice.
func (m *machine) newClient() *client.Client {
	t := m.c.t
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	options := client.Options{Token: m.c.token, Retries: -1, HTTPClient: &http.Client{Transport: transport, Timeout: requestTimeout}}
	if s := m.c.secure; s != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: s.pool}
		options.Token = s.token
	}
	if m.c.dial != nil {
		transport.DialContext = m.c.dial
	}
	c, err := client.New(m.url(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return c
}

// runs reports whether its process does.
func (m *machine) runs() bool { return m.process != nil && !m.process.Over() }

// kill ends the process as a power cut would.
func (m *machine) kill() {
	m.c.t.Helper()
	m.process.signal(m.c.t, syscall.SIGKILL)
	m.process.wait(m.c.t)
}

// stop ends the process as an operator would.
func (m *machine) stop() {
	m.c.t.Helper()
	m.process.signal(m.c.t, syscall.SIGTERM)
	if code := m.process.wait(m.c.t); code != 0 {
		m.c.t.Fatalf("machine %d ended with code %d:\n%s", m.number, code, m.process.Tail(20))
	}
}

func (m *machine) status() (client.Status, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	return m.client.Status(ctx)
}

// up returns the machines that run.
func (c *cluster) up() (up []*machine) {
	for _, m := range c.machines {
		if m.runs() {
			up = append(up, m)
		}
	}
	return up
}

// whole waits until so many machines are members that are there, nothing is being
// rebuilt, and as many vote as should: from then on the cluster bears what it
// promises.
func (c *cluster) whole(members int) client.Status {
	c.t.Helper()
	var s client.Status
	until(c.t, fmt.Sprintf("a whole cluster of %d", members), func() (err error) {
		if s, err = c.up()[0].status(); err != nil {
			return err
		}
		return isWhole(s, members)
	})
	return s
}

func isWhole(s client.Status, members int) error {
	voters := 0
	var states []string
	for _, m := range s.Members {
		if m.Voter {
			voters++
		}
		if m.State == "down" || m.Lag > 0 {
			states = append(states, fmt.Sprintf("%s is %s and %d epochs behind", m.Address, m.State, m.Lag))
		}
	}
	switch {
	case len(s.Members) != members:
		return fmt.Errorf("there are %d members", len(s.Members))
	case len(states) > 0:
		return fmt.Errorf("%s", strings.Join(states, ", "))
	case s.Phase != "idle" || s.Rebuilding > 0 || s.Lost > 0 || s.Waiting != "":
		return fmt.Errorf("phase %s, %d rebuilding, %d lost, waiting: %s", s.Phase, s.Rebuilding, s.Lost, s.Waiting)
	case voters != votersOf(members):
		return fmt.Errorf("%d vote", voters)
	}
	return nil
}

// votersOf returns how many of so many members vote: an odd number, up to five,
// but both of two.
func votersOf(members int) int {
	if members > 2 && members%2 == 0 {
		members--
	}
	return min(members, 5)
}
