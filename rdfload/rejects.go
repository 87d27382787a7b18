// The file of rejected statements.

package rdfload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// rejectFile collects the rejected statements of a load in its directory, because the report must
// be complete even after an interruption. add is safe for concurrent use.
type rejectFile struct {
	mu   sync.Mutex
	file *os.File
	out  *bufio.Writer
	size int64
	err  error
}

// openRejects opens the rejects of a load in dir and cuts the file to size bytes. The rest is cut
// off because its statements will be read again.
func openRejects(dir string, size int64) (*rejectFile, error) {
	f, err := os.OpenFile(filepath.Join(dir, rejectsName), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(size); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(size, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &rejectFile{file: f, out: bufio.NewWriter(f), size: size}, nil
}

// add appends a rejected statement. An error is kept, and sync returns it.
func (r *rejectFile) add(reject Reject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return
	}
	n, err := writeReject(r.out, reject)
	r.size += int64(n)
	r.err = err
}

// writeReject writes a rejected statement: "# place: reason", then its text. Line ends inside the
// text stay. It returns the number of bytes written.
func writeReject(w io.Writer, reject Reject) (int, error) {
	reason := strings.NewReplacer("\n", " ", "\r", " ").Replace(reject.SyntaxError.Error())
	return fmt.Fprintf(w, "# %s\n%s\n", reason, strings.TrimRight(reject.Text, "\r\n"))
}

// sync makes all rejects durable and returns the size of the file.
func (r *rejectFile) sync() (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = r.out.Flush()
	}
	if r.err == nil {
		r.err = r.file.Sync()
	}
	return r.size, r.err
}

// copyTo copies all rejects to w, if w is not nil.
func (r *rejectFile) copyTo(w io.Writer) error {
	if _, err := r.sync(); err != nil || w == nil {
		return err
	}
	_, err := io.Copy(w, io.NewSectionReader(r.file, 0, r.size))
	return err
}

// copyRejects copies the rejects of a published load in dir to w, if w is not nil. A missing file
// has no rejects.
func copyRejects(w io.Writer, dir string) error {
	if w == nil {
		return nil
	}
	f, err := os.Open(filepath.Join(dir, rejectsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}

func (r *rejectFile) close() error { return r.file.Close() }
