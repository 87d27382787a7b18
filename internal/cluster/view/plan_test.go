// Tests of the leader's decisions.

package view

import (
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/trie"
)

// planning is one question to Plan: a view, with all well, until a test says what
// is not.
type planning struct {
	t       *testing.T
	v       *View
	reports map[trie.MachineID]Report
	wishes  Wishes
	options PlanOptions
}

// hold sets the bytes of the members: the first one has its own number, all others most.
func (p *planning) hold(most, first int64) {
	for i, m := range p.v.Members {
		p.set(m.ID, func(r *Report) { r.Bytes = most })
		if i == 0 {
			p.set(m.ID, func(r *Report) { r.Bytes = first })
		}
	}
}

func ask(t *testing.T, v *View) *planning {
	p := &planning{t: t, v: v, reports: map[trie.MachineID]Report{}, options: PlanOptions{Self: 1}}
	for _, m := range v.Members {
		p.reports[m.ID] = Report{
			Incarnation: m.Incarnation, Address: m.Address, Epoch: v.Epoch, MayHoldLease: !m.Waits,
			Walked: true, Swept: true, Reconciled: true, DiskShows: true, Mark: 3, Room: 1 << 30,
		}
	}
	return p
}

func (p *planning) set(id trie.MachineID, change func(*Report)) {
	r := p.reports[id]
	change(&r)
	p.reports[id] = r
}

// ingested: these members have taken the load in.
func (p *planning) ingested(ids ...trie.MachineID) {
	for _, id := range ids {
		p.set(id, func(r *Report) { r.Ingested = true })
	}
}

func dead(r *Report)    { r.Suspect, r.MayHoldLease = true, false }
func suspect(r *Report) { r.Suspect = true }
func back(r *Report)    { r.Incarnation, r.Epoch, r.MayHoldLease, r.Address = 2, 0, false, "10.0.0.77:1" }
func broken(r *Report)  { back(r); r.DiskShows = false }
func behind(r *Report)  { r.Epoch-- }
func unwalked(r *Report) {
	r.Walked = false
}
func unswept(r *Report)      { r.Swept = false }
func unreconciled(r *Report) { r.Reconciled = false }
func unknown(r *Report)      { *r = Report{MayHoldLease: true} }
func full(r *Report)         { r.Full = true }
func denied(r *Report)       { r.MayHoldLease = false }
func damaged(r *Report)      { r.Damaged, r.MayHoldLease = true, false }

