// The verbs of scenarios.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/cluster/agreement"
	"github.com/trefoildb/trefoil/internal/cluster/generation"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/trie"
)

// verb is a verb of the language.
type verb struct {
	usage string // the words after it
	least int    // how many words there must be
	run   func(p *play, ctx context.Context, args []string) error
}

var verbs map[string]verb

func init() { // a variable would depend on itself, because verbs run verbs
	verbs = map[string]verb{
		// Machines and processes.
		"let":       {"NAME... = MACHINE...", 3, (*play).let},
		"form":      {"NUMBER [OPTION...]", 1, (*play).form},
		"start":     {"MACHINE... [joining MACHINE...] [OPTION...]", 1, (*play).start},
		"stop":      {"MACHINE...", 1, onEach(func(p *play, m *machine) error { p.down(m); m.stop(); return nil })},
		"kill":      {"MACHINE...", 1, onEach(func(p *play, m *machine) error { p.down(m); m.kill(); return nil })},
		"reap":      {"MACHINE...", 1, onEach((*play).reap)},
		"rejoin":    {"MACHINE...", 1, onEach(func(p *play, m *machine) error { m.mustBeExcluded(); p.down(m); m.rejoin(); return nil })},
		"readmit":   {"", 0, (*play).readmit},
		"set-aside": {"MACHINE [joining MACHINE...]", 1, (*play).setAside},
		"recover":   {"MACHINE [keeping MACHINE...]", 1, (*play).recover},
		// The network, disks and clocks.
		"cut": {"MACHINE [->] MACHINE", 2, (*play).cut},
		"mend": {"MACHINE MACHINE", 2, func(p *play, _ context.Context, a []string) error {
			p.w.net.Mend(p.machine(a[0]).name, p.machine(a[1]).name)
			return nil
		}},
		"isolate": {"MACHINE...", 1, onEach(func(p *play, m *machine) error { p.down(m); p.w.net.Isolate(m.name); return nil })},
		"heal":    {"", 0, func(p *play, _ context.Context, _ []string) error { p.w.net.Heal(); return nil }},
		"hold":    {"[REQUEST [NUMBER]]", 0, (*play).hold},
		"release": {"", 0, func(p *play, _ context.Context, _ []string) error { p.released(); return nil }},
		"room":    {"MACHINE SIZE", 2, (*play).room},
		"save":    {"MACHINE", 1, onEach(func(p *play, m *machine) error { p.saved[m] = m.disk.CrashClone(vfs.CrashCloneCfg{}); return nil })},
		"restore": {"MACHINE [DIRECTORY]", 1, (*play).restore},
		"wipe":    {"MACHINE...", 1, onEach(func(_ *play, m *machine) error { m.disk = memdisk.New(); return nil })},
		"copy": {"MACHINE MACHINE", 2, func(p *play, _ context.Context, a []string) error {
			p.provide(a[1])
			p.machine(a[1]).disk = p.machine(a[0]).disk.CrashClone(vfs.CrashCloneCfg{})
			return nil
		}},
		"suspend": {"DURATION", 1, func(p *play, _ context.Context, a []string) error {
			d, err := time.ParseDuration(a[0])
			p.w.slept.Add(int64(d))
			return err
		}},
		"sleep": {"DURATION", 1, func(_ *play, ctx context.Context, a []string) error {
			d, err := time.ParseDuration(a[0])
			sleep(ctx, d)
			return err
		}},
		"delay": {"LEAST MOST", 2, (*play).delay},
		// Requests.
		"add":      {"FROM..TO [through MACHINE]", 1, (*play).add},
		"delete":   {"FROM..TO [through MACHINE]", 1, (*play).delete},
		"load":     {"FROM..TO [through MACHINE]", 1, (*play).load},
		"annotate": {"FROM..TO", 1, (*play).annotate},
		"spread": {"", 0, func(p *play, _ context.Context, _ []string) error {
			p.w.spread()
			p.wrote(numbers{0, 1500}, true)
			return nil
		}},
		"read":        {"MACHINE...", 1, (*play).read},
		"write":       {"FROM..TO through MACHINE...", 3, (*play).write},
		"end-writes":  {"[NUMBER DURATION]", 0, (*play).endWrites},
		"link":        {"FROM..TO [through MACHINE]", 1, (*play).link},
		"load-links":  {"FROM..TO [through MACHINE]", 1, (*play).loadLinks},
		"keep-links":  {"MACHINE...", 1, onEach((*play).keepLinks)},
		"read-links":  {"MACHINE...", 1, (*play).readLinks},
		"backup":      {"[through MACHINE]", 0, (*play).backup},
		"increment":   {"[through MACHINE]", 0, (*play).increment},
		"purge":       {"[through MACHINE]", 0, (*play).purge},
		"scrub":       {"", 0, (*play).scrub},
		"leave":       {"MACHINE|stranger", 1, func(p *play, ctx context.Context, a []string) error { return p.w.any().node.Leave(ctx, p.idOf(a[0])) }},
		"remove":      {"MACHINE|stranger", 1, func(p *play, ctx context.Context, a []string) error { return p.w.any().node.Remove(ctx, p.idOf(a[0])) }},
		"accept-loss": {"MACHINE", 1, onEach(func(p *play, m *machine) error { p.w.acceptLoss(m); return nil })},
		"set-copies": {"NUMBER", 1, func(p *play, ctx context.Context, a []string) error {
			n, err := strconv.Atoi(a[0])
			return errors.Join(err, p.w.any().node.SetCopies(ctx, n))
		}},
		// Conditions.
		"settle": {"", 0, func(p *play, _ context.Context, _ []string) error { p.w.settle(); return nil }},
		"stable": {"", 0, func(p *play, _ context.Context, _ []string) error { p.w.stable(); return nil }},
		"votes": {"NUMBER", 1, func(p *play, _ context.Context, a []string) error {
			n, err := strconv.Atoi(a[0])
			p.w.vote(n)
			return err
		}},
		"reach":  {"MOMENT", 1, (*play).reach},
		"expect": {"[not] CONDITION", 1, (*play).expect},
		"wait":   {"[not] CONDITION", 1, (*play).wait},
		// Commands with a command.
		"fail":     {"KIND [TEXT...] COMMAND", 2, (*play).fail},
		"may-fail": {"KIND [TEXT...] COMMAND", 2, (*play).mayFail},
		"retry":    {"COMMAND", 1, (*play).retry},
		"within":   {"DURATION COMMAND", 2, (*play).within},
		"timeout":  {"DURATION COMMAND", 2, (*play).timeout},
		"begin":    {"COMMAND", 1, (*play).begin},
		"await":    {"", 0, (*play).await},
	}
}

