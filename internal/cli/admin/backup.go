// Package admin has the commands for a store as a whole and what a server keeps beside triples: backup, restore, check,
// functions, subscriptions, search and text.
package admin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/atomicfile"
	"github.com/trefoildb/trefoil/internal/backup"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/directory"
)

// BackupCmd writes a consistent copy of a store or a cluster, or what has changed since an earlier one.
// The store may be served meanwhile.
type BackupCmd struct {
	target.StoreFlags
	Since  string `placeholder:"BACKUP" help:"Write only what has changed since this backup: a file, or a directory whose last one it is."`
	Full   bool   `help:"Into a directory: write a full backup, also if there is one to continue."`
	Force  bool   `help:"Replace TARGET if it is a file that exists."`
	Target string `arg:"" help:"The tar file to write; - is standard output. In a directory, the next backup of its chain: a full one, then increments."`
}

func (c *BackupCmd) Run(e *console.Env) error {
	// 1. Find the position of the backup to continue. Two backups of a directory at a time would take
	// one name, and one of them would be lost.
	if isDirectory(c.Target) {
		lock, err := lockChain(c.Target)
		if err != nil {
			return err
		}
		defer lock.Close()
	}
	since, path, err := c.plan()
	if err != nil {
		return err
	}
	write := func(w io.Writer) error {
		counted := console.NewCountedWriter(w)
		defer e.Working("backup", counted.Written)()
		return explainGone(c.With(e, target.Opening{}, func(s target.Store) error {
			if since.IsZero() {
				return s.Backup(e.Ctx, counted)
			}
			return s.Admin.BackupSince(e.Ctx, counted, since.String())
		}))
	}
	if path == "-" {
		if console.IsTerminal(e.Stdout) {
			return console.Usagef("a backup is not for a terminal: name a file, or pipe it on")
		}
		return write(e.Stdout)
	}
	// 2. Write a new file.
	if _, err := os.Stat(path); err == nil && !c.Force {
		return fmt.Errorf("%s exists; --force replaces it", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := atomicfile.Replace(atomicfile.OS, path, 0o600, write); err != nil {
		return err
	}
	if path != c.Target {
		e.Sayf("wrote %s", path)
	}
	return nil
}

// plan returns the position where the backup begins, zero if it is full, and its path.
func (c *BackupCmd) plan() (since feed.Position, path string, err error) {
	// 1. A directory has a chain.
	if isDirectory(c.Target) {
		if c.Since != "" && filepath.Clean(c.Since) != filepath.Clean(c.Target) {
			return since, "", console.Usagef("%s is a directory: its backups continue its own last one, and --since is for files", c.Target)
		}
		files, err := backup.List(c.Target)
		if err != nil {
			return since, "", err
		}
		full := c.Full || len(files) == 0
		if !full {
			since = files[len(files)-1].End
		}
		name, err := backup.NextName(files, full)
		return since, filepath.Join(c.Target, name), err
	}
	// 2. A file is full, or continues another one.
	switch {
	case c.Full:
		return since, "", console.Usagef("--full is for a directory: without --since, a file is a full backup")
	case c.Since == "":
		return since, c.Target, nil
	}
	before, err := archivesOf([]string{c.Since})
	if err != nil {
		return since, "", err
	}
	return before[len(before)-1].End, c.Target, nil
}

// lockChain makes a directory of backups if it is missing, and locks it against other backups until
// the result is closed. The lock of a process that was killed does not stay.
func lockChain(dir string) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := directory.Lock(vfs.Default, dir)
	if errors.Is(err, store.ErrLocked) {
		err = console.WithHint(fmt.Errorf("another backup is being written into %s", dir), "Wait until it has ended, or name another directory.")
	}
	return lock, err
}

// isDirectory reports whether a path is a directory, or is to be one because it ends with a slash.
func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() || err != nil && strings.HasSuffix(path, string(filepath.Separator))
}