func TestPlan(t *testing.T) {
	five := idle(t, 1, 2, 3, 4, 5)
	two, four, six := idle(t, 1, 2), idle(t, 1, 2, 3, 4), idle(t, 1, 2, 3, 4, 5, 6)
	filling := must(t)(five.Join(up(6)))
	serving := must(t)(filling.ToServe(nil))
	waiting := must(t)(five.Readmit(Member{ID: 2, Incarnation: 2, Address: "h:2"}))
	waitingFill := must(t)(filling.Readmit(Member{ID: 2, Incarnation: 2, Address: "h:2"}))
	leaving := must(t)(five.Leave(5))
	left := through(t, leaving)
	spared := must(t)(five.Join(spare(9)))
	split := must(t)(idle(t, 1, 2, 3).Split([]SplitAt{{3, []byte("\x03a")}, {3, []byte("\x03b")}, {3, []byte("\x03c")}, {3, []byte("\x03d")}, {3, []byte("\x03e")}, {3, []byte("\x03f")}}))
	staging := must(t)(five.BeginLoad(LoadBegin{"load", 3, 1}))
	publish := LoadPublish{ID: "load", Epoch: staging.Epoch, Place: staging.Place(), Tables: "t"}
	ingest := must(t)(staging.ToIngest(publish))
	splitStaging := must(t)(split.BeginLoad(LoadBegin{"load", 3, 1}))

	for _, c := range []struct {
		name   string
		v      *View
		set    func(*planning)
		reason string // in the reason; "": no next view
		wait   string // in what is waited for; "": nothing
	}{
		{"all is well", five, func(*planning) {}, "", ""},
		{"the gate", five, func(p *planning) { p.set(2, behind); p.wishes.Join = []Member{up(9)} }, "", "adopted by 0000000000000002"},
		{"the gate, without a lease", five, func(p *planning) {
			p.set(2, behind)
			p.set(2, func(r *Report) { r.MayHoldLease = false })
			p.set(3, dead)
		}, "excluded: 0000000000000003", ""},
		{"the gate, another incarnation", five, func(p *planning) {
			p.set(2, back)
			p.set(2, func(r *Report) { r.Epoch, r.MayHoldLease = five.Epoch, true })
		}, "", "leases to end"},
		{"a new leader knows nothing", five, func(p *planning) { p.set(2, unknown); p.set(3, unknown) }, "", "adopted by 0000000000000002, 0000000000000003"},

		{"suspected, with a lease", five, func(p *planning) { p.set(2, suspect) }, "", "the lease of machine 0000000000000002"},
		{"suspected, and its lease is over", five, func(p *planning) { p.set(2, dead) }, "excluded: 0000000000000002", ""},
		{"the leader is not suspected by itself", five, func(p *planning) { p.set(1, suspect) }, "", ""},
		{"another leader", five, func(p *planning) { p.options.Self = 4 }, "the oracle follows the leader", ""},
		{"another leader, which is no member any more", five, func(p *planning) { p.options.Self = 9 }, "", ""},
		{"another leader, and a machine that joins", five, func(p *planning) { p.options.Self = 4; p.wishes.Join = []Member{up(9)} }, "joining", ""},
		{"another leader, and a member that does not report", five, func(p *planning) { p.options.Self = 4; p.set(2, suspect) }, "", "the lease of machine 0000000000000002"},
		{"two at once", five, func(p *planning) { p.set(2, dead); p.set(4, dead) }, "excluded: 0000000000000002, 0000000000000004", ""},
		{"most are gone", five, func(p *planning) { p.set(2, dead); p.set(4, dead); p.set(5, dead) }, "", "most members to run"},
		{"half are gone, and most voters", six, func(p *planning) {
			p.set(4, dead)
			p.set(5, dead)
			p.set(6, dead)
			p.options.Voters = []trie.MachineID{1, 2, 3, 4, 5}
		}, "", "the only copies of some triples"},
		{"half are gone, and the others have all", four, func(p *planning) {
			p.set(3, dead)
			p.set(4, dead)
			p.options.Voters = []trie.MachineID{1, 2, 3}
		}, "excluded: 0000000000000003, 0000000000000004", ""},
		{"half are gone, with most voters", four, func(p *planning) {
			p.set(3, dead)
			p.set(4, dead)
			p.options.Voters = []trie.MachineID{1, 3, 4}
		}, "", "most members to run"},
		{"one of two is gone", two, func(p *planning) { p.set(2, dead); p.options.Voters = []trie.MachineID{1, 2} }, "", "most members to run"},
		{"most are gone, and the operator knows", five, func(p *planning) {
			p.set(2, dead)
			p.set(4, dead)
			p.set(5, dead)
			p.wishes.Remove = []trie.MachineID{2, 4}
		}, "excluded: 0000000000000002, 0000000000000004", ""},
		{"to be removed, and alive", five, func(p *planning) { p.wishes.Remove = []trie.MachineID{2} }, "", "is alive"},
		{"a slow one", five, func(p *planning) { p.accuse(2, 3); p.set(2, denied) }, "excluded: 0000000000000002", ""},
		{"a slow one, with a lease", five, func(p *planning) { p.accuse(2, 3) }, "", "the lease of machine 0000000000000002 to end, which the others wait for"},
		{"a slow one and a death", five, func(p *planning) { p.accuse(2, 4); p.set(2, denied); p.set(3, dead) }, "excluded: 0000000000000003", ""},
		{"a slow one in fill", filling, func(p *planning) { p.accuse(2, 4); p.set(2, denied); p.set(3, unwalked) }, "excluded: 0000000000000002", ""},
		{"two in fill that do not reach each other", must(t)(five.Exclude(5)), func(p *planning) {
			p.accuse(2, 4)
			p.accuse(4, 2)
			p.set(2, unwalked)
			p.set(4, unwalked)
			p.set(4, denied)
		}, "excluded: 0000000000000004", ""},
		{"the last copy, in fill", must(t)(five.Exclude(4, 5)), func(p *planning) { p.accuse(2, 3); p.set(3, unwalked) }, "", "machine 0000000000000002 to answer the others; it is not excluded, because it may have the only copy"},
		{"two that others wait for", five, func(p *planning) { p.accuse(2, 4); p.accuse(3, 5) }, "", "machines 0000000000000002, 0000000000000003 to answer the others; none is excluded"},
		{"a joiner without room", filling, func(p *planning) { p.set(6, full); p.set(6, denied); p.set(3, unwalked) }, "excluded: 0000000000000006", ""},
		{"a joiner without room, with a lease", filling, func(p *planning) { p.set(6, full); p.set(3, unwalked) }, "", "the lease of machine 0000000000000006 to end, whose disk has no room for its backfill"},
		{"a joiner without room, that serves", serving, func(p *planning) { p.set(6, full); p.set(6, denied) }, "all members read the new owners", ""},
		{"no room, and its data counts", filling, func(p *planning) { p.set(2, full); p.set(2, denied); p.set(3, unwalked) }, "", "the backfills of 0000000000000003"},
		{"damage", five, func(p *planning) { p.set(2, damaged) }, "excluded: 0000000000000002", ""},
		{"damage, with a lease", five, func(p *planning) { p.set(2, func(r *Report) { r.Damaged = true }) }, "", "the lease of machine 0000000000000002 to end, whose disk is damaged"},
		{"damage of two", five, func(p *planning) { p.set(2, damaged); p.set(3, damaged) }, "excluded: 0000000000000002", ""},
		{"damage of the leader", five, func(p *planning) { p.set(1, damaged) }, "", ""},
		{"damage and a death", five, func(p *planning) { p.set(2, damaged); p.set(3, dead) }, "excluded: 0000000000000003", ""},
		{"damage and a slow one", five, func(p *planning) { p.set(2, damaged); p.accuse(3, 4); p.set(3, denied) }, "excluded: 0000000000000003", ""},
		{"damage and one behind", five, func(p *planning) { p.set(2, damaged); p.set(3, behind); p.set(3, denied) }, "", "the sweeps of 0000000000000003"},
		{"damage in fill", filling, func(p *planning) { p.set(2, damaged); p.set(2, unwalked) }, "excluded: 0000000000000002", ""},
		{"damage after a death", must(t)(five.Exclude(5)), func(p *planning) { p.set(2, damaged) }, "excluded: 0000000000000002", ""},
		{"damage of the last copy", must(t)(five.Exclude(4, 5)), func(p *planning) { p.set(2, damaged); p.set(2, unwalked) }, "", "the backfills of 0000000000000002"},
		{"damage in serve", serving, func(p *planning) { p.set(2, damaged) }, "all members read the new owners", ""},
		{"a slow one that fills", filling, func(p *planning) { p.accuse(6, 4); p.set(6, denied) }, "excluded: 0000000000000006", ""},

		{"back with its disk", five, func(p *planning) { p.set(2, back) }, "0000000000000002 is back", ""},
		{"back without its disk", five, func(p *planning) { p.set(2, broken) }, "excluded: 0000000000000002", ""},
		{"most are back without their disks", five, func(p *planning) { p.set(2, broken); p.set(3, broken); p.set(4, broken) }, "excluded: 0000000000000002, 0000000000000003, 0000000000000004", ""},
		{"back with an older disk", waiting, func(p *planning) { p.set(2, func(r *Report) { r.Incarnation = 1 }) }, "excluded: 0000000000000002", ""},
		{"back without its disk, and most are gone", five, func(p *planning) { p.set(2, broken); p.set(3, dead); p.set(4, dead); p.set(5, dead) }, "", "most members to run"},
		{"back in fill, before serve", filling, func(p *planning) { p.set(2, back) }, "is back", ""},
		{"back while a load is taken in", ingest, func(p *planning) { p.set(2, back) }, "is back", ""},
		{"dead while a load is taken in", ingest, func(p *planning) { p.set(2, dead) }, "", "the bulk load to be taken in, before"},
		{"dead while a load is taken in, and another one is back", ingest, func(p *planning) { p.ingested(1, 4, 5); p.set(2, dead); p.set(3, back) }, "0000000000000003 is back", ""},
		{"dead while a load is taken in, and the others have it", ingest, func(p *planning) { p.ingested(1, 3, 4, 5); p.set(2, dead) }, "load load is published; excluded: 0000000000000002", ""},
		{"two dead while a load is taken in", ingest, func(p *planning) { p.ingested(1, 3, 4); p.set(2, dead); p.set(5, dead) }, "published; excluded: 0000000000000002, 0000000000000005", ""},
		{"dead while a load is taken in, and not all others have it", ingest, func(p *planning) { p.ingested(1, 3, 4); p.set(2, dead) }, "", "the bulk load to be taken in, before"},
		{"a load", ingest, func(p *planning) { p.wishes.Join = []Member{up(9)} }, "", "the bulk load"},
		{"a load that all have but one", ingest, func(p *planning) { p.ingested(1, 2, 3, 4) }, "", "to be taken in by 0000000000000005"},
		{"a load that all have", ingest, func(p *planning) { p.ingested(1, 2, 3, 4, 5) }, "load load is published", ""},
		{"a load begins", five, func(p *planning) { p.wishes.Begin = []LoadBegin{{"other", 3, 1}} }, "load other begins", ""},
		{"a load of a stranger", five, func(p *planning) { p.wishes.Begin = []LoadBegin{{"other", 3, 2}} }, "", ""},
		{"a load that has begun", staging, func(p *planning) { p.wishes.Begin = []LoadBegin{{"load", 3, 1}} }, "", ""},
		{"a load that goes on elsewhere", staging, func(p *planning) { p.wishes.Begin = []LoadBegin{{"load", 4, 1}} }, "load load begins", ""},
		{"a load is taken in", staging, func(p *planning) { p.wishes.Publish = []LoadPublish{publish}; p.wishes.Join = []Member{up(9)} }, "load load is taken in", ""},
		{"a load is not taken in before the sweeps", staging, func(p *planning) { p.wishes.Publish = []LoadPublish{publish}; p.set(2, unswept) }, "", "sweeps"},
		{"a load of another epoch", staging, func(p *planning) {
			p.wishes.Publish = []LoadPublish{publish}
			p.wishes.Publish[0].Epoch--
		}, "", ""},
		{"a load of another place", staging, func(p *planning) {
			p.wishes.Publish = []LoadPublish{publish}
			p.wishes.Publish[0].Place = "elsewhere"
		}, "", ""},
		{"a load is given up", staging, func(p *planning) { p.wishes.Drop = []string{"load", "other"} }, "loads are given up: 1", ""},
		{"a load of a coordinator that is no member", must(t)(must(t)(must(t)(staging.Exclude(3)).ToServe(nil)).ToIdle()), func(*planning) {}, "loads are given up: 1", ""},

		{"reconciled", waiting, func(*planning) {}, "reconciled", ""},
		{"not yet reconciled", waiting, func(p *planning) { p.set(4, unreconciled); p.wishes.Join = []Member{up(9)} }, "", "the reconciliation of 0000000000000004"},
		{"reconciled but for one who is away", waiting, func(p *planning) { p.set(4, suspect) }, "", "the lease of machine 0000000000000004"},
		{"its disk does not show it in the end", waiting, func(p *planning) { p.set(2, func(r *Report) { r.DiskShows = false }) }, "excluded: 0000000000000002", ""},
		{"reconciled in fill, before serve", waitingFill, func(*planning) {}, "reconciled", ""},
		{"no serve while one waits", waitingFill, func(p *planning) { p.set(4, func(r *Report) { r.Epoch, r.MayHoldLease = 0, false }) }, "", "the reconciliation"},
		{"no serve while a disk is in doubt", waitingFill, func(p *planning) { p.set(2, func(r *Report) { r.DiskShows, r.MayHoldLease = false, true }) }, "", "the lease of machine 0000000000000002"},

		{"walked", filling, func(*planning) {}, "all backfills are done", ""},
		{"not yet walked", filling, func(p *planning) { p.set(3, unwalked) }, "", "the backfills of 0000000000000003"},
		{"walked, not settled", filling, func(p *planning) { p.set(3, unreconciled) }, "", "the backfills of 0000000000000003"},
		{"walked, not there", filling, func(p *planning) { p.set(3, suspect) }, "", "the backfills of 0000000000000003"},
		{"a join in fill", filling, func(p *planning) { p.set(3, unwalked); p.wishes.Join = []Member{up(9), up(10)} }, "joining: 0000000000000009, 000000000000000a", ""},
		{"serve before a join", filling, func(p *planning) { p.wishes.Join = []Member{up(9)} }, "all backfills are done", ""},
		{"no spare in fill", filling, func(p *planning) { p.set(3, unwalked); p.wishes.Join = []Member{spare(9)} }, "", "the backfills"},
		{"no join before an exclusion", filling, func(p *planning) { p.set(3, suspect); p.wishes.Join = []Member{up(9)} }, "", "the lease"},
		{"served", serving, func(*planning) {}, "new owners", ""},
		{"not all serve", serving, func(p *planning) { p.set(3, behind); p.set(3, func(r *Report) { r.MayHoldLease = false }) }, "", "to be adopted by 0000000000000003"},

		{"not yet swept", five, func(p *planning) { p.set(3, unswept); p.wishes.Join = []Member{up(9)} }, "", "the sweeps of 0000000000000003"},
		{"a leaver who has left", left, func(p *planning) { p.wishes.Join = []Member{up(9)} }, "removed: 0000000000000005", ""},
		{"a leaver who has not swept", left, func(p *planning) { p.set(5, unswept) }, "", "the sweeps of 0000000000000005"},
		{"a leave, before a join", five, func(p *planning) { p.wishes = Wishes{Leave: []trie.MachineID{2, 3}, Join: []Member{up(9)}} }, "leaving: 0000000000000002, 0000000000000003", ""},
		{"no leave in fill", filling, func(p *planning) { p.set(3, unwalked); p.wishes.Leave = []trie.MachineID{2} }, "", "the backfills"},
		{"all want to leave", idle(t, 1, 2), func(p *planning) { p.wishes.Leave = []trie.MachineID{1, 2} }, "", "cannot leave"},
		{"a spare leaves", spared, func(p *planning) { p.wishes.Leave = []trie.MachineID{9} }, "removed: 0000000000000009", ""},
		{"a spare is removed", spared, func(p *planning) { p.wishes.Remove = []trie.MachineID{9} }, "removed: 0000000000000009", ""},
		{"a spare dies", spared, func(p *planning) { p.set(9, dead) }, "excluded: 0000000000000009", ""},
		{"joins", five, func(p *planning) { p.wishes.Join = []Member{up(9), spare(10), up(9), up(3), {ID: 12}} }, "joining: 0000000000000009, 000000000000000a", ""},
		{"a join before a split", five, func(p *planning) {
			p.wishes.Join = []Member{up(9)}
			p.set(3, func(r *Report) { r.Splits = []SplitAt{{4, []byte("\x02x")}} })
		}, "joining", ""},
		{"splits", five, func(p *planning) {
			p.set(3, func(r *Report) { r.Splits = []SplitAt{{4, []byte("\x02x")}, {77, []byte("x")}, {4, []byte("\x03")}} })
			p.set(4, func(r *Report) { r.Splits = []SplitAt{{4, []byte("\x02x")}, {4, []byte("\x02y")}} })
		}, "2 segments are split", ""},
		{"segments belong elsewhere", split, func(*planning) {}, "of the segments move", ""},
		{"too few do", split, func(p *planning) { p.options.Misplaced = 0.99 }, "", ""},
		{"too few do, but it is wished", split, func(p *planning) { p.options.Misplaced, p.wishes.Rebalance = 0.99, true }, "of the segments move", ""},
		{"all hold about the same", split, func(p *planning) { p.hold(40<<20, 41<<20) }, "", ""},
		{"all hold about the same little", split, func(p *planning) { p.hold(4<<20, 4<<20) }, "of the segments move", ""},
		{"one holds more than others", split, func(p *planning) { p.hold(40<<20, 120<<20) }, "of the segments move", ""},
		{"nothing moves while a load is staged", splitStaging, func(p *planning) { p.set(3, func(r *Report) { r.Staging = []string{"load"} }) }, "", ""},
		{"a load that is not gone on with holds nothing up", splitStaging, func(*planning) {}, "of the segments move", ""},
		{"nothing moves while a load is staged, but it is wished", splitStaging, func(p *planning) { p.wishes.Rebalance = true }, "of the segments move", ""},
		{"splits are wished", five, func(p *planning) { p.wishes.Splits = []SplitAt{{4, []byte("\x02x")}} }, "1 segments are split", ""},
		{"rebalancing is wished for nothing", five, func(p *planning) { p.wishes.Rebalance = true }, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := ask(t, c.v)
			c.set(p)
			before := text(t, c.v)
			next, reason, wait := Plan(c.v, p.reports, p.wishes, p.options)
			if (next != nil) != (c.reason != "") || !strings.Contains(reason, c.reason) {
				t.Errorf("reason %q, want %q, wait %q", reason, c.reason, wait)
			}
			if c.wait == "" && wait != "" || !strings.Contains(wait, c.wait) {
				t.Errorf("waits for %q, want %q", wait, c.wait)
			}
			if next != nil && (next.Epoch != c.v.Epoch+1 || next.Validate() != nil) {
				t.Errorf("epoch %d: %v", next.Epoch, next.Validate())
			}
			if text(t, c.v) != before {
				t.Error("the view has changed")
			}
		})
	}
}

