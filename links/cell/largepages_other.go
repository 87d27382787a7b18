//go:build !linux

package cell

// useLargePages does nothing: other systems choose the size of pages themselves.
func useLargePages([]byte) {}
