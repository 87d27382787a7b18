package rdfload

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// physicalMemory returns the machine's memory in bytes, or the limit that its
// control group sets where that is less; 4 GiB where neither is known.
func physicalMemory() int64 {
	memory := int64(4 << 30)
	if kib, ok := procField("/proc/meminfo", "MemTotal:"); ok {
		memory = kib << 10
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 {
			memory = min(memory, limit)
		}
	}
	return memory
}

// peakMemory returns the most memory that the process has had in use so far, in
// bytes; 0 where the system does not tell.
func peakMemory() int64 {
	kib, _ := procField("/proc/self/status", "VmHWM:")
	return kib << 10
}

// procField reads a field in kB of a file of the proc filesystem.
func procField(path, field string) (kib int64, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) >= 2 && words[0] == field {
			kib, err := strconv.ParseInt(words[1], 10, 64)
			return kib, err == nil
		}
	}
	return 0, false
}