// errorKinds are the errors that fail names.
var errorKinds = map[string]error{
	"unavailable": store.ErrUnavailable, "invalid": store.ErrInvalid, "unknown": store.ErrUnknown, "disk-full": store.ErrDiskFull, "deadline": context.DeadlineExceeded,
	"excluded": cluster.ErrExcluded, "superseded": cluster.ErrSuperseded, "not-empty": cluster.ErrNotEmpty, "wrong-cluster": cluster.ErrWrongCluster,
	"log-lost": agreement.ErrLogLost, "majority-answers": generation.ErrMajorityAnswers,
}

// onEach is a verb of machines.
func onEach(do func(p *play, m *machine) error) func(*play, context.Context, []string) error {
	return func(p *play, _ context.Context, args []string) error {
		for _, m := range p.list(args) {
			if err := do(p, m); err != nil {
				return err
			}
		}
		return nil
	}
}

// before splits arguments at a word, which may be missing.
func before(args []string, word string) (first, rest []string) {
	if i := slices.Index(args, word); i >= 0 {
		return args[:i], args[i+1:]
	}
	return args, nil
}

// let names machines. The last name may be fewer machines than the list has.
func (p *play) let(_ context.Context, args []string) error {
	names, of := before(args, "=")
	list := p.list(of)
	if len(list) < len(names) {
		return fmt.Errorf("there are %d machines", len(list))
	}
	for i, name := range names {
		p.named[name] = list[i]
	}
	return nil
}

func (p *play) form(_ context.Context, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	p.provide(args[0])
	for i := range n {
		if err := p.options(p.machine(strconv.Itoa(i+1)), args[1:]); err != nil {
			return err
		}
	}
	p.w.form()
	return nil
}

