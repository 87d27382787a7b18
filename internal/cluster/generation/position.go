// Positions: the newest view in the log of a stopped member.

package generation

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/cluster/agreement"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// Position is the newest view in a machine's log when its process ended. Its text is
// ID@GENERATION.EPOCH.TERM.
type Position struct {
	ID trie.MachineID
	// Generation and Epoch are the view's. Term is Raft's term of its proposal; 0 if the log is
	// lost.
	Generation, Epoch, Term uint64
}

func (p Position) String() string {
	return fmt.Sprintf("%s@%d.%d.%d", p.ID, p.Generation, p.Epoch, p.Term)
}

// ParsePosition is the reverse of [Position.String].
func ParsePosition(text string) (p Position, err error) {
	id, rest, ok := strings.Cut(text, "@")
	numbers := strings.Split(rest, ".")
	if !ok || len(numbers) != 3 {
		return p, fmt.Errorf("%w: %q is not ID@GENERATION.EPOCH.TERM", store.ErrInvalid, text)
	}
	if p.ID, err = trie.ParseMachineID(id); err != nil {
		return p, err
	}
	for i, to := range []*uint64{&p.Generation, &p.Epoch, &p.Term} {
		if *to, err = strconv.ParseUint(numbers[i], 10, 64); err != nil {
			return p, fmt.Errorf("%w: %q: %w", store.ErrInvalid, text, err)
		}
	}
	return p, nil
}

// Newer reports whether p's machine may have agreed views which q's machine lacks. Terms must be
// compared first, as in Raft, because an epoch of an earlier term may never have been agreed on.
func (p Position) Newer(q Position) bool {
	switch {
	case p.Generation != q.Generation:
		return p.Generation > q.Generation
	case p.Term != q.Term && p.Term != 0 && q.Term != 0:
		return p.Term > q.Term
	}
	return p.Epoch > q.Epoch
}

// Stopped is the state of a stopped member, as its directory shows it.
type Stopped struct {
	Position
	Identity store.Identity
	// View is the newest in the log, if it was agreed on or not; nil if the log is lost.
	View *view.View
	// Seen names the newest view the machine has certainly adopted.
	Seen store.AdoptedView
}

// Inspect reads the data directory of a stopped member. If fs is nil it is on the disk.
func Inspect(fs vfs.FS, dir string, logger *slog.Logger) (s Stopped, err error) {
	store, err := openMember(fs, dir, logger)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return inspect(fs, store, logger)
}

func inspect(fs vfs.FS, db *replica.Store, logger *slog.Logger) (s Stopped, err error) {
	s.ID = db.MachineID()
	s.Identity, _ = db.Identity()
	if s.Seen, err = db.Beats().LastView(); err != nil {
		return s, err
	}
	if s.View, s.Term, err = agreement.Stored(stoppedConfig(fs, db, logger)); err != nil {
		return s, err
	}
	s.Generation, s.Epoch = max(s.Identity.Generation, s.Seen.Generation), s.Seen.Epoch
	if s.View == nil {
		return s, nil
	}
	if s.View.Generation < s.Seen.Generation || s.View.Generation == s.Seen.Generation && s.View.Epoch < s.Seen.Epoch {
		s.View, s.Term = nil, 0 // an older log must not be used
		return s, nil
	}
	s.Generation, s.Epoch = s.View.Generation, s.View.Epoch
	return s, nil
}

func stoppedConfig(fs vfs.FS, db *replica.Store, logger *slog.Logger) agreement.Config {
	return agreement.Config{ID: db.MachineID(), Address: "stopped:0", Dir: filepath.Join(db.Dir(), agreement.DirName), FS: fs, Logger: logger}
}
