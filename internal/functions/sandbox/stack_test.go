// Tests of the bound of the stack.

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
)

// deep calls $again, which must call itself without an end.
const deep = `(call $again (i32.const 0))`

// times joins n texts, in which %d is the number of the text.
func times(n int, text string) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(strings.ReplaceAll(text, "%d", fmt.Sprint(i)))
	}
	return all.String()
}

// recursions are functions $again whose frames are large by each means that a module has.
func recursions() map[string]string {
	const again = `(call $again (local.get $n))`
	locals := times(300, `(local $l%d i64)`)
	load := times(300, `(local.set $l%d (i64.load (i32.add (local.get $n) (i32.const %d))))`)
	sum := times(300, `(local.set $sum (i64.add (local.get $sum) (i64.mul (local.get $l%d) (local.get $l%d))))`)
	begin, end := `(func $again (param $n i32) (result i64) `, ` (local.get $sum))`
	// Each loop has a value of its own of each local variable, which lives while the function calls itself.
	nested := ""
	for i := range 12 {
		level := fmt.Sprint(i)
		nested = `(loop $o` + level + ` (local.set $sum (i64.add (local.get $sum) ` + again + `)) ` + nested + load +
			` (br_if $o` + level + ` (i64.eqz (local.get $sum))))`
	}
	return map[string]string{
		"small":      begin + `(i64.add ` + again + ` (i64.const 1)))`,
		"parameters": `(func $again (param $n i32) (result i64) ` + `(call $many ` + `(local.get $n) ` + times(900, `(i64.const %d)`) + `)) (func $many (param i32) ` + times(900, `(param i64)`) + ` (result i64) (i64.add (call $again (local.get 0)) (i64.add (local.get 1) (local.get 900))))`,
		"results": `(func $again (param $n i32) (result i64) (local $sum i64) (call $many) ` + again + ` ` + times(900, `(i64.add)`) + `)` +
			`(func $many ` + times(900, `(result i64)`) + times(900, ` (i64.load (i32.const %d))`) + `)`,
		"locals":   begin + `(local $sum i64) ` + locals + load + `(local.set $sum ` + again + `)` + sum + end,
		"operands": begin + times(500, `(i64.add (i64.load (i32.add (local.get $n) (i32.const %d))) `) + again + strings.Repeat(")", 500) + ")",
		"loops":    begin + `(local $sum i64) ` + locals + load + nested + sum + end,
		"branches": begin + `(local $sum i64) ` + locals + times(40, `(if (i32.load (i32.const %d)) (then `+load+`)) (local.set $sum (i64.add (local.get $sum) `+again+`))`) + sum + end,
		"leaf":     begin + `(local $sum i64) ` + again + ` (call $leaf (local.get $n)) (i64.add)) (func $leaf (param $n i32) (result i64) (local $sum i64) ` + locals + load + sum + end,
	}
}

// allocated calls a function that nests its calls without an end, and returns the bytes that were allocated.
func allocated(t *testing.T, f *Function) uint64 {
	t.Helper()
	in := change(t, feed.Add, `<http://ex/a> <http://ex/b> "c" .`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := f.Call(t.Context(), &in)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrTrap) || !strings.Contains(err.Error(), "nested too deep: their frames need more than 4 MiB of stack") {
		t.Errorf("got %v", err)
	}
	return after.TotalAlloc - before.TotalAlloc
}

// TestStackCharges: the charge of a function is at least its frame, whatever the module does. A stack of n bytes
// that doubles makes the engine allocate 2n to 4n.
func TestStackCharges(t *testing.T) {
	r := newRuntime(t, Limits{Timeout: time.Minute})
	for name, functions := range recursions() {
		t.Run(name, func(t *testing.T) {
			checkDeep(t, r, module(t, deep, functions))
		})
	}
	t.Run("indirect", func(t *testing.T) {
		// The assembler has neither call_indirect nor elements: a load of two operands becomes one of type 2.
		m := module(t, deep, `(func $again (param $n i32) (result i64) (i64.add (i64.load (local.get $n) (i32.const 0)) (i64.const 1))) (table 1 funcref)`)
		load, elements := []byte{0x41, 0, 0x29, 3, 0}, []byte{sectionElement, 7, 1, 0, 0x41, 0, 0x0b, 1, 2}
		if bytes.Count(m, load) != 1 {
			t.Fatalf("% x", m)
		}
		m = bytes.Replace(m, load, []byte{0x41, 0, 0x11, 2, 0}, 1)
		code := len(header)
		for m[code] != sectionCode {
			code += 2 + int(m[code+1])
		}
		checkDeep(t, r, slices.Insert(m, code, elements...))
	})
}