// start starts processes. A machine keeps its options for its next starts.
func (p *play) start(ctx context.Context, args []string) error {
	known := slices.IndexFunc(args, func(a string) bool { return strings.Contains(a, "=") || a == "spare" || a == "closed" })
	var options []string
	if known >= 0 {
		args, options = args[:known], args[known:]
	}
	names, joining := before(args, "joining")
	var others []*machine
	p.provide(names...)
	if joining != nil {
		others = p.list(joining)
	}
	for _, m := range p.list(names) {
		if err := p.options(m, options); err != nil {
			return err
		}
		if err := m.tryRun(ctx, others...); err != nil {
			return err
		}
	}
	return nil
}

func (p *play) options(m *machine, options []string) (err error) {
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case "spare":
			m.spare = true
		case "closed":
			m.closed = true
		case "copies":
			m.copies, err = strconv.Atoi(value)
		case "lease":
			m.lease, err = time.ParseDuration(value)
		case "cluster":
			m.cluster = value
		case "advertise":
			m.advertise = value
		case "disk":
			m.kept = keptFree
			err = m.freeText(value)
		default:
			err = fmt.Errorf("unknown option %q", o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reap stops a process that ended by itself.
func (p *play) reap(m *machine) error {
	if m.node != nil && m.node.Err() != nil {
		p.down(m)
		m.stop()
	}
	return nil
}

// readmit rejoins each machine that the leader's view does not list.
func (p *play) readmit(context.Context, []string) error {
	v := p.w.leader().node.View()
	for _, m := range p.w.up() {
		if v.Find(m.node.MachineID()) == nil {
			m.mustBeExcluded()
			m.rejoin()
		}
	}
	return nil
}

// setAside sets the data of a machine aside. It will join the machines that are named, or those
// that it knows.
func (p *play) setAside(_ context.Context, args []string) error {
	names, joining := before(args, "joining")
	m := p.machine(names[0])
	var addresses []string
	for _, o := range p.list(joining) {
		addresses = append(addresses, o.address())
	}
	if m.node != nil {
		if joining == nil {
			addresses = m.node.Members()
		}
		p.down(m)
		m.stop()
	}
	_, err := directory.SetAside(m.disk, dataDir, addresses)
	return err
}

func (p *play) recover(ctx context.Context, args []string) error {
	names, keep := before(args, "keeping")
	first := p.machine(names[0])
	r := generation.Recovery{FS: first.disk, Dir: dataDir, Network: p.w.net.Host(first.name), Logger: p.w.log}
	others := p.list(keep)
	for _, m := range others {
		r.Keep = append(r.Keep, p.w.position(m))
	}
	if names[len(names)-1] == "none-newer" {
		r.NoneNewer = true
	}
	v, err := generation.Recover(ctx, r)
	if err != nil {
		return err
	}
	for _, m := range others {
		f := generation.Following{FS: m.disk, Dir: dataDir, Addresses: []string{first.address()}, Ticket: generation.TicketOf(v), Logger: p.w.log}
		if err := generation.Follow(f); err != nil {
			return err
		}
	}
	return nil
}

func (p *play) cut(_ context.Context, args []string) error {
	if from, to := before(args, "->"); to != nil {
		p.w.net.CutOneWay(p.machine(from[0]).name, p.machine(to[0]).name)
		return nil
	}
	p.w.net.Cut(p.machine(args[0]).name, p.machine(args[1]).name)
	return nil
}

// hold holds back the requests of a kind, "sync" unless one is named, behind the next few.
func (p *play) hold(_ context.Context, args []string) error {
	name, pass := "sync", 0
	if len(args) > 0 {
		name = args[0]
	}
	r, ok := heldRequests[name]
	if !ok {
		return fmt.Errorf("unknown request %q; README.md has the requests", name)
	}
	if len(args) > 1 {
		var err error
		if pass, err = strconv.Atoi(args[1]); err != nil {
			return err
		}
	}
	p.released()
	p.released = p.w.held.begin(r, pass)
	return nil
}

// room sets how many bytes are free on a disk.
func (p *play) room(_ context.Context, args []string) error {
	return p.machine(args[0]).freeText(args[1])
}

// freeText is free for a size such as 64MiB.
func (m *machine) freeText(size string) error {
	for unit, bytes := range map[string]uint64{"MiB": 1 << 20, "GiB": 1 << 30} {
		if text, ok := strings.CutSuffix(size, unit); ok {
			n, err := strconv.ParseUint(text, 10, 64)
			m.free(n * bytes)
			return err
		}
	}
	return fmt.Errorf("want a size in MiB or GiB, not %q", size)
}

// restore makes the disk of a machine what it was when it was saved, or one of its directories.
func (p *play) restore(_ context.Context, args []string) error {
	m := p.machine(args[0])
	saved := p.saved[m]
	if saved == nil {
		return fmt.Errorf("the disk was not saved")
	}
	if len(args) == 1 {
		m.disk = saved
		return nil
	}
	dir := dataDir + "/" + args[1]
	err := m.disk.RemoveAll(dir)
	if ok, cloned := vfs.Clone(saved, m.disk, dir, dir, vfs.CloneSync); err == nil && cloned == nil && !ok {
		err = fmt.Errorf("%s was not there", dir)
	} else {
		err = errors.Join(err, cloned)
	}
	return err
}

// machineOf returns the machine that a request goes to.
func (p *play) machineOf(args []string) *machine {
	if _, names := before(args, "through"); len(names) > 0 {
		return p.machine(names[0])
	}
	return p.w.any()
}

func (p *play) add(ctx context.Context, args []string) error {
	n, err := parseNumbers(args[0])
	if err != nil {
		return err
	}
	r, err := store.Add(ctx, p.machineOf(args).node, n.triples())
	if err != nil {
		return err
	}
	before := len(p.data)
	p.wrote(n, true)
	if !p.retrying {
		err = want(int(r.Added), len(p.data)-before)
	}
	return err
}

func (p *play) delete(ctx context.Context, args []string) error {
	n, err := parseNumbers(args[0])
	if err == nil {
		_, err = store.Delete(ctx, p.machineOf(args).node, n.triples())
	}
	if err == nil {
		p.wrote(n, false)
		p.buried = p.w.tombstones()
	}
	return err
}

// load adds triples by a bulk load. If it fails, the next read of all decides whether they are there.
func (p *play) load(ctx context.Context, args []string) error {
	n, err := parseNumbers(args[0])
	if err != nil {
		return err
	}
	if _, err = p.machineOf(args).load(ctx, document(p.w.t, "data.nq", n.triples(), 0), false); err != nil {
		for i := n.from; i < n.to; i++ {
			p.doubtful = append(p.doubtful, i)
		}
		return err
	}
	p.wrote(n, true)
	return nil
}

// reach waits until a load or a view is at a moment, or a request is held. It looks more often than wait, because moments pass.
func (p *play) reach(ctx context.Context, args []string) error {
	began := time.Now()
	moment := strings.Join(args, " ")
	for ; !p.w.at(moment) && !(moment == "held" && p.w.held.holds()); sleep(ctx, time.Millisecond) { // of virtual time
		if time.Since(began) > p.limit || ctx.Err() != nil {
			return fmt.Errorf("not reached in %s", time.Since(began))
		}
	}
	return nil
}

// delay sets how long messages take.
func (p *play) delay(_ context.Context, args []string) error {
	least, err := time.ParseDuration(args[0])
	most, err2 := time.ParseDuration(args[1])
	p.w.net.Delay(least, most)
	return errors.Join(err, err2)
}

// annotate gives each triple the annotation that readsAlone expects of the first 20.
func (p *play) annotate(_ context.Context, args []string) error {
	n, err := parseNumbers(args[0])
	if err != nil {
		return err
	}
	for _, tr := range n.triples() {
		p.w.mustNote(p.w.any(), tr, "a", "noted")
	}
	return nil
}

// read compares what machines answer, in each order, with what the cluster must have.
func (p *play) read(ctx context.Context, args []string) error {
	for _, m := range p.list(args) {
		got, err := m.contents(ctx)
		if err != nil {
			return fmt.Errorf("read through %s: %w", m.name, err)
		}
		for _, i := range p.doubtful {
			delete(got, numbered(i, i+1)[0].String())
		}
		if diff := difference(got, setOf(p.triples())); diff != "" {
			return fmt.Errorf("through %s: %s", m.name, diff)
		}
	}
	return nil
}

// write begins to add triples one by one.
func (p *play) write(_ context.Context, args []string) (err error) {
	_, names := before(args, "through")
	if p.writes, err = parseNumbers(args[0]); err == nil {
		p.writer = p.w.writer(p.list(names), p.writes.triples())
	}
	return err
}

// endWrites ends the adds. It fails if fewer triples than a number were added, or one took longer
// than a time. The next read of all decides about the add that was interrupted.
func (p *play) endWrites(_ context.Context, args []string) error {
	p.writer.end()
	n, next := p.writer.written, p.writes.from+p.writer.written
	p.w.t.Logf("%d writes, the longest took %s", n, p.writer.longest)
	if n > 0 {
		p.wrote(numbers{p.writes.from, next}, true)
	}
	if len(args) == 2 {
		least, err := strconv.Atoi(args[0])
		most, err2 := time.ParseDuration(args[1])
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if n < least || p.writer.longest > most {
			return fmt.Errorf("%d writes, and one took %s", n, p.writer.longest)
		}
	}
	if next < p.writes.to {
		p.doubtful = append(p.doubtful, next)
	}
	return nil
}

// purge fails unless it purges each tombstone.
func (p *play) purge(ctx context.Context, args []string) error {
	if len(args) > 0 {
		n, err := p.machineOf(args).node.Upkeep().Purge(ctx)
		if err == nil || n > 0 {
			err = errors.Join(err, fmt.Errorf("%d tombstones are purged", n))
		}
		return err
	}
	before := p.w.tombstones()
	if n := p.w.purge(); n == 0 || int(n) != before {
		return fmt.Errorf("%d tombstones are purged, there were %d", n, before)
	}
	return nil
}

// scrub fails if it finds a difference.
func (p *play) scrub(context.Context, []string) error {
	if found := p.w.mustScrub(); found != (scrubbed{}) {
		return fmt.Errorf("a scrub finds %+v", found)
	}
	return nil
}

// idOf returns the ID of a machine, or one that no machine has.
func (p *play) idOf(name string) trie.MachineID {
	if name == "stranger" {
		return 7
	}
	return p.id(p.machine(name))
}

// nested splits the command of fail into the kind, texts and a command.
func nested(args []string) (kind string, texts, command []string) {
	kind, args = args[0], args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], `"`) {
		texts, args = append(texts, args[0]), args[1:]
	}
	return kind, texts, args
}

