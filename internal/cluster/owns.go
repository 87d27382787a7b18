// Work that one member of the cluster does at a time.

package cluster

// Owns reports whether this machine owns the row with a key and has a lease. Of work that belongs to
// a row, its owner does all: another member takes over when the machine is excluded. For a moment
// two members may own a row, because the lease is not checked again behind Owns. A node that is
// alone owns all.
func (n *Node) Owns(key []byte) bool {
	if n.alone() {
		return true
	}
	v := n.View()
	if v == nil || n.Lease() != nil {
		return false
	}
	machine, ok := v.Joint().Reader(key)
	return ok && machine == n.self
}
