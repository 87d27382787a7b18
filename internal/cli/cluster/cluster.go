// Package cluster has trefoil status, cluster and cert: the state of a store or a cluster, and changes of members.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
)

// Cmd shows a cluster, and changes its members.
type Cmd struct {
	Status   clusterStatusCmd   `cmd:"" help:"Show the members of a cluster, what they hold and what is going on."`
	Activity clusterActivityCmd `cmd:"" help:"Show what each machine does and uses: requests, queries, rows, processors, memory."`
	Where    clusterWhereCmd    `cmd:"" help:"Show which machines have which version of a triple, and why."`
	Leave    clusterLeaveCmd    `cmd:"" help:"Have a machine hand over what it holds, and then be a member no more."`
	Remove   clusterRemoveCmd   `cmd:"" help:"Give up a machine that will not come back: its rows are copied again from other machines, and the status does not list it any more."`

	Set             clusterSetCmd     `cmd:"" help:"Change what a cluster has agreed on."`
	AcceptLoss      clusterAcceptCmd  `cmd:"" help:"Read what is left of lost ranges as if it were all."`
	SetAside        clusterAsideCmd   `cmd:"" help:"Give up what a stopped machine has, and have it join as a new one."`
	RecoverMajority clusterRecoverCmd `cmd:"" help:"Go on without most of the voters, after they were lost for good."`
}

type clusterStatusCmd struct {
	target.ServerFlags
	Watch bool          `short:"w" help:"Go on: redraw on a terminal, elsewhere write a line when something changes."`
	Every time.Duration `default:"1s" hidden:""`
	JSON  bool          `help:"Print JSON, with --watch a line each time."`
}

