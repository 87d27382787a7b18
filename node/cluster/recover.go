// Recovery of a lost majority, on stopped directories: the first view of a generation.

package cluster

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

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/agreement"
	"github.com/trefoildb/trefoil/node/port"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

var (
	// ErrNotMember: the directory belongs to no cluster.
	ErrNotMember = errors.New("the directory does not belong to a member of a cluster")
	// ErrStale: another machine has views that this one has not.
	ErrStale = errors.New("a kept machine is newer than this one")
	// ErrMajorityAnswers: the majority is not lost.
	ErrMajorityAnswers = errors.New("most members answer")
)

// Recovery says how a new generation of a cluster begins whose majority of voters is
// gone for good.
type Recovery struct {
	// FS holds Dir, the data directory of a stopped node; nil is the disk.
	FS  vfs.FS
	Dir string
	// Keep are the other machines whose data is kept, each as [Inspect] shows it.
	Keep []Position
	// NoneNewer is the operator's word that the machines which are given up have
	// acknowledged nothing that this one was not part of. Otherwise all ranges are
	// marked as lost, if they were a majority.
	NoneNewer bool
	// AlthoughTheyAnswer goes on if most members answer at their addresses.
	AlthoughTheyAnswer bool
	// Network is how they are asked; nil is the machine's.
	Network port.Network
	Logger  *slog.Logger
}

// Ticket is what a kept machine follows a new generation by. Its text is
// GENERATION.EPOCH.TERM.LINEAGE.
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
		return t, fmt.Errorf("%w: %q is not GENERATION.EPOCH.TERM.LINEAGE", node.ErrInvalid, text)
	}
	for i, to := range []*uint64{&t.Generation, &t.Epoch, &t.Term} {
		if *to, err = strconv.ParseUint(parts[i], 10, 64); err != nil {
			return t, fmt.Errorf("%w: %q: %w", node.ErrInvalid, text, err)
		}
	}
	t.Lineage = parts[3]
	return t, nil
}

// TicketOf returns the ticket of the generation that begins with a view.
func TicketOf(v *view.View) Ticket {
	return Ticket{v.Generation, v.Parent.Epoch, v.Parent.Term, v.Lineage}
}