// archivesOf describes the archives that arguments name: files, or one directory.
func archivesOf(paths []string) ([]backup.File, error) {
	if len(paths) == 1 && isDirectory(paths[0]) {
		files, err := backup.List(paths[0])
		if err == nil && len(files) == 0 {
			err = fmt.Errorf("%s has no backups: their names are like 00000001-full.tar", paths[0])
		}
		return files, err
	}
	var files []backup.File
	for _, path := range paths {
		f, err := backup.Stat(path)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// explainGone adds a hint to the errors after which only a full backup helps.
func explainGone(err error) error {
	var answer *client.Error
	switch {
	case errors.Is(err, feed.ErrGone), errors.As(err, &answer) && answer.Status == http.StatusGone:
		return console.WithHint(err, "Make a full backup: a directory as target takes it with --full. A longer --feed-retention of trefoil serve leaves more time between two backups.")
	case errors.Is(err, feed.ErrPosition), errors.As(err, &answer) && answer.Where == "since":
		return console.WithHint(err, "The earlier backup is of another store, or of the original of a restored one. Make a full backup: a directory as target takes it with --full.")
	}
	return err
}

// RestoreCmd makes a store of backups.
type RestoreCmd struct {
	target.StoreFlags
	Until       string   `placeholder:"T" help:"Restore the state of this moment: a time such as 2026-11-23T18:30:00Z, or a position of the change feed. The end of the last backup by default."`
	NewIdentity bool     `help:"With --data: give the copy a machine ID of its own, so that it may run besides its original."`
	Files       []string `arg:"" name:"backup" help:"A full backup and its increments in order, or the directory that has them; - is standard input, where they follow one another."`
}

func (c *RestoreCmd) Run(e *console.Env) error {
	// 1. Check the arguments.
	local, err := c.Local()
	switch {
	case err != nil:
		return err
	case !local && c.To == "":
		return console.Usagef("name where to: --data DIR makes a data directory, --to URL fills an empty server or cluster")
	case !local && c.NewIdentity:
		return console.Usagef("--new-identity is for --data")
	}
	o := backup.Options{Version: console.ThisVersion().Version}
	if c.Until != "" {
		if o.Until, err = backup.ParseUntil(c.Until); err != nil {
			return console.Usagef("--until: %w", err)
		}
	}
	// 2. Choose the backups, and restore them.
	chain, err := c.chain(e, o.Until)
	if err != nil {
		return err
	}
	defer e.Working("restore", nil)()
	if !local {
		return c.send(e, chain, o)
	}
	n, err := backup.Restore(e.Ctx, c.Data, chain, o)
	if err != nil {
		return err
	}
	if c.NewIdentity {
		if err := directory.NewIdentity(c.Data); err != nil {
			return err
		}
	}
	c.report(e, chain, c.Data, n)
	return nil
}

// chain returns the backups that are needed.
func (c *RestoreCmd) chain(e *console.Env, until backup.Until) ([]backup.Archive, error) {
	if len(c.Files) == 1 && c.Files[0] == "-" {
		return []backup.Archive{{Name: "standard input", Open: func() (io.ReadCloser, error) { return io.NopCloser(e.Input()), nil }}}, nil
	}
	files, err := archivesOf(c.Files)
	if err != nil {
		return nil, err
	}
	if files, err = backup.Plan(files, until); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	var chain []backup.Archive
	for _, f := range files {
		chain = append(chain, f.Archive())
	}
	return chain, nil
}

// send restores into a server. All backups of files are verified first, because a part of a chain
// would stay in the server.
func (c *RestoreCmd) send(e *console.Env, chain []backup.Archive, o backup.Options) error {
	// 1. Verify.
	var all []io.Reader
	for _, a := range chain {
		in, err := a.Open()
		if err != nil {
			return err
		}
		defer in.Close()
		f, ok := in.(io.ReadSeeker)
		if ok {
			if _, err := backup.Read(in); err != nil {
				return fmt.Errorf("%s: %w", a.Name, err)
			}
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
		}
		all = append(all, in)
	}
	// 2. Send one behind the other.
	return c.Request(e, func(to *client.Client) error {
		s, err := to.Admin.Restore(e.Ctx, io.MultiReader(all...), o.Until.String())
		if err == nil {
			c.report(e, chain, c.URL(), backup.Counts(s))
		}
		return err
	})
}

func (c *RestoreCmd) report(e *console.Env, chain []backup.Archive, into string, n backup.Counts) {
	if n == (backup.Counts{}) {
		e.Sayf("restored %s into %s", chain[0].Name, into)
		return
	}
	e.Sayf("restored %s into %s: %s with %s, %s, %s with %s", console.Plural(int64(len(chain)), "backup"), into,
		console.Plural(n.Triples, "triple"), console.Plural(n.Annotations, "annotation"), console.Plural(n.Changes, "change"), console.Plural(n.Loads, "bulk load"), console.Plural(n.LoadRows, "new triple"))
}
