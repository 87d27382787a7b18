// The events of a run, for integration/replay to compare.

package cluster

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// events writes what happens in a world to the file TREFOIL_EVENTS, a line each. A
// nil one writes nothing.
type events struct {
	start time.Time

	mu   sync.Mutex
	file *os.File
}

// newEvents returns nil if TREFOIL_EVENTS is not set.
func newEvents(t *testing.T) *events {
	name := os.Getenv("TREFOIL_EVENTS")
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	return &events{start: time.Now(), file: f}
}

func (e *events) add(format string, args ...any) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	fmt.Fprintf(e.file, "%d "+format+"\n", append([]any{int64(time.Since(e.start))}, args...)...)
}

// Write adds a line of a log.
func (e *events) Write(line []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.file.Write(line)
}

func (e *events) close() {
	if e != nil {
		e.file.Close()
	}
}

// sent adds what a network carries.
func (e *events) sent(from, to netip.AddrPort, kind string, text []byte) {
	e.add("%s %s>%s %d %x", kind, from, to, len(text), sum(text))
}

// sum tells contents apart.
func sum(text []byte) uint64 {
	h := fnv.New64a()
	h.Write(text)
	return h.Sum64()
}

// disk returns a file system that adds what is done to it.
func (e *events) disk(of string, fs vfs.FS) vfs.FS {
	if e == nil {
		return fs
	}
	return &eventFS{FS: vfs.WithLogging(fs, func(format string, args ...any) { e.add("disk %s %s", of, fmt.Sprintf(format, args...)) }), of: of, events: e}
}

// eventFS adds what is written to files; opening, syncing and renaming are added by
// the file system below it.
type eventFS struct {
	vfs.FS
	of     string
	events *events
}

func (f *eventFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	return f.wrap(name, file, err)
}

func (f *eventFS) ReuseForWrite(before, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(before, name, c)
	return f.wrap(name, file, err)
}

func (f *eventFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.OpenReadWrite(name, c, opts...)
	return f.wrap(name, file, err)
}

func (f *eventFS) Unwrap() vfs.FS { return f.FS }

func (f *eventFS) wrap(name string, file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &eventFile{file, name, f}, nil
}

type eventFile struct {
	vfs.File
	name string
	fs   *eventFS
}

func (f *eventFile) Write(b []byte) (int, error) {
	f.fs.events.add("disk %s write %s %d %x", f.fs.of, f.name, len(b), sum(b))
	return f.File.Write(b)
}
