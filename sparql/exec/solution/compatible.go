// The compatibility of rows (section 18.3).

package solution

// Compatible reports whether two rows agree wherever both are bound.
func Compatible(a, b []string, slots []int) bool {
	for _, s := range slots {
		if a[s] != b[s] && a[s] != "" && b[s] != "" {
			return false
		}
	}
	return true
}

// Merge copies the bindings of other into row.
func Merge(row, other []string) {
	for i, cell := range other {
		if cell != "" {
			row[i] = cell
		}
	}
}
