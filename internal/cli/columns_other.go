// The width of a terminal on other systems.

//go:build !unix

package cli

import "os"

// columnsOf returns 0, because the width is not known.
func columnsOf(*os.File) int { return 0 }
