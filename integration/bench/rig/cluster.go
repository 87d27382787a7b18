// Clusters of processes, and the states that they reach.

package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/client"
)

// Nodes says how the nodes of a cluster are started.
type Nodes struct {
	FailureTimeout time.Duration
	IdleTime       time.Duration // a cluster whose view does not change for this time is at rest
	Logs           string        // directory for the logs of the nodes; "" for none
	Flags          []string      // more flags of `trefoil serve`
}

// Cluster is the nodes of one cluster, or one node alone.
type Cluster struct {
	Machines []*Machine
	rig      *Rig
	nodes    Nodes
	dir      string
}

// Machine is one node: its directory, address and process.
type Machine struct {
	Dir     string
	Address string // host:port
	Client  *client.Client
	Process *Process
	killed  bool
}

// waitLimit bounds the time until a cluster reaches a state.
const waitLimit = 10 * time.Minute

// Form starts n nodes and waits until they are a cluster. The caller must close it.
func (r *Rig) Form(ctx context.Context, o Nodes, n int) (_ *Cluster, err error) {
	c := &Cluster{rig: r, nodes: o}
	if c.dir, err = os.MkdirTemp(r.Dir, "cluster-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if err := c.Grow(ctx, 1); err != nil {
		return nil, err
	}
	if err := c.Grow(ctx, n-1); err != nil {
		return nil, err
	}
	return c, c.WaitComplete(ctx)
}

