// What is changed in Go's runtime so that a seed decides all that a process does.

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// edit replaces a text of a file of GOROOT/src. The text must occur exactly once.
type edit struct {
	file, before, after string
}

// edits are all that differs from the runtime of the toolchain. The fake clock is
// the one of the tag faketime: it moves when every goroutine sleeps.
var edits = []edit{
	// 1. Every random number of the runtime follows from TREFOIL_SEED: hashes and
	// orders of maps, select, math/rand and crypto/rand.
	{"runtime/rand.go", "\tseed := &globalRand.seed\n", "\tseed := &globalRand.seed\n\tstartupRand = replaySeed()\n"},
	{"runtime/rand.go", "var readRandomFailed bool\n", seedFunction},
	// One stream serves all threads: which thread runs a goroutine is up to the
	// operating system. The scheduler keeps its own numbers, one stream a thread,
	// because threads that wait draw from them as often as they wake.
	{"runtime/rand.go", "\tc := &mp.chacha8\n", "\tc := &replayState\n"},
	{"runtime/rand.go", "\tmp.chacha8.Init64(seed)\n", "\tif !replayReady {\n\t\treplayReady = true\n\t\treplayState.Init64(seed)\n\t}\n"},
	{"runtime/rand.go", "\tmp.cheaprand = rand()\n", "\tmp.cheaprand = bootstrapRand()\n"},
	{"runtime/select.go", "j := cheaprandn(uint32(norder + 1))", "j := randn(uint32(norder + 1))"},
	{"runtime/time.go", "t.rand = cheaprand()", "t.rand = rand32()"},
	{"crypto/internal/sysrand/rand.go", "func Read(b []byte) {\n", readFunction},

	// 2. One goroutine runs at a time and gives way by itself: there is one
	// processor, and no thread that preempts.
	{"runtime/proc.go", `strconv.ParseInt(gogetenv("GOMAXPROCS"), 10, 32)`, `strconv.ParseInt("1", 10, 32)`},
	{"runtime/proc.go", `const haveSysmon = GOARCH != "wasm"`, `const haveSysmon = false`},
	// No goroutine is locked to a thread while packages are initialized: otherwise a
	// race of threads decides how many of them there are. Their memory is in the heap,
	// and moves what comes after it.
	{"runtime/proc.go", "\tgetg().m.lockedInt++\n\tdolockOSThread()\n", ""},
	{"runtime/proc.go", "\t\tsystemstack(badunlockosthread)\n\t}\n\tgp.m.lockedInt--\n", "\t\treturn\n\t}\n\tgp.m.lockedInt--\n"},

	// 3. Garbage is collected as a whole while the world is stopped. The collector's
	// own goroutines are not scheduled by the time that they take.
	{"runtime/mgc.go", "\tmode := gcBackgroundMode\n", "\tmode := gcForceBlockMode\n"},
	{"runtime/mgcpacer.go", "if debug.gcstoptheworld > 0 {", "if true {"},
	{"runtime/mgcscavenge.go", "\t\treleased, workTime := scavenger.run()\n", "\t\treleased, workTime := uintptr(0), 0.0\n"},

	// 4. Virtual time goes on while a goroutine waits for a mutex whose holder sleeps:
	// a disk that takes time does so wherever it is used.
	{"runtime/runtime2.go", "\twaitReasonSyncCondWait:          true,\n", "\twaitReasonSyncCondWait: true, waitReasonSyncMutexLock: true, waitReasonSyncRWMutexRLock: true, waitReasonSyncRWMutexLock: true,\n"},

	// 5. Output is not marked with the fake time.
	{"runtime/time_fake.go", "if !(fd == 1 || fd == 2) {", "if true {"},
}

const seedFunction = `var readRandomFailed bool

var replayRand [16]byte

var replayState chacha8rand.State

var replayReady bool

// replaySeed returns bytes that follow from the environment's TREFOIL_SEED.
func replaySeed() []byte {
	h := uint64(14695981039346656037)
	for i := argc + 1; argv_index(argv, i) != nil; i++ {
		p := argv_index(argv, i)
		s := unsafe.String(p, findnull(p))
		if len(s) < 13 || s[:13] != "TREFOIL_SEED=" {
			continue
		}
		for j := 13; j < len(s); j++ {
			h = (h ^ uint64(s[j])) * 1099511628211
		}
	}
	byteorder.BEPutUint64(replayRand[:8], h|1)
	byteorder.BEPutUint64(replayRand[8:], ^h|1)
	return replayRand[:]
}
`

const readFunction = `//go:linkname runtimeRand runtime.rand
func runtimeRand() uint64

func Read(b []byte) {
	for i := range b {
		b[i] = byte(runtimeRand())
	}
}

func systemRead(b []byte) {
`

// overlay writes the edited files to dir, and returns the name of the file for the flag -overlay of
// the go command.
func overlay(goroot, dir string) (string, error) {
	// 1. Apply the edits in memory. Each must match once, because Go's source may change.
	texts := map[string]string{}
	for _, e := range edits {
		path := filepath.Join(goroot, "src", filepath.FromSlash(e.file))
		if _, ok := texts[path]; !ok {
			b, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			texts[path] = string(b)
		}
		if n := strings.Count(texts[path], e.before); n != 1 {
			return "", fmt.Errorf("%s has %q %d times, not once: adapt integration/replay to this version of Go", path, e.before, n)
		}
		texts[path] = strings.Replace(texts[path], e.before, e.after, 1)
	}
	// 2. Write the edited files and the overlay.
	replaced := map[string]string{}
	for path, text := range texts {
		name := strings.ReplaceAll(strings.TrimPrefix(path, filepath.Join(goroot, "src")+string(filepath.Separator)), string(filepath.Separator), "_")
		edited := filepath.Join(dir, name)
		if err := os.WriteFile(edited, []byte(text), 0o644); err != nil {
			return "", err
		}
		replaced[path] = edited
	}
	b, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, b, 0o644)
}
