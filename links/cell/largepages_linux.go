// This file asks Linux for large pages below a cell.

package cell

import (
	"syscall"
	"unsafe"
)

const (
	largePage      = 2 << 20
	adviseCollapse = 25 // MADV_COLLAPSE, since Linux 6.1: now
	adviseHugePage = 14 // MADV_HUGEPAGE: by and by
)

// useLargePages has what large pages lie within b backed by such. One list is read from
// some twenty places all over its cell; with pages of 4 KiB most of them are none that the
// processor has the address of at hand, and it goes through the tables of pages for each.
// It is a wish: where the kernel does not grant it, reads are slower.
func useLargePages(b []byte) {
	first := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	from, length := largePages(first, uintptr(len(b)))
	if length == 0 {
		return
	}
	_, _, errno := syscall.Syscall(syscall.SYS_MADVISE, from, length, adviseCollapse)
	if errno == syscall.EINVAL {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, length, adviseHugePage)
	}
}

// largePages returns where the large pages that lie within length bytes from first on
// begin, and how many bytes they are; 0 where there is none.
func largePages(first, length uintptr) (from, bytes uintptr) {
	from = (first + largePage - 1) &^ (largePage - 1)
	if end := (first + length) &^ (largePage - 1); end > from {
		return from, end - from
	}
	return from, 0
}
