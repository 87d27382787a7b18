//go:build unix

package rdfload

import "syscall"

// reserve returns zeroed memory whose pages exist once they are written.
func reserve(bytes int) ([]byte, error) {
	return syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|mapNoReserve)
}

func unreserve(region []byte) { _ = syscall.Munmap(region) } // fails for a wrong region only
