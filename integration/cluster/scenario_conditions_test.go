// The conditions of scenarios, which expect and wait name.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// condition returns an error that says what is the case if it does not hold.
type condition struct {
	usage string
	least int
	holds func(p *play, args []string) error
}

var conditions = map[string]condition{
	"data":       {"", 0, func(p *play, _ []string) error { return errors.Join(p.decide(), p.w.has(setOf(p.triples()))) }},
	"complete":   {"MACHINE", 1, func(p *play, a []string) error { return p.machine(a[0]).readsAlone(p.triples()) }},
	"members":    {"NUMBER [of MACHINE]", 1, (*play).members},
	"idle":       {"NUMBER [of MACHINE]", 1, (*play).idle},
	"filling":    {"", 0, func(p *play, _ []string) error { return want(p.w.leader().node.View().Phase, recovery.Fill) }},
	"alone":      {"MACHINE", 1, func(p *play, a []string) error { return want(p.machine(a[0]).node.View() == nil, true) }},
	"serving":    {"MACHINE", 1, func(p *play, a []string) error { return p.machine(a[0]).node.Lease() }},
	"running":    {"", 0, (*play).running},
	"gone":       {"MACHINE", 1, func(p *play, a []string) error { m := p.machine(a[0]); return want(p.w.excluded(m, p.id(m)), true) }},
	"listed":     {"MACHINE", 1, (*play).listed},
	"ended":      {"MACHINE KIND [TEXT...]", 2, (*play).ended},
	"same":       {"MACHINE", 1, func(p *play, a []string) error { m := p.machine(a[0]); return want(m.node.MachineID(), p.ids[m]) }},
	"linked":     {"", 0, (*play).linked},
	"losses":     {"", 0, (*play).losses},
	"excluded":   {"MACHINE", 1, (*play).excluded},
	"returning":  {"NUMBER", 1, (*play).returning},
	"waiting":    {"TEXT...", 1, (*play).waiting},
	"answers":    {"MACHINE... [TEXT...]", 1, (*play).answers},
	"accused":    {"", 0, (*play).accused},
	"full":       {"MACHINE", 1, (*play).full},
	"copies":     {"NUMBER", 1, (*play).copies},
	"lease":      {"DURATION", 1, (*play).lease},
	"generation": {"NUMBER", 1, (*play).generation},
	"empty":      {"MACHINE", 1, func(p *play, a []string) error { return want(p.machine(a[0]).store.Status().Triples, 0) }},
	"replaced":   {"MACHINE MACHINE", 2, (*play).replaced},
	"tombstones": {"none|all", 1, (*play).tombstones},
	"readable":   {"MACHINE", 1, (*play).readable},
	"minority":   {"MACHINE", 1, func(p *play, a []string) error { return want(p.machine(a[0]).node.NoMajority(), true) }},
}

// want returns an error if a value is not the one that is expected.
func want[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("it is %v, not %v", got, want)
	}
	return nil
}

// holds evaluates a condition, with "not" before it the opposite.
func (p *play) holds(args []string) error {
	not := args[0] == "not" && len(args) > 1
	if not {
		args = args[1:]
	}
	c, ok := conditions[args[0]]
	if !ok {
		return fmt.Errorf("unknown condition %q; README.md has the conditions", args[0])
	}
	if len(args)-1 < c.least {
		return fmt.Errorf("want %s %s", args[0], c.usage)
	}
	err := c.holds(p, args[1:])
	if !not {
		return err
	}
	if err == nil {
		return fmt.Errorf("it holds")
	}
	return nil
}

func (p *play) expect(_ context.Context, args []string) error { return p.holds(args) }

// wait evaluates a condition until it holds.
func (p *play) wait(ctx context.Context, args []string) error {
	began := time.Now()
	for {
		err := p.holds(args)
		if err == nil {
			return nil
		}
		if time.Since(began) >= p.limit || ctx.Err() != nil {
			return fmt.Errorf("waited %s: %w", time.Since(began), err)
		}
		sleep(ctx, 20*time.Millisecond) // of virtual time
	}
}

// members: the view of a machine, the leader unless one is named, lists so many members. It is
// the leader's view.
func (p *play) members(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	if len(args) < 3 {
		return want(len(p.w.leader().node.View().Members), n)
	}
	v := p.machine(args[2]).node.View()
	if v == nil {
		return errors.New("it has no view")
	}
	return errors.Join(want(len(v.Members), n), want(v.Epoch, p.w.leader().node.View().Epoch))
}

// idle: the view of a machine, the leader unless one is named, is idle and lists so many members.
func (p *play) idle(args []string) error {
	n, err := strconv.Atoi(args[0])
	name := "leader"
	if len(args) == 3 {
		name = args[2]
	}
	v := p.machine(name).node.View()
	return errors.Join(err, want(v.Phase, recovery.Idle), want(len(v.Members), n))
}

