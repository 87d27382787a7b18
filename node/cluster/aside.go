package cluster

import (
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// asideDir is where the data of a machine is kept that the cluster went on
// without, below the data directory.
const asideDir = "aside"

// SetAside makes a data directory, which no process has open, an empty one of a
// new machine that will join the members at the addresses. What the directory held
// goes into another one below aside/, whose path is returned. Nothing of it enters
// the cluster again by itself: the cluster has the same rows on other machines, and
// newer ones. The operator deletes it, or looks there for rows of ranges that were
// lost.
func SetAside(fs vfs.FS, dir string, addresses []string) (kept string, err error) {
	// First of all: a process that dies on the way must not come up as a node alone.
	if err := writeRejoin(fs, dir, addresses); err != nil {
		return "", err
	}
	entries, err := fs.List(dir)
	if err != nil {
		return "", err
	}
	for i := 1; ; i++ {
		kept = filepath.Join(dir, asideDir, fmt.Sprint(i))
		if _, err := fs.Stat(kept); oserror.IsNotExist(err) {
			break
		} else if err != nil {
			return "", err
		}
	}
	if err := fs.MkdirAll(kept, 0o755); err != nil {
		return "", err
	}
	for _, name := range entries {
		switch name {
		case asideDir, rejoinFile, "LOCK":
			continue
		}
		if err := fs.Rename(filepath.Join(dir, name), filepath.Join(kept, name)); err != nil {
			return "", err
		}
	}
	return kept, syncDir(fs, dir)
}

// Members returns addresses of the others, for [SetAside].
func (n *Node) Members() []string { return n.others() }
