// Tests of what is available, and of the shares.

package memory

import (
	"os"
	"path/filepath"
	"testing"
)

const machine = "MemTotal:       16777216 kB\nMemFree: 1 kB\n"

func TestAvailable(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known": {nil, 1 << 30},
		"no group":      {map[string]string{"proc/meminfo": machine}, 16 << 30},
		"v2 in a namespace of its own": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/\n",
			"proc/self/mountinfo":       "30 24 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n",
			"sys/fs/cgroup/memory.max":  "2147483648\n",
			"sys/fs/cgroup/memory.high": "max\n",
		}, 2 << 30},
		"v2 nested, the group above has less": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/a.slice/b.scope\n",
			"proc/self/mountinfo":                        "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/a.slice/memory.max":           "1073741824\n",
			"sys/fs/cgroup/a.slice/b.scope/memory.max":   "max\n",
			"sys/fs/cgroup/a.slice/b.scope/memory.high":  "3221225472\n",
			"sys/fs/cgroup/other.slice/memory.max":       "1\n",
			"sys/fs/cgroup/a.slice/b.scope/c/memory.max": "1\n",
		}, 1 << 30},
		"v2, throttled before its limit": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/s\n",
			"proc/self/mountinfo":         "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/s/memory.max":  "3221225472\n",
			"sys/fs/cgroup/s/memory.high": "1073741824\n",
		}, 1 << 30},
		"v1 nested": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "9:name=systemd:/x\n4:cpu,memory:/a/b\n0::/\n",
			"proc/self/mountinfo": "30 24 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
				"31 24 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes":   "536870912\n",
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
		}, 512 << 20},
		"v1 of a container: its group is the top of the mount": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "4:memory:/docker/abc\n",
			"proc/self/mountinfo":                        "30 24 0:26 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "6442450944\n",
			"sys/fs/cgroup/memory/memory.stat":           "cache 1\nhierarchical_memory_limit 4294967296\n",
		}, 4 << 30},
		"v1, a group that the mount does not show": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "4:memory:/elsewhere\n",
			"proc/self/mountinfo":                        "30 24 0:26 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "6442450944\n",
		}, 6 << 30},
		"a limit beyond the machine": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/\n",
			"proc/self/mountinfo":      `30 24 0:26 / /sys/fs/a\040b rw - cgroup2 cgroup2 rw` + "\n",
			"sys/fs/a b/memory.max":    "99999999999\n",
			"sys/fs/cgroup/memory.max": "1\n",
		}, 16 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for path, text := range test.files {
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := availableUnder(root); got != test.want {
				t.Errorf("%d bytes, want %d", got, test.want)
			}
		})
	}
}

// TestDivide: the shares of every size fit in it, and so does what the heap may grow
// to beside what is outside of it.
func TestDivide(t *testing.T) {
	for total := int64(512 << 20); total < 1<<42; total += total / 7 {
		s := Divide(total)
		inHeap := s.Queue + s.Queries + s.Documents
		outside := s.Cache + memTables*s.MemTable + s.Load
		if sum := inHeap + outside; sum > total/4*3+1<<20 {
			t.Errorf("of %d MiB %d MiB are given away", total>>20, sum>>20)
		}
		if limit := s.HeapLimit(); cacheOutsideHeap && (limit+outside > total || limit < inHeap*5/4) {
			t.Errorf("of %d MiB the heap may have %d MiB: it holds %d MiB, and %d MiB are outside", total>>20, limit>>20, inHeap>>20, outside>>20)
		}
		if s.Query > s.Queries || s.Update > s.Queries {
			t.Errorf("of %d MiB one query has more than all: %+v", total>>20, s)
		}
	}
}
