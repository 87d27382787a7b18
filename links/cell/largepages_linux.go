// Large pages of memory below a cell, on Linux.

package cell

import (
	"syscall"
	"unsafe"
)

const (
	largePage      = 2 << 20
	adviseCollapse = 25 // MADV_COLLAPSE, since Linux 6.1: at once
	adviseHugePage = 14 // MADV_HUGEPAGE: in the background
)

// useLargePages requests large pages for the memory of b. One list is read from some twenty
// places all over its cell. With pages of 4 KiB most of their addresses miss the processor's
// TLB, and each miss walks the page tables. If the kernel declines, reads are only slower.
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

// largePages returns the start and the length of the large pages within length bytes from first
// on. bytes is 0 if there is none.
func largePages(first, length uintptr) (from, bytes uintptr) {
	from = (first + largePage - 1) &^ (largePage - 1)
	if end := (first + length) &^ (largePage - 1); end > from {
		return from, end - from
	}
	return from, 0
}
