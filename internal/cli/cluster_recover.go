package cli

import (
	"log/slog"
	"strings"

	"github.com/trefoildb/trefoil/node/cluster"
	"github.com/trefoildb/trefoil/trie"
)

// clusterRecoverCmd restores a cluster that has lost the majority of its voters for
// good, from the directory of a stopped node.
type clusterRecoverCmd struct {
	Data   string   `required:"" placeholder:"DIR" help:"The data directory of a node that is not running."`
	Keep   []string `placeholder:"MACHINE" help:"IDs of other machines whose data is kept; run the command with --follow on each of them."`
	Follow []string `placeholder:"HOST:PORT" help:"This machine is kept by a recovery on another one, which serves there."`
	Force  bool     `help:"Do it. All machines that are not kept must be off, and must never be started together again."`
}

func (c *clusterRecoverCmd) Run(e *env) error {
	if len(c.Keep) > 0 && len(c.Follow) > 0 {
		return usagef("--keep is for the machine that begins the new generation, --follow for the others")
	}
	if !c.Force {
		return usagef("this gives up all machines that are not kept, with what only they held: " +
			"make sure that they are off and stay off, then say --force")
	}
	logger := slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if len(c.Follow) > 0 {
		for _, address := range c.Follow {
			if err := checkHostPort("--follow", address); err != nil {
				return err
			}
		}
		if err := cluster.Follow(nil, c.Data, c.Follow, logger); err != nil {
			return err
		}
		e.sayf("%s follows the new generation: start its node as before", c.Data)
		return nil
	}
	var keep []trie.MachineID
	for _, text := range c.Keep {
		id, err := trie.ParseMachineID(text)
		if err != nil {
			return usagef("--keep %q: it is the ID of a machine, as trefoil cluster status shows it", text)
		}
		keep = append(keep, id)
	}
	v, err := cluster.RecoverMajority(nil, c.Data, keep, logger)
	if err != nil {
		return err
	}
	var members []string
	for _, m := range v.Members {
		members = append(members, m.ID.String()+" at "+m.Address)
	}
	e.sayf("generation %d of cluster %s has %s: start the node as before", v.Generation, v.Cluster, strings.Join(members, ", "))
	if len(v.Lost) > 0 {
		e.sayf("%d ranges may lack rows that only the other machines had: see trefoil cluster status", len(v.Lost))
	}
	return nil
}