// running: no process has ended by itself.
func (p *play) running([]string) error {
	for _, m := range p.w.up() {
		if err := m.node.Err(); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// listed: the leader's view has the machine at its address.
func (p *play) listed(args []string) error {
	m := p.machine(args[0])
	l := p.w.leader().node.View().Find(p.id(m))
	if l == nil {
		return errors.New("it is no member")
	}
	return want(l.Address, m.address())
}

// ended: the process of a machine ended by itself, with an error of a kind.
func (p *play) ended(args []string) error {
	err := p.machine(args[0]).node.Err()
	if err == nil {
		return errors.New("it runs")
	}
	return p.is(err, args[1], args[2:])
}

// losses: the status shows ranges that may lack rows.
func (p *play) losses([]string) error {
	for _, m := range p.w.up() {
		if m.node.Status().Lost > 0 {
			return nil
		}
	}
	return errors.New("no range is lost")
}

// excluded: the status of each running machine lists a machine as excluded at its address.
func (p *play) excluded(args []string) error {
	m := p.machine(args[0])
	for _, other := range p.w.up() {
		s := other.node.Status()
		if !slices.ContainsFunc(s.Excluded, func(e api.ExcludedMachine) bool { return e.Address == m.address() }) {
			return fmt.Errorf("%s does not list it: %+v", other.name, s.Excluded)
		}
	}
	return nil
}

// waiting: the leader's status shows each text as what the cluster waits for. An empty text
// means that it waits for nothing.
func (p *play) waiting(args []string) error {
	got := p.w.leader().node.Status().Waiting
	for _, text := range args {
		if text = p.text(text); text == "" && got != "" || !strings.Contains(got, text) {
			return fmt.Errorf("it waits for %q", got)
		}
	}
	return nil
}

// returning: a view lists so many members, or more, that have their places again and wait for their
// first lease.
func (p *play) returning(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	most := 0
	for _, m := range p.w.up() {
		waits := 0
		if v := m.node.View(); v != nil {
			for _, member := range v.Members {
				if member.Waits {
					waits++
				}
			}
		}
		most = max(most, waits)
	}
	if most < n {
		return fmt.Errorf("%d members wait for their first lease", most)
	}
	return nil
}

// accused: the leader's status shows a member for which others wait.
func (p *play) accused([]string) error {
	for _, m := range p.w.leader().node.Status().Members {
		if m.Slow > 0 {
			return nil
		}
	}
	return errors.New("nobody is accused")
}

// full: the leader's status shows that the disk of a machine is full.
func (p *play) full(args []string) error {
	id := p.id(p.machine(args[0])).String()
	for _, m := range p.w.leader().node.Status().Members {
		if m.ID == id && strings.Contains(m.Error, "full") {
			return nil
		}
	}
	return errors.New("its disk is not shown as full")
}

// copies: the view and the status of each machine have so many copies.
func (p *play) copies(args []string) error {
	n, err := strconv.Atoi(args[0])
	for _, m := range p.w.up() {
		s := m.node.Status()
		err = errors.Join(err, want(m.node.View().Base.Copies, n), want(s.Copies, n), want(s.Bears, n-1))
	}
	return err
}

// lease: the length of leases in the views.
func (p *play) lease(args []string) error {
	d, err := time.ParseDuration(args[0])
	return errors.Join(err, want(p.w.any().node.View().Lease, d))
}

// generation: each view has the number of a generation, and after a recovery its parent and the
// greater epochs.
func (p *play) generation(args []string) error {
	for _, m := range p.w.up() {
		v := m.node.View()
		if fmt.Sprint(v.Generation) != args[0] || v.Generation > 1 && (v.Epoch < 1<<32 || v.Parent == nil) {
			return fmt.Errorf("%s has generation %d, epoch %d, parent %v", m.name, v.Generation, v.Epoch, v.Parent)
		}
	}
	return nil
}

// replaced: a machine has what another one had when a machine last went down, and nothing else
// moved.
func (p *play) replaced(args []string) error {
	lost, spare := p.id(p.machine(args[0])), p.machine(args[1])
	v := spare.node.View()
	if m := v.Find(spare.node.MachineID()); m == nil || m.State != view.Up {
		return fmt.Errorf("the spare is %+v", m)
	}
	was, is := p.layout.Placement, v.Base.Placement
	for i := range uint32(was.Partitions()) {
		owner := was.PartitionOwner(i)
		if owner == lost {
			owner = spare.node.MachineID()
		}
		if err := want(is.PartitionOwner(i), owner); err != nil {
			return fmt.Errorf("the owner of partition %d: %w", i, err)
		}
	}
	return nil
}

// tombstones: there is none, or all are there that were there after the last delete.
func (p *play) tombstones(args []string) error {
	if args[0] == "all" {
		return want(p.w.tombstones(), p.buried)
	}
	return want(p.w.tombstones(), 0)
}

// readable: a machine answers one of the orders.
func (p *play) readable(args []string) error {
	m := p.machine(args[0])
	var failed error
	for _, o := range triple.Orders[:3] {
		got, err := contentsOf(p.w.t.Context(), m.node, o)
		if err == nil {
			p.w.t.Logf("%s: %d triples", o, len(got))
			return nil
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
