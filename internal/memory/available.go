// The memory available to the process: the machine's, or the least limit of its control groups.

package memory

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// unknown is the result if the memory cannot be found out.
const unknown = 1 << 30

// Available returns the bytes available to the process: the machine's memory or, if it is less, the
// least limit of its control groups (v1 and v2), with those above its own. If neither is known, it
// is 1 GiB.
func Available() int64 { return availableUnder("/") }

// availableUnder is Available over the file system below root.
func availableUnder(root string) int64 {
	total := int64(unknown)
	if kib, ok := field(read(root, "proc/meminfo"), "MemTotal:"); ok {
		total = kib << 10
	}
	for _, limit := range groupLimits(root) {
		total = min(total, limit)
	}
	return total
}

// Peak returns the most memory of the process so far, in bytes; 0 if the system does not report it.
func Peak() int64 {
	kib, _ := field(read("/", "proc/self/status"), "VmHWM:")
	return kib << 10
}

// groupLimits returns the limits of the process's control groups.
func groupLimits(root string) []int64 {
	var limits []int64
	mounts := groupMounts(root)
	for _, g := range groups(root) {
		for _, m := range mounts {
			if m.v2 == g.v2 {
				limits = append(limits, m.limits(root, g.path)...)
			}
		}
	}
	return limits
}

// group is a control group of the process with a controller of memory.
type group struct {
	v2   bool
	path string
}

// groups reads /proc/self/cgroup: a line is id:controllers:path, and of v2 0::path.
func groups(root string) []group {
	var found []group
	for line := range strings.Lines(string(read(root, "proc/self/cgroup"))) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		v2 := parts[1] == ""
		if v2 || slices.Contains(strings.Split(parts[1], ","), "memory") {
			found = append(found, group{v2, parts[2]})
		}
	}
	return found
}

// mount is a mounted hierarchy of control groups, with its top group, because a container sees only
// its own groups.
type mount struct {
	v2       bool
	top, dir string
}

// groupMounts reads /proc/self/mountinfo:
//
//	36 35 98:0 /top /dir rw,noatime master:1 - cgroup cgroup rw,memory
func groupMounts(root string) []mount {
	var found []mount
	for line := range strings.Lines(string(read(root, "proc/self/mountinfo"))) {
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(kind) < 3 {
			continue
		}
		v1 := kind[0] == "cgroup" && slices.Contains(strings.Split(kind[2], ","), "memory")
		if v1 || kind[0] == "cgroup2" {
			found = append(found, mount{!v1, unescape(fields[3]), unescape(fields[4])})
		}
	}
	return found
}

// unescape undoes the escapes of mountinfo.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// limits returns the limits of a group and of those above it, as far as the mount shows them. If
// the mount does not have the path, the path counts as its top.
func (m mount) limits(root, path string) []int64 {
	below, err := filepath.Rel(m.top, path)
	if err != nil || below == ".." || strings.HasPrefix(below, "../") {
		below = "."
	}
	var limits []int64
	for {
		limits = append(limits, m.limitsOf(root, filepath.Join(m.dir, below))...)
		if below == "." {
			return limits
		}
		below = filepath.Dir(below)
	}
}

// limitsOf returns the limits in one group's directory.
func (m mount) limitsOf(root, dir string) []int64 {
	var limits []int64
	add := func(text []byte) {
		// "max", and the greatest number of pages of v1, are no limit.
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && n > 0 && n < 1<<60 {
			limits = append(limits, n)
		}
	}
	if m.v2 {
		add(read(root, filepath.Join(dir, "memory.max")))
		add(read(root, filepath.Join(dir, "memory.high")))
		return limits
	}
	add(read(root, filepath.Join(dir, "memory.limit_in_bytes")))
	if n, ok := field(read(root, filepath.Join(dir, "memory.stat")), "hierarchical_memory_limit"); ok {
		add(strconv.AppendInt(nil, n, 10)) // also of groups above the visible ones
	}
	return limits
}

// read returns a file's content; nil if it cannot be read.
func read(root, path string) []byte {
	b, _ := os.ReadFile(filepath.Join(root, path))
	return b
}

// field returns the number behind a name at the beginning of a line.
func field(text []byte, name string) (int64, bool) {
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) >= 2 && words[0] == name {
			n, err := strconv.ParseInt(words[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
