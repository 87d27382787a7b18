package main

// This file forms clusters of processes, and waits for what becomes of them.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/client"
)

// cluster is nodes of one cluster, or one node that is alone.
type cluster struct {
	b        *bench
	dir      string
	machines []*machine
}

// machine is one node's directory, address and process.
type machine struct {
	dir     string
	address string // host:port
	process *process
	dead    bool
	client  *client.Client
}

// patience bounds how long a cluster may take to get somewhere.
const patience = 10 * time.Minute

// form starts n nodes and waits until they are a cluster. The caller closes it,
// which also removes its data.
func (b *bench) form(ctx context.Context, n int) (_ *cluster, err error) {
	c := &cluster{b: b}
	if c.dir, err = os.MkdirTemp(b.dir, "cluster-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if err := c.grow(ctx, 1); err != nil {
		return nil, err
	}
	if n > 1 {
		if err := c.grow(ctx, n-1); err != nil {
			return nil, err
		}
	}
	return c, c.whole(ctx)
}

// grow starts more nodes, which join those that there are. It returns when they
// serve.
func (c *cluster) grow(ctx context.Context, by int) error {
	var started []*machine
	for range by {
		m := &machine{dir: filepath.Join(c.dir, fmt.Sprintf("node%d", len(c.machines)+len(started)+1)), address: "127.0.0.1:0"}
		if err := c.start(ctx, m); err != nil {
			return err
		}
		started = append(started, m)
	}
	c.machines = append(c.machines, started...)
	for _, m := range started {
		if err := c.ready(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// start starts the process of a machine. It finds the others by those that live.
func (c *cluster) start(ctx context.Context, m *machine) (err error) {
	words := []string{c.b.trefoil, "serve", "--data", m.dir, "--listen", m.address, "--failure-timeout", c.b.timeout.String()}
	for _, other := range c.live() {
		if other != m {
			words = append(words, "--join", other.address)
		}
	}
	log, err := c.log(m)
	if err == nil {
		m.process, err = start(ctx, log, words...)
	}
	return err
}

// log opens the file that a node's log is kept in, where any is.
func (c *cluster) log(m *machine) (io.WriteCloser, error) {
	if c.b.logs == "" {
		return nil, nil
	}
	name := filepath.Base(c.dir) + "-" + filepath.Base(m.dir) + ".log"
	return os.OpenFile(filepath.Join(c.b.logs, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

func (c *cluster) ready(ctx context.Context, m *machine) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if m.address, err = m.process.serves(ctx); err != nil {
		return err
	}
	m.dead = false
	if m.client == nil {
		m.client, err = client.New(m.url(), client.Options{Retries: -1})
	}
	return err
}

func (m *machine) url() string { return "http://" + m.address }

// live returns the machines that were not killed.
func (c *cluster) live() (live []*machine) {
	for _, m := range c.machines {
		if !m.dead {
			live = append(live, m)
		}
	}
	return live
}

// kill ends a node as a loss of power would.
func (c *cluster) kill(m *machine) {
	m.dead = true
	m.process.kill()
}

// restart starts a node that was killed, at the same address with what is on its
// disk, and waits until it serves.
func (c *cluster) restart(ctx context.Context, m *machine) error {
	if err := c.start(ctx, m); err != nil {
		return err
	}
	return c.ready(ctx, m)
}

// close kills all nodes and removes their data.
func (c *cluster) close() {
	var group sync.WaitGroup
	for _, m := range c.machines {
		if m.process != nil {
			group.Go(m.process.kill)
		}
		if m.client != nil {
			m.client.Close()
		}
	}
	group.Wait()
	_ = os.RemoveAll(c.dir) // what is left is in the way of nobody
}

// status is that of the cluster, from the first node that answers.
func (c *cluster) status(ctx context.Context) (s client.Status, err error) {
	err = errors.New("no node is left")
	for _, m := range c.live() {
		timed, cancel := context.WithTimeout(ctx, 2*time.Second)
		s, err = m.client.Status(timed)
		cancel()
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return s, err
}

// until asks for the status every 100 ms until it is as it is to be.
func (c *cluster) until(ctx context.Context, what string, so func(client.Status) bool) (client.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		s, err := c.status(ctx)
		if err == nil && so(s) {
			return s, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			text, _ := json.Marshal(s)
			return s, fmt.Errorf("waited for this: %s: %w (%s)", what, errors.Join(ctx.Err(), err), text)
		}
	}
}

// whole waits until all live nodes are members, and no copies are to be made.
func (c *cluster) whole(ctx context.Context) error {
	n := len(c.live())
	_, err := c.until(ctx, fmt.Sprintf("%d nodes with all copies", n), func(s client.Status) bool { return isWhole(s, n) })
	return err
}

func isWhole(s client.Status, n int) bool {
	return len(s.Members) == n && s.Rebuilding == 0 && (s.Phase == "idle" || s.Phase == "") &&
		!slices.ContainsFunc(s.Members, func(m client.Member) bool { return m.State != "up" || m.Lag > 0 })
}

const (
	// restEvery is how often it is looked at whether nodes are busy.
	restEvery = 2 * time.Second
	// restCores is how much processor time nodes at rest may use together.
	restCores = 0.4
)

// rest waits until the cluster is whole, its view has not changed for a while, as
// segments are looked at for splits from time to time, and compactions are over.
func (c *cluster) rest(ctx context.Context) (client.Status, error) { return c.calm(ctx, restCores) }

// calm is rest for nodes that clients keep busy: they may use so much processor time.
func (c *cluster) calm(ctx context.Context, cores float64) (client.Status, error) {
	n := len(c.live())
	epoch, since := uint64(0), time.Now()
	used, looked := c.cpu(nil), time.Now()
	return c.until(ctx, fmt.Sprintf("%d nodes at rest", n), func(s client.Status) bool {
		if s.Epoch != epoch || !isWhole(s, n) || s.Waiting != "" {
			epoch, since = s.Epoch, time.Now()
		}
		if passed := time.Since(looked); passed >= restEvery {
			now := c.cpu(nil)
			if (now - used).Seconds() > cores*passed.Seconds() {
				since = time.Now()
			}
			used, looked = now, time.Now()
		}
		return time.Since(since) >= c.b.settle
	})
}

// leader returns the machine that leads, and one that does not.
func (c *cluster) leader(ctx context.Context) (leader, other *machine, err error) {
	s, err := c.until(ctx, "a leader", func(s client.Status) bool { return s.Leader != "" })
	if err != nil {
		return nil, nil, err
	}
	for _, member := range s.Members {
		i := slices.IndexFunc(c.machines, func(m *machine) bool { return m.address == member.Address })
		switch {
		case i < 0:
			return nil, nil, fmt.Errorf("a member at %s, which nobody started", member.Address)
		case member.ID == s.Leader:
			leader = c.machines[i]
		default:
			other = c.machines[i]
		}
	}
	if leader == nil || other == nil {
		return nil, nil, fmt.Errorf("machine %s leads and is no member, or there is no other", s.Leader)
	}
	return leader, other, nil
}

// loaded is what a load did.
type loaded struct {
	Read int64
	took time.Duration
}

// load sends a file to a node in bulk, by `trefoil load`.
func (c *cluster) load(ctx context.Context, file string) (l loaded, err error) {
	return c.b.loadBy(ctx, file, "--to", c.machines[0].url())
}

// loadBy runs `trefoil load` with more words on its line.
func (b *bench) loadBy(ctx context.Context, file string, words ...string) (l loaded, err error) {
	begun := time.Now()
	out, err := command(ctx, append([]string{b.trefoil, "load", "--json", file}, words...)...).Output()
	if err != nil {
		return l, fmt.Errorf("trefoil load: %w%s", err, stderrOf(err))
	}
	l.took = time.Since(begun)
	if err := json.Unmarshal(out, &l); err != nil {
		return l, fmt.Errorf("summary of trefoil load: %w", err)
	}
	return l, nil
}

// size returns the bytes of all files of the cluster.
func (c *cluster) size() (int64, error) { return dirSize(c.dir) }

// dirSize returns the bytes of the files below dir, some of which may go away
// meanwhile.
func dirSize(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				total += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return total, err
}