// is returns an error unless err has one of the kinds, with | between them, and contains the texts.
func (p *play) is(err error, kinds string, texts []string) error {
	has := false
	for _, kind := range strings.Split(kinds, "|") {
		target, ok := errorKinds[kind]
		if !ok && kind != "any" {
			return fmt.Errorf("unknown kind of errors %q", kind)
		}
		has = has || kind == "any" || errors.Is(err, target)
	}
	if !has {
		return fmt.Errorf("want %s, got %w", kinds, err)
	}
	for _, text := range texts {
		if text = p.text(text); !strings.Contains(err.Error(), text) {
			return fmt.Errorf("the error does not contain %q: %w", text, err)
		}
	}
	return nil
}

func (p *play) fail(ctx context.Context, args []string) error {
	kind, texts, command := nested(args)
	if err := p.do(ctx, command); err != nil {
		return p.is(err, kind, texts)
	}
	return fmt.Errorf("it does not fail")
}

func (p *play) mayFail(ctx context.Context, args []string) error {
	kind, texts, command := nested(args)
	if err := p.do(ctx, command); err != nil {
		return p.is(err, kind, texts)
	}
	return nil
}

// retry repeats a command until it is known to be done.
func (p *play) retry(_ context.Context, args []string) error {
	p.retrying = true
	defer func() { p.retrying = false }()
	p.w.must(strings.Join(args, " "), func(ctx context.Context) error { return p.do(ctx, args) })
	return nil
}

// within cancels a command after a time, so that one without an end fails too.
func (p *play) within(ctx context.Context, args []string) error {
	most, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if err = p.do(ctx, args[1:]); ctx.Err() != nil || time.Since(began) > most {
		err = errors.Join(fmt.Errorf("not done in %s", most), err)
	}
	return err
}

func (p *play) timeout(ctx context.Context, args []string) error {
	most, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return p.do(ctx, args[1:])
}

// begin runs a command beside the following ones, until await.
func (p *play) begin(ctx context.Context, args []string) error {
	done := make(chan error, 1)
	p.begun = done
	go func() { done <- p.do(ctx, args) }()
	return nil
}

// await waits for the end of the command that began.
func (p *play) await(ctx context.Context, _ []string) error {
	began := time.Now()
	select {
	case err := <-p.begun:
		return err
	case <-ctx.Done():
	case <-time.After(p.limit): // of virtual time
	}
	return fmt.Errorf("not ended in %s", time.Since(began))
}