// TestPlanTakesWhatIsReported: marks, and the address of who came back.
func TestPlanTakesWhatIsReported(t *testing.T) {
	v := must(t)(idle(t, 1, 2, 3).Join(up(6)))
	p := ask(t, v)
	next, _, _ := Plan(v, p.reports, p.wishes, p.options)
	if next == nil || next.Find(6).Mark != 3 {
		t.Errorf("%+v", next)
	}
	p.set(2, back)
	next, _, _ = Plan(v, p.reports, p.wishes, p.options)
	if m := next.Find(2); m.Address != "10.0.0.77:1" || m.Incarnation != 2 || !m.Waits {
		t.Errorf("%+v", m)
	}
	p.set(2, func(r *Report) { r.Address = "" })
	next, _, _ = Plan(v, p.reports, p.wishes, p.options)
	if m := next.Find(2); m.Address != up(2).Address {
		t.Errorf("%+v", m)
	}
}

// TestWaitNamesAFew: a message stays short in a large cluster.
func TestWaitNamesAFew(t *testing.T) {
	var ids []trie.MachineID
	for i := range 20 {
		ids = append(ids, trie.MachineID(i+1))
	}
	if got := names(ids); !strings.HasSuffix(got, "0000000000000008 and 12 more") {
		t.Error(got)
	}
}

