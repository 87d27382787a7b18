// The flag for reserved memory on Linux.

package arena

import "syscall"

// mapNoReserve keeps reserved pages out of the kernel's commit account.
const mapNoReserve = syscall.MAP_NORESERVE
