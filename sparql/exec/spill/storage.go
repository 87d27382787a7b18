// The temporary files of the environment.

package spill

import (
	"io"
)

// Storage makes temporary files for operators when their memory is full.
type Storage interface {
	Create() (File, error)
}

// File is a temporary file: it is appended to, then read. Close removes it.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
}
