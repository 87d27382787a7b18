package node

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// SetAside makes the data directory dir, which no process has open, that of a new
// machine, without data, which is to join the cluster whose members are at these
// addresses (see [Rejoin]). What dir held goes into another directory below its
// aside/, whose path is returned. Nothing of it enters the cluster again by itself:
// the cluster has the same rows on other machines, and newer ones. The operator
// deletes it, or looks there for rows of ranges that were lost. fs nil is the disk.
//
// Where it is interrupted it can be repeated.
func SetAside(fs vfs.FS, dir string, addresses []string) (kept string, err error) {
	if fs == nil {
		fs = vfs.Default
	}
	// First of all: a process that dies on the way must not come up as a node alone.
	if err := LeaveWord(fs, dir, addresses); err != nil {
		return "", err
	}
	names, err := fs.List(dir)
	if err != nil {
		return "", err
	}
	if kept, err = newAside(fs, dir); err != nil {
		return "", err
	}
	// VERSION goes last: without it what is left would be taken for a new machine's.
	move := func(name string) error { return fs.Rename(fs.PathJoin(dir, name), fs.PathJoin(kept, name)) }
	versioned := false
	for _, name := range names {
		switch name {
		case asideName, rejoinName, lockName:
			continue
		case versionName:
			versioned = true
			continue
		}
		if err := move(name); err != nil {
			return "", err
		}
	}
	if versioned {
		if err := move(versionName); err != nil {
			return "", err
		}
	}
	return kept, errors.Join(syncDirectory(fs, kept), syncDirectory(fs, dir))
}

// newAside makes the first directory below aside/ that is not there yet.
func newAside(fs vfs.FS, dir string) (string, error) {
	for i := 1; ; i++ {
		kept := fs.PathJoin(dir, asideName, fmt.Sprint(i))
		_, err := fs.Stat(kept)
		if oserror.IsNotExist(err) {
			return kept, fs.MkdirAll(kept, 0o755)
		}
		if err != nil {
			return "", err
		}
	}
}

// LeaveWord writes into the data directory dir whom its machine is to join when it
// is started again: the members at these addresses.
func LeaveWord(fs vfs.FS, dir string, addresses []string) error {
	if err := writeFile(fs, fs.PathJoin(dir, rejoinName), []byte(strings.Join(addresses, "\n")+"\n")); err != nil {
		return err
	}
	return syncDirectory(fs, dir)
}

// Joined removes that word: the machine is a member.
func Joined(fs vfs.FS, dir string) error {
	err := fs.Remove(fs.PathJoin(dir, rejoinName))
	if oserror.IsNotExist(err) {
		return nil
	}
	return err
}

// Rejoin returns the addresses that [LeaveWord] or [SetAside] has left in dir; none
// where the machine is a member since.
func Rejoin(fs vfs.FS, dir string) ([]string, error) {
	f, err := fs.Open(fs.PathJoin(dir, rejoinName))
	if oserror.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return strings.Fields(string(b)), errors.Join(err, f.Close())
}