func checkDeep(t *testing.T, r *Runtime, m []byte) {
	t.Helper()
	f := compile(t, r, m)
	allocated(t, f) // the first call makes the instance
	if got := allocated(t, f); got > 2*maxStackBytes {
		t.Errorf("a call allocated %d KiB for a stack of %d KiB", got>>10, maxStackBytes>>10)
	}
}

// TestManyDeepCalls: calls at a time that nest without an end take a bounded memory, and the functions beside
// them and after them work.
func TestManyDeepCalls(t *testing.T) {
	const calls = 12
	r := newRuntime(t, Limits{Timeout: time.Minute, Calls: calls})
	small, good := compile(t, r, module(t, deep, recursions()["small"])), compile(t, r, example(t, "counter"))
	in := change(t, feed.Add, `<http://ex/a> <http://ex/b> "c" .`)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var wait sync.WaitGroup
	for range calls {
		wait.Go(func() {
			for range 20 {
				if _, err := small.Call(t.Context(), &in); !errors.Is(err, ErrTrap) || !strings.Contains(err.Error(), "nested too deep") {
					t.Error(err)
				}
				if _, err := good.Call(t.Context(), &in); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	// The heap has its greatest size at the end, because the runtime does not give address space back.
	runtime.ReadMemStats(&after)
	if grown, most := int64(after.HeapSys)-int64(before.HeapSys), int64(3*calls*maxStackBytes); grown > most {
		t.Errorf("%d calls took %d MiB, at most %d", calls, grown>>20, most>>20)
	}
}

// TestStackDepth: functions may nest some thousand calls, and a wrapper changes nothing of what they return.
func TestStackDepth(t *testing.T) {
	r := newRuntime(t, Limits{Timeout: time.Minute})
	f := compile(t, r, module(t, `(if (i64.ne (call $sum (i64.const 5000) (i32.const 3)) (i64.const 12502503)) (then (unreachable))) (i64.const 0)`,
		`(func $sum (param $n i64) (param $last i32) (result i64)
			(if (result i64) (i64.eqz (local.get $n)) (then (i64.extend_i32_u (local.get $last)))
				(else (i64.add (local.get $n) (call $sum (i64.sub (local.get $n) (i64.const 1)) (local.get $last))))))`))
	in := change(t, feed.Add, `<http://ex/a> <http://ex/b> "c" .`)
	for range 3 { // the charges are given back
		if _, err := f.Call(t.Context(), &in); err != nil {
			t.Fatal(err)
		}
	}
	if !f.checked.resettable || len(f.idle) != 1 {
		t.Error("the instance is not used again")
	}
}

// TestLargeFrame: a function whose frame alone may need most of the stack is refused when it is stored.
func TestLargeFrame(t *testing.T) {
	r := newRuntime(t, Limits{})
	m := module(t, `(i64.const 0)`, `(func (param i32) (result i64) `+strings.Repeat(`(i64.add (i64.load (local.get 0)) `, 60_000)+`(i64.const 0)`+strings.Repeat(")", 60_000)+`)`)
	if _, err := r.Compile(t.Context(), m); !errors.Is(err, ErrModule) || !strings.Contains(err.Error(), "may need 2344 KiB of stack, at most 2048") {
		t.Error(err)
	}
}

// BenchmarkNested measures calls of functions, which have wrappers unless they are leaves.
//
//	go test -run - -bench Nested ./internal/functions/sandbox
func BenchmarkNested(b *testing.B) {
	const begin, end = `(local $i i32) (loop $l (drop (call $f (i32.const 1))) (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if $l (i32.lt_u (local.get $i) (i32.const `, `)))) (i64.const 0)`
	for name, functions := range map[string]string{
		"leaf":    `(func $f (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))`,
		"wrapped": `(func $f (param i32) (result i32) (if (i32.eqz (local.get 0)) (then (drop (call $f (i32.const 0))))) (i32.add (local.get 0) (i32.const 1)))`,
	} {
		b.Run(name, func(b *testing.B) {
			const calls = 1_000_000
			f := compile(b, newRuntime(b, Limits{Timeout: time.Minute}), module(b, begin+fmt.Sprint(calls)+end, functions))
			in := change(b, feed.Add, `<http://ex/a> <http://ex/b> "c" .`)
			for b.Loop() {
				if _, err := f.Call(b.Context(), &in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/calls, "ns/call")
		})
	}
}
