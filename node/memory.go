package node

import (
	"bytes"
	"os"
	"strconv"
)

// memoryBytes returns how much memory this process may use: the machine's, or
// less where a control group says so. Where that cannot be told it is 1 GiB.
func memoryBytes() int64 {
	total := int64(1 << 30)
	if info, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range bytes.Lines(info) {
			fields := bytes.Fields(line)
			if len(fields) >= 2 && string(fields[0]) == "MemTotal:" {
				if kib, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
					total = kib << 10
				}
				break
			}
		}
	}
	for _, limit := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if b, err := os.ReadFile(limit); err == nil {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64); err == nil && n > 0 {
				total = min(total, n)
			}
		}
	}
	return total
}
