package processes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
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

var hostsMade atomic.Int64

func (s *hosts) address(number int) string { return fmt.Sprintf("10.77.0.%d:7401", number) }

// run runs a command that must succeed.
func (s *hosts) run(words ...string) {
	s.t.Helper()
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v: %s", strings.Join(words, " "), err, out)
	}
}

// formInNamespaces forms a cluster of n machines, each on a host of its own.
func formInNamespaces(t *testing.T, n int) (*cluster, *hosts) {
	t.Helper()
	need(t, "ip", "nft")
	s := &hosts{t: t, name: fmt.Sprintf("trefoil-%d-%d", os.Getpid(), hostsMade.Add(1))}
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
func (s *hosts) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		var space *os.File
		if space, err = os.Open("/run/netns/" + s.name); err != nil {
			return
		}
		defer space.Close()
		if err = unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err == nil {
			conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		}
	}()
	<-done
	return conn, err
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

// TestPartitions: machines on hosts of their own are cut off from each other, both
// ways or one way, and lose packets. The majority goes on; who is cut off answers
// nothing old, but that it is not available; healed, the cluster is whole again.
func TestPartitions(t *testing.T) {
	t.Parallel()
	c, s := formInNamespaces(t, 5)
	h := &history{}
	c.fill(h, 3000)
	random := newRandom(t)
	l := c.startLoad(h, random)
	l.goOn(8)
	kinds := []string{"both ways", "one way", "loss"}
	end := time.Now().Add(torture(t, 0))
	for i := 0; i < len(kinds) || time.Now().Before(end) && !t.Failed(); i++ {
		kind, order := kinds[i%len(kinds)], random.Perm(5)
		machines := make([]*machine, 5)
		for i, n := range order {
			machines[i] = c.machines[n]
		}
		l.mark()
		switch few, most := machines[:2], machines[2:]; kind {
		case "both ways":
			s.rules(slices.Concat(drop(few, most), drop(most, few))...)
			c.cutOff(few, most, l)
		case "one way":
			s.rules(drop(few[:1], machines[1:])...)
			c.cutOff(few[:1], machines[1:], l)
		default:
			s.rules("numgen random mod 100 < 30 drop")
			pass(randomTime(random, 2*failureTimeout, 4*failureTimeout))
		}
		l.log(kind)
		s.rules()
		c.whole(5)
		l.goOn(8)
	}
	l.stop()
	c.mustHold(h)
}

// cutOff waits until the most go on without the few, and until these answer that
// they cannot, or nothing.
func (c *cluster) cutOff(few, most []*machine, l *load) {
	c.t.Helper()
	until(c.t, "the majority goes on", func() error {
		s, err := most[0].status()
		if err != nil {
			return err
		}
		return isWhole(s, len(most))
	})
	l.goOn(8)
	for _, m := range few {
		until(c.t, fmt.Sprintf("machine %d says that it is not available", m.number), func() error {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_, err := m.newPatientClient().Ask(ctx, "ASK { ?s ?p ?o }", client.QueryOptions{})
			e := (*client.Error)(nil)
			switch {
			case err == nil:
				return errors.New("it answers")
			case !errors.As(err, &e): // it knows that it was excluded, and serves no more
				return nil
			case e.Status != http.StatusServiceUnavailable:
				return err
			}
			return nil
		})
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
