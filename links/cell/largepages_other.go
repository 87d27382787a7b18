// Large pages of memory: nothing to do on other systems.

//go:build !linux

package cell

// useLargePages does nothing: other systems choose the size of pages themselves.
func useLargePages([]byte) {}
