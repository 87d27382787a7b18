// Recover: the first view of a generation, on the directory of a stopped member.

package generation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/cluster/agreement"
	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/trie"
)

var (
	// ErrNotMember: the directory belongs to no cluster.
	ErrNotMember = errors.New("the directory does not belong to a member of a cluster")
	// ErrStale: another machine has newer views.
	ErrStale = errors.New("a kept machine is newer than this one")
	// ErrMajorityAnswers: no majority is lost, because most members answer.
	ErrMajorityAnswers = errors.New("most members answer")
)

// Recovery describes the begin of a new generation when the majority of the voters is gone for
// good.
type Recovery struct {
	// FS holds Dir, the data directory of a stopped node; nil is the disk.
	FS  vfs.FS
	Dir string
	// Keep are the other machines with kept data, each as [Inspect] shows it.
	Keep []Position
	// NoneNewer is the operator's promise: the abandoned machines acknowledged no
	// operation without this one. If it is false and they were a majority, all ranges are
	// marked as lost.
	NoneNewer bool
	// AlthoughTheyAnswer goes on if most members answer at their addresses.
	AlthoughTheyAnswer bool
	// Network reaches them; nil is the machine's.
	Network port.Network
	Logger  *slog.Logger
}

// Ticket names a new generation for the kept machines. Its text is GENERATION.EPOCH.TERM.LINEAGE.
type Ticket struct {
	// Generation is the new one, Epoch and Term are those of its parent view.
	Generation, Epoch, Term uint64
	Lineage                 string
}

func (t Ticket) String() string {
	return fmt.Sprintf("%d.%d.%d.%s", t.Generation, t.Epoch, t.Term, t.Lineage)
}

// ParseTicket is the reverse of [Ticket.String].
func ParseTicket(text string) (t Ticket, err error) {
	parts := strings.SplitN(text, ".", 4)
	if len(parts) != 4 || parts[3] == "" {
		return t, fmt.Errorf("%w: %q is not GENERATION.EPOCH.TERM.LINEAGE", store.ErrInvalid, text)
	}
	for i, to := range []*uint64{&t.Generation, &t.Epoch, &t.Term} {
		if *to, err = strconv.ParseUint(parts[i], 10, 64); err != nil {
			return t, fmt.Errorf("%w: %q: %w", store.ErrInvalid, text, err)
		}
	}
	t.Lineage = parts[3]
	return t, nil
}

// TicketOf returns the ticket of the generation of its first view v.
func TicketOf(v *view.View) Ticket {
	return Ticket{v.Generation, v.Parent.Epoch, v.Parent.Term, v.Lineage}
}

// Recover begins a new generation on the stopped node of a data directory, and returns its first
// view. Its members are this machine and the kept ones. On the directory of each kept one
// [Follow] must run, with [TicketOf] the view. All others are abandoned, with all data only they
// had. If a range may lack rows, it is lost in the view.
//
// The error is [ErrStale] if a kept machine is newer, [agreement.ErrLogLost] if the log of this
// one is missing, and [ErrMajorityAnswers] if nothing needs to be recovered. The operator must
// make sure: the abandoned machines do not run.
func Recover(ctx context.Context, r Recovery) (v *view.View, err error) {
	// 1. Read the directory, and repeat the last step if a recovery was interrupted there.
	store, err := openMember(r.FS, r.Dir, r.Logger)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	s, err := inspect(r.FS, store, r.Logger)
	if err != nil {
		return nil, err
	}
	if s.View != nil && view.IsAncestor(s.Identity.Lineage, s.View.Lineage) && s.View.Parent != nil {
		return s.View, store.SetIdentity(recoveredIdentity(s.View))
	}
	if s.View == nil {
		return nil, fmt.Errorf("%w: %s is missing, or older than what the machine has adopted: run this on another machine that is left; it may keep this one",
			agreement.ErrLogLost, filepath.Join(store.Dir(), agreement.DirName))
	}
	if s.View.Find(s.ID) == nil {
		return nil, fmt.Errorf("%w: %s: it has no view with this machine", ErrNotMember, r.Dir)
	}
	// 2. Reject if a kept machine is newer, or if most members answer.
	plan := view.Recovery{Keep: []trie.MachineID{s.ID}, Name: NewLineage(), Term: s.Term, After: max(s.Epoch, s.Seen.Epoch)}
	for _, k := range r.Keep {
		if k.ID == s.ID {
			continue
		}
		if k.Newer(s.Position) {
			return nil, fmt.Errorf("%w: %s has generation %d, epoch %d (term %d), and this one, %s, generation %d, epoch %d (term %d): what was "+
				"acknowledged later would be lost. Run this on %[2]s, with --keep %[10]s", ErrStale, k.ID, k.Generation, k.Epoch, k.Term,
				s.ID, s.Generation, s.Epoch, s.Term, s.Position)
		}
		if s.View.Find(k.ID) == nil {
			return nil, fmt.Errorf("machine %s is no member any more in epoch %d of generation %d: the cluster went on without it before the majority was lost. "+
				"Leave it out; its data may be set aside (trefoil cluster set-aside)", k.ID, s.Epoch, s.Generation)
		}
		plan.Keep, plan.After = append(plan.Keep, k.ID), max(plan.After, k.Epoch)
	}
	if err := r.checkOthers(ctx, s); err != nil {
		return nil, err
	}
	// 3. Write the first view. An abandoned majority may have made changes without this
	// machine, and then all ranges may lack rows.
	plan.Lost = !r.NoneNewer && len(s.View.Members)-len(plan.Keep) >= agreement.MajorityOf(len(s.View.Members))
	if v, err = s.View.Recover(plan); err != nil {
		return nil, err
	}
	cfg := stoppedConfig(r.FS, store, r.Logger)
	cfg.Address = s.View.Find(s.ID).Address
	if err := agreement.RecoverMajority(cfg, v); err != nil {
		return nil, err
	}
	return v, store.SetIdentity(recoveredIdentity(v))
}

