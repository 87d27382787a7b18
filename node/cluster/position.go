// Positions: how far the machine of a stopped directory was.

package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/agreement"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// Position says how far a machine was when its process ended: the newest view in its
// log. Its text is ID@GENERATION.EPOCH.TERM.
type Position struct {
	ID trie.MachineID
	// Generation and Epoch are the view's, Term is the one of Raft in which it was
	// proposed; 0 if the log is lost.
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
		return p, fmt.Errorf("%w: %q is not ID@GENERATION.EPOCH.TERM", node.ErrInvalid, text)
	}
	if p.ID, err = trie.ParseMachineID(id); err != nil {
		return p, err
	}
	for i, to := range []*uint64{&p.Generation, &p.Epoch, &p.Term} {
		if *to, err = strconv.ParseUint(numbers[i], 10, 64); err != nil {
			return p, fmt.Errorf("%w: %q: %w", node.ErrInvalid, text, err)
		}
	}
	return p, nil
}

// Newer reports whether p's machine may have views that were agreed on and that q's has
// not. Terms come first, as in Raft: an epoch of an earlier term may never have been
// agreed on.
func (p Position) Newer(q Position) bool {
	switch {
	case p.Generation != q.Generation:
		return p.Generation > q.Generation
	case p.Term != q.Term && p.Term != 0 && q.Term != 0:
		return p.Term > q.Term
	}
	return p.Epoch > q.Epoch
}

// Stopped is what the directory of a stopped member shows.
type Stopped struct {
	Position
	Identity node.Identity
	// View is the newest in the log, whether it was agreed on or not; nil if the log is
	// lost.
	View *view.View
	// Seen is the newest view that the machine is known to have adopted.
	Seen node.Seen
}

// Inspect returns what the data directory of a stopped member shows. fs nil is the disk.
func Inspect(fs vfs.FS, dir string, logger *slog.Logger) (s Stopped, err error) {
	store, err := openMember(fs, dir, logger)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return inspect(fs, store, logger)
}

func inspect(fs vfs.FS, store *node.Store, logger *slog.Logger) (s Stopped, err error) {
	s.ID = store.MachineID()
	s.Identity, _ = store.Identity()
	if s.Seen, err = store.Seen(); err != nil {
		return s, err
	}
	if s.View, s.Term, err = agreement.Stored(stoppedConfig(fs, store, logger)); err != nil {
		return s, err
	}
	s.Generation, s.Epoch = max(s.Identity.Generation, s.Seen.Generation), s.Seen.Epoch
	if s.View == nil {
		return s, nil
	}
	if s.View.Generation < s.Seen.Generation || s.View.Generation == s.Seen.Generation && s.View.Epoch < s.Seen.Epoch {
		s.View, s.Term = nil, 0 // an older log is as good as none
		return s, nil
	}
	s.Generation, s.Epoch = s.View.Generation, s.View.Epoch
	return s, nil
}

func stoppedConfig(fs vfs.FS, store *node.Store, logger *slog.Logger) agreement.Config {
	return agreement.Config{ID: store.MachineID(), Address: "stopped:0", Dir: filepath.Join(store.Dir(), raftDir), FS: fs, Logger: logger}
}