// RecoverMajority begins a new generation on the stopped node of a data directory.
// Members are that machine and those that are kept, on whose directories [Follow] is to
// be run with [TicketOf] the view that it returns; all others are given up, whatever
// they had. Ranges that may lack rows are lost in that view.
//
// It is ErrStale if a kept machine is newer, ErrLogLost if this one's log is, and
// ErrMajorityAnswers if nothing needs to be recovered. Otherwise it rests on the
// operator's word that the machines which are given up do not run.
func RecoverMajority(ctx context.Context, r Recovery) (v *view.View, err error) {
	// 1. What the directory shows.
	store, err := openMember(r.FS, r.Dir, r.Logger)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	s, err := inspect(r.FS, store, r.Logger)
	if err != nil {
		return nil, err
	}
	if s.View != nil && view.Begets(s.Identity.Lineage, s.View.Lineage) && s.View.Parent != nil {
		return s.View, store.SetIdentity(recoveredIdentity(s.View)) // interrupted before its last step
	}
	if s.View == nil {
		return nil, fmt.Errorf("%w: %s is missing, or older than what the machine has adopted: run this on another machine that is left; it may keep this one",
			ErrLogLost, filepath.Join(store.Dir(), raftDir))
	}
	if s.View.Find(s.ID) == nil {
		return nil, fmt.Errorf("%w: %s: it has no view with this machine", ErrNotMember, r.Dir)
	}
	// 2. Whether this is the machine to do it on.
	plan := view.Recovery{Keep: []trie.MachineID{s.ID}, Name: newLineage(), Term: s.Term, After: max(s.Epoch, s.Seen.Epoch)}
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
	if err := r.askOthers(ctx, s); err != nil {
		return nil, err
	}
	// 3. The generation. A majority that is given up may have gone on alone.
	plan.Lost = !r.NoneNewer && len(s.View.Members)-len(plan.Keep) >= majorityOf(len(s.View.Members))
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

// majorityOf returns how many of so many members may be a majority of the voters.
func majorityOf(members int) int {
	voters := min(members, maxVoters)
	if voters > 2 && voters%2 == 0 {
		voters--
	}
	return voters/2 + 1
}

func recoveredIdentity(v *view.View) node.Identity {
	return node.Identity{Cluster: v.Cluster, ClusterID: v.ClusterID, Generation: v.Generation, Lineage: v.Lineage, Minor: v.Minor}
}

// askOthers returns [ErrMajorityAnswers] if the members that answer, with this machine,
// are a majority.
func (r *Recovery) askOthers(ctx context.Context, s Stopped) error {
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

// askTimeout bounds how long a member's address is tried.
const askTimeout = 3 * time.Second

// Answering returns the other members in the view of a stopped machine at whose
// addresses something answers. network nil is the machine's.
func Answering(ctx context.Context, network port.Network, s Stopped) (answering []view.Member) {
	if network == nil {
		network = port.Host
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
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
				_ = c.Close() // that it was opened is the answer
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

// Following says how a kept machine is prepared for a new generation.
type Following struct {
	// FS holds Dir, the data directory of a stopped node; nil is the disk.
	FS  vfs.FS
	Dir string
	// Addresses are those of members of the new generation.
	Addresses []string
	Ticket    Ticket
	// Overrule goes on if this machine is newer than the view that the generation began
	// from. Then the cluster marks all ranges as lost.
	Overrule bool
	Logger   *slog.Logger
}

// Follow prepares the stopped node of a data directory for a new generation that
// [RecoverMajority] begins elsewhere and that keeps this machine: it forgets what was
// agreed on in the old one and keeps its data. If it was interrupted it can be repeated.
func Follow(f Following) (err error) {
	if len(f.Addresses) == 0 {
		return fmt.Errorf("%w: no address of a member of the new generation", node.ErrInvalid)
	}
	store, err := openMember(f.FS, f.Dir, f.Logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	s, err := inspect(f.FS, store, f.Logger)
	if err != nil {
		return err
	}
	fs := f.FS
	if fs == nil {
		fs = vfs.Default
	}
	if s.Identity.Lineage == f.Ticket.Lineage {
		return node.LeaveWord(fs, store.Dir(), f.Addresses)
	}
	if s.Identity.Generation+1 != f.Ticket.Generation || !view.Begets(s.Identity.Lineage, f.Ticket.Lineage) {
		return fmt.Errorf("machine %s is of generation %d, lineage %q: the ticket is of generation %d, lineage %q, which did not begin from that",
			s.ID, s.Identity.Generation, s.Identity.Lineage, f.Ticket.Generation, f.Ticket.Lineage)
	}
	began := Position{Generation: f.Ticket.Generation - 1, Epoch: f.Ticket.Epoch, Term: f.Ticket.Term}
	if s.Newer(began) && !f.Overrule {
		return fmt.Errorf("%w: this one, %s, has generation %d, epoch %d (term %d), and the new generation began from epoch %d (term %d): what was acknowledged "+
			"between is on this machine. Stop the new generation and recover on this machine instead, or say --overrule: then all ranges are marked as lost",
			ErrStale, s.ID, s.Generation, s.Epoch, s.Term, began.Epoch, began.Term)
	}
	// The word comes first: without it a machine that has no log does not start.
	if err := node.LeaveWord(fs, store.Dir(), f.Addresses); err != nil {
		return err
	}
	if err := fs.RemoveAll(filepath.Join(store.Dir(), raftDir)); err != nil {
		return err
	}
	identity := s.Identity
	identity.Generation, identity.Lineage = f.Ticket.Generation, f.Ticket.Lineage
	if s.Newer(began) {
		identity.Followed = &node.Seen{Generation: s.Generation, Epoch: max(s.Epoch, began.Epoch+1)}
	}
	return store.SetIdentity(identity)
}

func openMember(fs vfs.FS, dir string, logger *slog.Logger) (*node.Store, error) {
	store, err := node.Open(dir, node.Options{Member: true, FS: fs, Logger: logger})
	if err != nil {
		return nil, err
	}
	if _, ok := store.Identity(); !ok {
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrNotMember, dir), store.Close())
	}
	return store, nil
}
