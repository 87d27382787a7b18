// Temporary files in memory.

package sparqltest

import (
	"errors"
	"io"

	"github.com/trefoildb/trefoil/sparql/exec/spill"
)

// Files are temporary files in memory. They may fail on request.
type Files struct {
	Made, Open, Most int
	Bytes            int64
	FailAt           int64                    // number of the first byte to fail; 0 for none
	Spoil            func(data []byte) []byte // changes a file before it is read
	CreateAt         int                      // number of the file to fail at its creation; 0 for none
}

// ErrDisk is the error of a failed write or file.
var ErrDisk = errors.New("no space left on device")

// Create makes a file.
func (f *Files) Create() (spill.File, error) {
	f.Made++
	if f.Made == f.CreateAt {
		return nil, ErrDisk
	}
	f.Open++
	f.Most = max(f.Most, f.Open)
	return &file{files: f}, nil
}

type file struct {
	files  *Files
	data   []byte
	read   bool
	closed bool
}

func (f *file) Write(b []byte) (int, error) {
	if f.closed || f.read {
		return 0, errors.New("written after it was read")
	}
	f.files.Bytes += int64(len(b))
	if f.files.FailAt > 0 && f.files.Bytes >= f.files.FailAt {
		return 0, ErrDisk
	}
	f.data = append(f.data, b...)
	return len(b), nil
}

func (f *file) ReadAt(b []byte, at int64) (int, error) {
	if f.closed {
		return 0, errors.New("read after it was closed")
	}
	if !f.read && f.files.Spoil != nil {
		f.data = f.files.Spoil(f.data)
	}
	f.read = true
	n := copy(b, f.data[min(at, int64(len(f.data))):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Close() error {
	if f.closed {
		return errors.New("closed twice")
	}
	f.closed = true
	f.files.Open--
	return nil
}
