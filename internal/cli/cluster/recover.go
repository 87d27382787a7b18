// The commands for stopped directories of members: recover-majority and set-aside.

package cluster

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cluster/generation"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/trie"
)

// clusterRecoverCmd restores a cluster from the directories of stopped nodes, if it has lost the
// majority of its voters for good.
type clusterRecoverCmd struct {
	Data   string   `required:"" placeholder:"DIR" help:"The data directory of a node that is not running."`
	Show   bool     `help:"Change nothing: show how far this machine was, and who answers."`
	Keep   []string `placeholder:"ID@GENERATION.EPOCH.TERM" help:"Other machines whose data is kept, as --show on each of them says; repeatable."`
	Follow []string `placeholder:"HOST:PORT" help:"This machine is kept by a recovery on another one, which serves there."`
	Ticket string   `placeholder:"T" help:"With --follow: what the recovery on the other machine has printed."`
	Force  bool     `help:"Do it. All machines that are not kept must be off, and must never be started together again."`

	NoneNewer          bool `help:"The machines that are given up acknowledged nothing after this one was cut off or ended. Without it all ranges count as lost if they were a majority."`
	AlthoughTheyAnswer bool `help:"Go on although something answers at the addresses of most members."`
	Overrule           bool `help:"With --follow: although this machine is newer than where the new generation began. All ranges count as lost then."`
}

func (c *clusterRecoverCmd) Run(e *console.Env) error {
	logger := slog.New(slog.NewTextHandler(e.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	switch {
	case c.Show:
		return c.show(e, logger)
	case len(c.Keep) > 0 && len(c.Follow) > 0:
		return console.Usagef("--keep is for the machine that begins the new generation, --follow for the others")
	case !c.Force:
		return console.Usagef("this gives up all machines that are not kept, with what only they held: " +
			"make sure that they are off and stay off, run it with --show on each machine that is left, and on the newest of them with --force")
	case len(c.Follow) > 0:
		return c.follow(e, logger)
	}
	return c.recover(e, logger)
}

// show prints the position of the machine, and the next step.
func (c *clusterRecoverCmd) show(e *console.Env, logger *slog.Logger) error {
	// 1. The machine's own position.
	s, err := generation.Inspect(nil, c.Data, logger)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "machine\t%s of cluster %s\n", s.ID, s.Identity.Cluster)
	fmt.Fprintf(out, "newest view\tgeneration %d, epoch %d, term %d\n", s.Generation, s.Epoch, s.Term)
	fmt.Fprintf(out, "adopted\tgeneration %d, epoch %d\n", s.Seen.Generation, s.Seen.Epoch)
	fmt.Fprintf(out, "to keep it\t--keep %s\n", s.Position)
	if s.View == nil {
		fmt.Fprintf(out, "log\tits raft/ is missing or too old: another machine must begin the new generation, and may keep this one\n")
		return out.Flush()
	}
	// 2. The members of its newest view, because most of them must be off.
	answering := generation.Answering(e.Ctx, nil, s)
	fmt.Fprintln(out, "\nMEMBER\tADDRESS\tSTATE\tNOW")
	for _, m := range s.View.Members {
		now := "does not answer"
		switch {
		case m.ID == s.ID:
			now = "this one"
		case slices.Contains(answering, m):
			now = "something answers there"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", m.ID, m.Address, m.State, now)
	}
	return out.Flush()
}

func (c *clusterRecoverCmd) follow(e *console.Env, logger *slog.Logger) error {
	for _, address := range c.Follow {
		if err := node.CheckAddress(address); err != nil {
			return console.Usagef("--follow %v", err)
		}
	}
	ticket, err := generation.ParseTicket(c.Ticket)
	if err != nil {
		return console.Usagef("--ticket: %v; the recovery on the other machine has printed it", err)
	}
	if err := generation.Follow(generation.Following{Dir: c.Data, Addresses: c.Follow, Ticket: ticket, Overrule: c.Overrule, Logger: logger}); err != nil {
		return err
	}
	e.Sayf("%s follows generation %d: start its node as before", c.Data, ticket.Generation)
	return nil
}

func (c *clusterRecoverCmd) recover(e *console.Env, logger *slog.Logger) error {
	// 1. Parse the positions of the other machines to keep.
	r := generation.Recovery{Dir: c.Data, NoneNewer: c.NoneNewer, AlthoughTheyAnswer: c.AlthoughTheyAnswer, Logger: logger}
	for _, text := range c.Keep {
		p, err := generation.ParsePosition(text)
		if err != nil {
			return console.Usagef("--keep: %v; trefoil cluster recover-majority --show on that machine says it", err)
		}
		r.Keep = append(r.Keep, p)
	}
	// 2. Begin the new generation.
	s, err := generation.Inspect(nil, c.Data, logger)
	if err != nil {
		return err
	}
	for _, p := range append([]generation.Position{s.Position}, r.Keep...) {
		e.Sayf("kept: machine %s, generation %d, epoch %d (term %d)", p.ID, p.Generation, p.Epoch, p.Term)
	}
	v, err := generation.Recover(e.Ctx, r)
	if err != nil {
		return err
	}
	// 3. Print the commands for the other machines.
	self := trie.MachineID(0)
	for _, m := range v.Members {
		if m.ID == s.ID {
			self = m.ID
			e.Sayf("generation %d of cluster %s begins at machine %s: start its node as before, at %s", v.Generation, v.Cluster, m.ID, m.Address)
		}
	}
	for _, m := range v.Members {
		if m.ID != self {
			e.Sayf("on the machine %s, with its data directory:\n  trefoil cluster recover-majority --data DIR --follow %s --ticket %s --force",
				m.ID, v.Find(self).Address, generation.TicketOf(v))
		}
	}
	if len(v.Lost) > 0 {
		e.Sayf("%s may lack rows that only the other machines had, and are lost: see trefoil cluster status, and \"Ranges are lost\" in docs/operations/cluster.md",
			console.Plural(int64(len(v.Lost)), "range"))
	}
	return nil
}

// clusterAsideCmd turns the directory of a stopped member into that of a new machine.
type clusterAsideCmd struct {
	Data  string   `required:"" placeholder:"DIR" help:"The data directory of a node that is not running."`
	Join  []string `required:"" placeholder:"HOST:PORT" help:"Members of the cluster that it is to join then; repeatable."`
	Force bool     `help:"Do it: what the directory holds does not count in the cluster any more."`
}

func (c *clusterAsideCmd) Run(e *console.Env) error {
	for _, address := range c.Join {
		if err := node.CheckAddress(address); err != nil {
			return console.Usagef("--join %v", err)
		}
	}
	if !c.Force {
		return console.Usagef("this gives up what %s holds, as far as the cluster is concerned: make sure that other machines have it "+
			"(trefoil cluster status: idle, no ranges lost), then say --force", c.Data)
	}
	kept, err := directory.SetAside(nil, c.Data, c.Join)
	if err != nil {
		return err
	}
	e.Sayf("what the machine had is in %s; when its node is started it joins %s as a new one", kept, strings.Join(c.Join, ", "))
	return nil
}