func (c *clusterStatusCmd) Run(e *console.Env) (err error) {
	options := client.Options{}
	if c.Watch {
		options.Retries = -1 // the loop itself repeats the request
	}
	r, err := c.Dial(e, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	s, err := r.Status(e.Ctx)
	if err == nil && c.Watch {
		return c.watch(e, r, s)
	}
	return console.Print(e, c.JSON, s, err, printCluster)
}

// watch shows the status again and again until it is interrupted. If a node does not answer, the
// error is shown, and the request is repeated.
func (c *clusterStatusCmd) watch(e *console.Env, r *client.Client, s client.Status) error {
	ticker := time.NewTicker(max(c.Every, time.Millisecond))
	defer ticker.Stop()
	out := console.NewFrames(e.Stdout)
	for err := error(nil); ; {
		if shown := c.show(e, out, s, err); shown != nil {
			return shown
		}
		select {
		case <-e.Ctx.Done():
			return nil
		case <-ticker.C:
		}
		if s, err = r.Status(e.Ctx); err != nil && e.Ctx.Err() != nil {
			return nil
		}
	}
}

// show shows a status, or the error if there is none.
func (c *clusterStatusCmd) show(e *console.Env, out *console.Frames, s client.Status, err error) error {
	switch {
	case err != nil && c.JSON:
		e.Sayf("%v", err)
		return nil
	case err != nil:
		return out.Show(err.Error()+"\n", err.Error())
	case c.JSON:
		return e.PrintJSON(s)
	}
	var whole strings.Builder
	if err := printCluster(&whole, s); err != nil {
		return err
	}
	return out.Show(whole.String(), clusterLine(s))
}

type clusterLeaveCmd struct {
	target.ServerFlags
	Machine string `arg:"" optional:"" help:"Its ID, the beginning of that, or its address; by default the node that is asked."`
}

func (c *clusterLeaveCmd) Run(e *console.Env) error {
	return changeMember(e, &c.ServerFlags, c.Machine, func(ctx context.Context, to *client.Client, m client.Member) error {
		if _, err := to.Admin.Leave(ctx, m.ID); err != nil {
			return err
		}
		e.Sayf("%s hands over what it holds; trefoil cluster status --watch tells how far it is", orThis(m))
		return nil
	})
}

type clusterRemoveCmd struct {
	target.ServerFlags
	Machine string `arg:"" help:"Its ID, the beginning of that, or its address."`
	Force   bool   `help:"Ask for it though the machine is not down: it is given up when its process ends."`
}

func (c *clusterRemoveCmd) Run(e *console.Env) error {
	return changeMember(e, &c.ServerFlags, c.Machine, func(ctx context.Context, to *client.Client, m client.Member) error {
		if m.State != "down" && m.State != stateExcluded && !c.Force {
			return console.WithHint(fmt.Errorf("machine %s is %s: it would be given up with what it holds", m.ID, m.State),
				"trefoil cluster leave lets it hand over first; with --force it is given up as soon as its process ends.")
		}
		if _, err := to.Admin.Remove(ctx, m.ID); err != nil {
			return err
		}
		if m.State == stateExcluded {
			e.Sayf("%s is not expected back any more", orThis(m))
			return nil
		}
		e.Sayf("%s is given up; trefoil cluster status --watch tells how far its copies are made anew", orThis(m))
		return nil
	})
}

type clusterAcceptCmd struct {
	target.ServerFlags
	Force bool `help:"Do it: queries will not say any more that rows are missing."`
}

func (c *clusterAcceptCmd) Run(e *console.Env) error {
	if !c.Force {
		return console.Usagef("rows of lost ranges that are gone will be missing from answers without a word: load them again, then say --force")
	}
	return changeMember(e, &c.ServerFlags, "", func(ctx context.Context, to *client.Client, _ client.Member) error {
		before, err := to.Status(ctx)
		if err != nil {
			return err
		}
		if before.Cluster != "" && before.Lost == 0 {
			e.Sayf("nothing is lost: there is nothing to accept")
			return nil
		}
		if _, err := to.Admin.AcceptLoss(ctx); err != nil {
			return err
		}
		e.Sayf("%s that had been lost: what is there counts as all", console.Plural(int64(before.Lost), "range"))
		return nil
	})
}

type clusterSetCmd struct {
	Copies clusterCopiesCmd `cmd:"" help:"Change how many machines hold each triple."`
}

type clusterCopiesCmd struct {
	target.ServerFlags
	Copies int `arg:"" name:"n" help:"How many machines hold each triple: 2 to 5."`
}

func (c *clusterCopiesCmd) Run(e *console.Env) error {
	if err := view.CheckCopies(c.Copies); err != nil {
		return console.Usagef("%v", err)
	}
	return changeMember(e, &c.ServerFlags, "", func(ctx context.Context, to *client.Client, _ client.Member) error {
		s, err := to.Admin.SetCopies(ctx, c.Copies)
		if err != nil {
			return err
		}
		e.Sayf("each triple gets %d copies; trefoil cluster status --watch shows how far they are", c.Copies)
		if n := len(s.Members); n < c.Copies {
			e.Sayf("the cluster has %s: until it has %d, each triple is on all of them", console.Plural(int64(n), "member"), c.Copies)
		}
		return nil
	})
}

func orThis(m client.Member) string {
	if m.ID == "" {
		return "the node"
	}
	return strings.TrimSpace(m.ID + " " + m.Address)
}

// changeMember calls do with the member named by an argument. If the argument is "", do gets the
// zero Member, for the node of the flags.
func changeMember(e *console.Env, s *target.ServerFlags, machine string, do func(context.Context, *client.Client, client.Member) error) error {
	return s.Request(e, func(to *client.Client) error {
		var m client.Member
		if machine != "" {
			status, err := to.Status(e.Ctx)
			if err != nil {
				return err
			}
			if status.Cluster == "" {
				return fmt.Errorf("the node at %s is not part of a cluster", s.URL())
			}
			if m, err = findMember(withExcluded(status), machine); err != nil {
				return err
			}
		}
		return do(e.Ctx, to, m)
	})
}

// withExcluded returns the members and, behind them, the excluded machines.
func withExcluded(s client.Status) []client.Member {
	all := slices.Clip(s.Members)
	for _, x := range s.Excluded {
		all = append(all, client.Member{ID: x.ID, Address: x.Address, State: stateExcluded})
	}
	return all
}

// findMember returns the member with an ID, an address, or an ID with this prefix. The prefix must
// be unique.
func findMember(members []client.Member, text string) (client.Member, error) {
	var found []client.Member
	for _, m := range members {
		if m.ID == text || m.Address == text {
			return m, nil
		}
		if strings.HasPrefix(m.ID, text) {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return client.Member{}, console.Usagef("%s is no member; trefoil cluster status lists them", text)
	}
	return client.Member{}, console.Usagef("the IDs of %d members begin with %s", len(found), text)
}

// maxLostRanges is the number of lost ranges listed for people.
const maxLostRanges = 20

// printCluster writes a cluster's status for people. Lines that do not apply are left out.
func printCluster(w io.Writer, s client.Status) error {
	// 1. The cluster as a whole.
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(out, name+"\t"+format+"\n", args...) }
	// A lone node has a status too, but neither a generation nor an isolation; nor has one that joins.
	switch {
	case s.Cluster == "":
		row("cluster", "none: the node is alone")
	case s.Generation == 0:
		row("cluster", "%s, not a member yet", s.Cluster)
	default:
		row("cluster", "%s, generation %d", s.Cluster, s.Generation)
		row("isolation", "%s", store.IsolationTriple.Explain())
	}
	row("epoch", "%s", strings.TrimRight(console.Number(int64(s.Epoch))+", "+s.Phase, ", "))
	// Optional rows appear only when set, so a healthy status is short.
	if s.Protocol != "" {
		row("protocol", "%s", protocolText(s))
	}
	if s.Waiting != "" {
		row("waiting", "%s", s.Waiting)
	}
	if s.NoMajority {
		row("majority", "none: this node answers reads by itself and refuses writes")
	}
	if s.Copies > 0 {
		row("copies", "%s of each triple; bears the loss of %s more", copiesText(s), console.Plural(int64(s.Bears), "machine"))
	}
	if down := downMembers(s); len(down) > 0 {
		row("missing", "%s: %s", console.Plural(int64(len(down)), "machine"), strings.Join(down, ", "))
	}
	if len(s.Missing) > 0 {
		row("rebuilt", "the copies of %s: %s", console.Plural(int64(len(s.Missing)), "machine"), strings.Join(s.Missing, ", "))
	}
	if n := len(s.Excluded); n > 0 {
		row("excluded", "%s, listed below: start what will come back, and give up the rest (trefoil cluster remove)", console.Plural(int64(n), "machine"))
	}
	row("segments", "%s", segmentsText(s))
	row("lost", "%s", console.Plural(int64(s.Lost), "range"))
	row("triples", "%s", countText(s.Triples, s))
	if s.Scrub != nil {
		row("scrub", "%s", scrubText(*s.Scrub))
	}
	if s.Error != "" {
		row("no writes", "%s", s.Error)
	}
	for _, f := range s.Stalled {
		row("stalled", "%s", stalledText(f))
	}
	// 2. The lost ranges, up to a limit.
	for i, l := range s.LostRanges {
		if i == maxLostRanges {
			row("", "and %s more; --json lists them", console.Number(int64(len(s.LostRanges)-i)))
			break
		}
		row("", "%s from %s until %s, since epoch %d", l.Order, console.OrElse(l.From, "its beginning"), console.OrElse(l.Until, "its end"), l.Epoch)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	// 3. The members, one a line.
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nMACHINE\tADDRESS\tSTATE\tROLE\tSEGMENTS\tCOPIES\tTABLES\tVERSION\t")
	for _, m := range s.Members {
		cells := []string{m.ID, m.Address, m.State, role(m, s.Leader), console.Number(int64(m.Segments)), console.Number(m.Copies), console.Size(m.Bytes), versionText(m), remarks(m)}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	for _, x := range s.Excluded {
		fmt.Fprintln(table, strings.Join([]string{x.ID, x.Address, stateExcluded, "-", "-", "-", "-", "-", fmt.Sprintf("%s, since epoch %d", x.Why, x.Epoch)}, "\t"))
	}
	return table.Flush()
}

// stateExcluded is the state of a machine that is no member any more, for people.
const stateExcluded = "excluded"

// copiesText returns how many copies of each triple there are, and how many there must be if they are fewer.
func copiesText(s client.Status) string {
	if s.StoredCopies == 0 || s.StoredCopies >= s.Copies {
		return fmt.Sprint(s.Copies)
	}
	return fmt.Sprintf("%d of %d", s.StoredCopies, s.Copies)
}

// downMembers returns the addresses of the members that are down.
func downMembers(s client.Status) (down []string) {
	for _, m := range s.Members {
		if m.State == "down" {
			down = append(down, m.Address)
		}
	}
	return down
}

// segmentsText returns how many segments there are, and of how many copies are being made. They are
// rebuilt if a machine is missing or rows are lost; otherwise they move to other machines, as after a join.
func segmentsText(s client.Status) string {
	verb := "rebuilding"
	if s.Lost == 0 && len(downMembers(s))+len(s.Missing)+len(s.Excluded) == 0 && s.Rebuilding > 0 {
		verb = "moving to their machines"
	}
	return fmt.Sprintf("%s; %s %s", console.Number(int64(s.Segments)), console.Number(int64(s.Rebuilding)), verb)
}

// protocolText returns the cluster's version of the protocol, and the number of members with a
// newer one.
func protocolText(s client.Status) string {
	newer := 0
	for _, m := range s.Members {
		if m.Protocol != s.Protocol {
			newer++
		}
	}
	if newer == 0 {
		return s.Protocol
	}
	return fmt.Sprintf("%s; %d of %s have a newer one", s.Protocol, newer, console.Plural(int64(len(s.Members)), "member"))
}

func versionText(m client.Member) string {
	if m.Protocol == "" {
		return "-"
	}
	return strings.TrimLeft(m.Version+", protocol "+m.Protocol, ", ")
}

func scrubText(s client.Scrub) string {
	text := console.Plural(s.Rows, "row") + " compared " + console.Seconds(time.Duration(s.Age*float64(time.Second))) + " ago"
	if s.Passes == 0 {
		text = "none came to its end"
	}
	text += fmt.Sprintf("; %s, %s repaired", console.Plural(s.Differences, "difference"), console.Number(s.Repaired))
	if s.Left > 0 {
		text += ", " + console.Number(s.Left) + " left"
	}
	if s.Error != "" {
		text += "; the last one ended early: " + s.Error
	}
	return text
}

func role(m client.Member, leader string) string {
	switch {
	case m.ID == leader:
		return "leader"
	case m.Voter:
		return "voter"
	}
	return "-"
}

// remarks returns the unusual facts about a member.
func remarks(m client.Member) string {
	var all []string
	if m.Walk != nil {
		all = append(all, walkText(*m.Walk))
	}
	if m.Lag > 0 {
		all = append(all, console.Plural(int64(m.Lag), "epoch")+" behind")
	}
	if m.Slow > 0 {
		all = append(all, "does not answer "+console.Plural(int64(m.Slow), "member"))
	}
	if m.Damaged {
		all = append(all, "its disk is damaged")
	}
	if m.Error != "" {
		all = append(all, m.Error)
	}
	return strings.Join(all, "; ")
}

func walkText(w client.Walk) string {
	text := console.Plural(w.Rows, "row") + " backfilled"
	if all := w.Rows + w.Left; w.Left > 0 {
		text = fmt.Sprintf("%d%% of %s backfilled", w.Rows*100/all, console.Plural(all, "row"))
	}
	text += ", " + console.Number(w.Repaired) + " repaired"
	if w.Damaged > 0 {
		text += ", " + console.Number(w.Damaged) + " damaged"
	}
	if w.ETA > 0 {
		text += ", " + console.Seconds(time.Duration(w.ETA*float64(time.Second))) + " left"
	}
	return text
}

// clusterLine returns a status in one line.
func clusterLine(s client.Status) string {
	// 1. Count the states, and sum the backfills.
	states := map[string]int{}
	var names []string
	var walk client.Walk
	for _, m := range withExcluded(s) {
		if states[m.State]++; states[m.State] == 1 {
			names = append(names, m.State)
		}
		if w := m.Walk; w != nil {
			walk.Rows, walk.Repaired, walk.Left = walk.Rows+w.Rows, walk.Repaired+w.Repaired, walk.Left+w.Left
			walk.ETA = max(walk.ETA, w.ETA)
		}
	}
	// 2. Write the counts in the order of the names, because a line must not change without a
	// reason.
	slices.Sort(names)
	var members []string
	for _, name := range names {
		members = append(members, fmt.Sprintf("%d %s", states[name], name))
	}
	text := strings.TrimSpace(fmt.Sprintf("epoch %d %s", s.Epoch, s.Phase)) +
		fmt.Sprintf(": %s; %s, %d rebuilding, %d lost", strings.Join(members, ", "), console.Plural(int64(s.Segments), "segment"), s.Rebuilding, s.Lost)
	if walk != (client.Walk{}) {
		text += "; " + walkText(walk)
	}
	if s.Waiting != "" {
		text += "; waiting: " + s.Waiting
	}
	return text
}
