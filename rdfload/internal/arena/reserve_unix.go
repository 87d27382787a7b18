//go:build unix

// Arenas on Unix: memory of mmap.

package arena

import "syscall"

// reserve returns zeroed memory. A page takes real memory only when it is first written.
func reserve(bytes int) ([]byte, error) {
	return syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|mapNoReserve)
}

func unreserve(region []byte) { _ = syscall.Munmap(region) } // fails only if the region is wrong