// Grow starts more nodes, which join the others, and waits until they serve.
func (c *Cluster) Grow(ctx context.Context, by int) error {
	var started []*Machine
	for range by {
		m := &Machine{Dir: filepath.Join(c.dir, fmt.Sprintf("node%d", len(c.Machines)+len(started)+1)), Address: "127.0.0.1:0"}
		if err := c.start(ctx, m); err != nil {
			return err
		}
		started = append(started, m)
	}
	c.Machines = append(c.Machines, started...)
	for _, m := range started {
		if err := c.ready(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// start starts the process of a machine. It joins through the live ones.
func (c *Cluster) start(ctx context.Context, m *Machine) (err error) {
	args := append([]string{"--data", m.Dir, "--listen", m.Address, "--failure-timeout", c.nodes.FailureTimeout.String()}, c.nodes.Flags...)
	for _, other := range c.Live() {
		if other != m {
			args = append(args, "--join", other.Address)
		}
	}
	log, err := c.log(m)
	if err == nil {
		m.Process, err = c.rig.Serve(ctx, log, args...)
	}
	return err
}

// log opens the file for a node's log, nil if logs are not kept.
func (c *Cluster) log(m *Machine) (io.WriteCloser, error) {
	if c.nodes.Logs == "" {
		return nil, nil
	}
	name := filepath.Base(c.dir) + "-" + filepath.Base(m.Dir) + ".log"
	return os.OpenFile(filepath.Join(c.nodes.Logs, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

func (c *Cluster) ready(ctx context.Context, m *Machine) (err error) {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	if m.Address, err = m.Process.Address(ctx); err != nil {
		return err
	}
	m.killed = false
	if m.Client == nil {
		m.Client, err = client.New(m.URL(), client.Options{Retries: -1})
	}
	return err
}

// URL returns the address of a node as a URL.
func (m *Machine) URL() string { return "http://" + m.Address }

// Live returns the machines that were not killed.
func (c *Cluster) Live() (live []*Machine) {
	for _, m := range c.Machines {
		if !m.killed {
			live = append(live, m)
		}
	}
	return live
}

// URLs returns the URLs of the live machines.
func (c *Cluster) URLs() (urls []string) {
	for _, m := range c.Live() {
		urls = append(urls, m.URL())
	}
	return urls
}

// Kill ends nodes at once, as a loss of power would.
func (c *Cluster) Kill(machines ...*Machine) {
	var group sync.WaitGroup
	for _, m := range machines {
		m.killed = true
		group.Go(m.Process.Kill)
	}
	group.Wait()
}

// Restart starts a killed node at the same address with the data on its disk, and waits until
// it serves.
func (c *Cluster) Restart(ctx context.Context, m *Machine) error {
	if err := c.start(ctx, m); err != nil {
		return err
	}
	return c.ready(ctx, m)
}

// Close kills all nodes and removes their data.
func (c *Cluster) Close() {
	for _, m := range c.Machines {
		if m.Client != nil {
			m.Client.Close()
		}
	}
	c.Kill(slices.DeleteFunc(slices.Clone(c.Machines), func(m *Machine) bool { return m.Process == nil })...)
	_ = os.RemoveAll(c.dir) // remains do no harm
}

// status returns the status of the cluster, from the first node that answers.
func (c *Cluster) status(ctx context.Context) (s client.Status, err error) {
	err = errors.New("no node is left")
	for _, m := range c.Live() {
		timed, cancel := context.WithTimeout(ctx, 2*time.Second)
		s, err = m.Client.Status(timed)
		cancel()
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return s, err
}

// WaitStatus requests the status every 100 ms until ok accepts it.
func (c *Cluster) WaitStatus(ctx context.Context, what string, ok func(client.Status) bool) (s client.Status, err error) {
	err = WaitFor(ctx, 100*time.Millisecond, func(ctx context.Context) (err error) {
		if s, err = c.status(ctx); err == nil && !ok(s) {
			text, _ := json.Marshal(s)
			err = fmt.Errorf("waited for this: %s (%s)", what, text)
		}
		return err
	})
	return s, err
}

// WaitComplete waits until all live nodes are members and no copy is missing.
func (c *Cluster) WaitComplete(ctx context.Context) error {
	n := len(c.Live())
	_, err := c.WaitStatus(ctx, fmt.Sprintf("%d nodes with all copies", n), func(s client.Status) bool { return IsWhole(s, n) })
	return err
}

// IsWhole reports whether n members are up, with all copies.
func IsWhole(s client.Status, n int) bool {
	return len(s.Members) == n && s.Rebuilding == 0 && (s.Phase == "idle" || s.Phase == "") &&
		!slices.ContainsFunc(s.Members, func(m client.Member) bool { return m.State != "up" || m.Lag > 0 })
}

const (
	// restInterval is the time between two readings of the nodes' processor time.
	restInterval = 2 * time.Second
	// restCores is the most processor time that nodes at rest may use together.
	restCores = 0.4
)

// Rest waits until the cluster is whole and its view has not changed for a while, because
// segments may still be split, and until compactions are over.
func (c *Cluster) Rest(ctx context.Context) (client.Status, error) { return c.Calm(ctx, restCores) }

// Calm is Rest for nodes that clients keep busy: together they may use a number of cores.
func (c *Cluster) Calm(ctx context.Context, cores float64) (client.Status, error) {
	n := len(c.Live())
	epoch, since := uint64(0), time.Now()
	used, readAt := c.CPU(nil), time.Now()
	return c.WaitStatus(ctx, fmt.Sprintf("%d nodes at rest", n), func(s client.Status) bool {
		if s.Epoch != epoch || !IsWhole(s, n) || s.Waiting != "" {
			epoch, since = s.Epoch, time.Now()
		}
		if passed := time.Since(readAt); passed >= restInterval {
			total := c.CPU(nil)
			if (total - used).Seconds() > cores*passed.Seconds() {
				since = time.Now()
			}
			used, readAt = total, time.Now()
		}
		return time.Since(since) >= c.nodes.IdleTime
	})
}

// Leader returns the machine that leads, and the other one that owns the most segments. With little
// data a machine may own none, and then its loss would cause no work.
func (c *Cluster) Leader(ctx context.Context) (leader, other *Machine, err error) {
	s, err := c.WaitStatus(ctx, "a leader", func(s client.Status) bool { return s.Leader != "" })
	if err != nil {
		return nil, nil, err
	}
	owned := -1
	for _, member := range s.Members {
		i := slices.IndexFunc(c.Machines, func(m *Machine) bool { return m.Address == member.Address })
		switch {
		case i < 0:
			return nil, nil, fmt.Errorf("a member at %s, which was not started", member.Address)
		case member.ID == s.Leader:
			leader = c.Machines[i]
		case member.Segments > owned:
			other, owned = c.Machines[i], member.Segments
		}
	}
	if leader == nil || other == nil {
		return nil, nil, fmt.Errorf("machine %s leads and is no member, or there is no other", s.Leader)
	}
	return leader, other, nil
}

// CPU returns the processor time of all live nodes but one.
func (c *Cluster) CPU(but *Machine) (total time.Duration) {
	for _, m := range c.Live() {
		if m != but {
			total += m.Process.CPU()
		}
	}
	return total
}

// Size returns the bytes of all files of the cluster.
func (c *Cluster) Size() (int64, error) { return DirSize(c.dir) }

// EventsSince returns the events in the logs of all live nodes from a time on.
func (c *Cluster) EventsSince(at time.Time) (events []Event) {
	for _, m := range c.Live() {
		events = append(events, m.Process.EventsSince(at)...)
	}
	return events
}