func recoveredIdentity(v *view.View) store.Identity {
	return store.Identity{Cluster: v.Cluster, ClusterID: v.ClusterID, Generation: v.Generation, Lineage: v.Lineage, Minor: v.Minor}
}

// checkOthers returns [ErrMajorityAnswers] if the answering members and this machine are a
// majority.
func (r *Recovery) checkOthers(ctx context.Context, s Stopped) error {
	answering := Answering(ctx, r.Network, s)
	if r.AlthoughTheyAnswer || 2*(len(answering)+1) <= len(s.View.Members) {
		return nil
	}
	var names []string
	for _, m := range answering {
		names = append(names, m.ID.String()+" at "+m.Address)
	}
	return fmt.Errorf("%w: %s. With this machine they are a majority: start its node as before, and wait. "+
		"If other programs answer there, say --although-they-answer", ErrMajorityAnswers, strings.Join(names, ", "))
}

// dialTimeout bounds the attempt to reach a member.
const dialTimeout = 3 * time.Second

// Answering returns the other members in the view of a stopped machine if something answers at
// their addresses. network nil is the machine's.
func Answering(ctx context.Context, network port.Network, s Stopped) (answering []view.Member) {
	if network == nil {
		network = port.Host
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var wg sync.WaitGroup
	answers := make([]bool, len(s.View.Members))
	for i, m := range s.View.Members {
		if m.ID == s.ID {
			continue
		}
		wg.Go(func() {
			if c, err := network.Dial(ctx, m.Address); err == nil {
				answers[i] = true
				_ = c.Close()
			}
		})
	}
	wg.Wait()
	for i, m := range s.View.Members {
		if answers[i] {
			answering = append(answering, m)
		}
	}
	return answering
}

// Following describes how a kept machine joins a new generation.
type Following struct {
	// FS holds Dir, the data directory of a stopped node; nil is the disk.
	FS  vfs.FS
	Dir string
	// Addresses are of members of the new generation.
	Addresses []string
	Ticket    Ticket
	// Overrule proceeds even if this machine is newer than the parent view of the
	// generation. Then the cluster marks all ranges as lost.
	Overrule bool
	Logger   *slog.Logger
}

// Follow makes the stopped node of a data directory a member of a new generation, when
// [Recover] has begun it elsewhere with this machine among the kept ones. It deletes the log
// of the old generation and keeps the data. If it was interrupted it may be repeated.
func Follow(f Following) (err error) {
	if len(f.Addresses) == 0 {
		return fmt.Errorf("%w: no address of a member of the new generation", store.ErrInvalid)
	}
	db, err := openMember(f.FS, f.Dir, f.Logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s, err := inspect(f.FS, db, f.Logger)
	if err != nil {
		return err
	}
	fs := f.FS
	if fs == nil {
		fs = vfs.Default
	}
	// 1. Compare the histories: the ticket must be of the next generation of this one.
	if s.Identity.Lineage == f.Ticket.Lineage {
		return directory.WriteRejoin(fs, db.Dir(), f.Addresses)
	}
	if s.Identity.Generation+1 != f.Ticket.Generation || !view.IsAncestor(s.Identity.Lineage, f.Ticket.Lineage) {
		return fmt.Errorf("machine %s is of generation %d, lineage %q: the ticket is of generation %d, lineage %q, which did not begin from that",
			s.ID, s.Identity.Generation, s.Identity.Lineage, f.Ticket.Generation, f.Ticket.Lineage)
	}
	began := Position{Generation: f.Ticket.Generation - 1, Epoch: f.Ticket.Epoch, Term: f.Ticket.Term}
	if s.Newer(began) && !f.Overrule {
		return fmt.Errorf("%w: this one, %s, has generation %d, epoch %d (term %d), and the new generation began from epoch %d (term %d): what was acknowledged "+
			"between is on this machine. Stop the new generation and recover on this machine instead, or say --overrule: then all ranges are marked as lost",
			ErrStale, s.ID, s.Generation, s.Epoch, s.Term, began.Epoch, began.Term)
	}
	// 2. Write the addresses first, because a machine without a log does not start without them.
	// Then delete the log, and take the new identity.
	if err := directory.WriteRejoin(fs, db.Dir(), f.Addresses); err != nil {
		return err
	}
	if err := fs.RemoveAll(filepath.Join(db.Dir(), agreement.DirName)); err != nil {
		return err
	}
	identity := s.Identity
	identity.Generation, identity.Lineage = f.Ticket.Generation, f.Ticket.Lineage
	if s.Newer(began) {
		identity.Followed = &store.AdoptedView{Generation: s.Generation, Epoch: max(s.Epoch, began.Epoch+1)}
	}
	return db.SetIdentity(identity)
}

func openMember(fs vfs.FS, dir string, logger *slog.Logger) (*replica.Store, error) {
	db, err := replica.Open(dir, store.Options{FS: fs, Logger: logger}, replica.Options{})
	if err != nil {
		return nil, err
	}
	if _, ok := db.Identity(); !ok {
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrNotMember, dir), db.Close())
	}
	return db, nil
}