// The oracle is the leader that proposed the view, also if it proposed something else.
func TestOracleFollowsLeader(t *testing.T) {
	v := idle(t, 1, 2, 3, 4, 5)
	for _, leader := range []trie.MachineID{4, 2} {
		p := ask(t, v)
		p.options.Self = leader
		next, _, _ := Plan(v, p.reports, p.wishes, p.options)
		if next == nil || next.Oracle() != leader {
			t.Fatalf("leader %d: %v", leader, next)
		}
		p = ask(t, next)
		p.options.Self = leader
		if again, reason, _ := Plan(next, p.reports, p.wishes, p.options); again != nil {
			t.Fatalf("leader %d, again: %s", leader, reason)
		}
		p.wishes.Join, p.options.Self = []Member{up(9)}, 5
		if next, _, _ = Plan(next, p.reports, p.wishes, p.options); next == nil || next.Oracle() != 5 {
			t.Fatalf("a machine joins: %v", next)
		}
	}
}

// If the proposer is gone or has no lease, the oracle is the lowest member that can have one.
func TestOracle(t *testing.T) {
	v := idle(t, 1, 2, 3)
	waits := func(ids ...trie.MachineID) *View {
		n := v.next()
		for _, id := range ids {
			n.Find(id).Waits = true
		}
		return n
	}
	for _, test := range []struct {
		v              *View
		proposer, want trie.MachineID
	}{
		{&View{}, 0, 0}, {v, 0, 1}, {v, 3, 3}, {v, 9, 1}, {waits(3), 3, 1}, {waits(1, 3), 3, 2}, {waits(1, 2, 3), 3, 1}, {waits(1), 3, 3},
	} {
		n := *test.v
		n.Proposer = test.proposer
		if got := n.Oracle(); got != test.want {
			t.Errorf("%v, proposer %d: %d, want %d", test.v.Members, test.proposer, got, test.want)
		}
	}
}
