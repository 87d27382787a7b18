// Tests of the examples, of faulty modules, and of limits.

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/wat"
	"github.com/trefoildb/trefoil/triple"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const integer = "http://www.w3.org/2001/XMLSchema#integer"

func newRuntime(t testing.TB, l Limits) *Runtime {
	t.Helper()
	r, err := New(l)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func compile(t testing.TB, r *Runtime, module []byte) *Function {
	t.Helper()
	f, err := r.Compile(t.Context(), module)
	require.NoError(t, err)
	return f
}

func example(t testing.TB, name string) []byte {
	t.Helper()
	module, err := os.ReadFile(filepath.Join("testdata", name+".wasm"))
	require.NoError(t, err)
	return module
}

// module wraps the body of trefoil_run into a module.
func module(t testing.TB, body, fields string) []byte {
	t.Helper()
	m, err := wat.Assemble(`(module (memory (export "memory") 1)
		(func (export "trefoil_input") (param $size i32) (result i32) (i32.const 4096))
		(func (export "trefoil_run") (param $in i32) (param $size i32) (result i64) ` + body + `) ` + fields + `)`)
	require.NoError(t, err)
	return m
}

func change(t testing.TB, kind feed.Kind, line string) Input {
	t.Helper()
	key, _ := triple.AppendKey(nil, triple.SPO, parse(t, line))
	return Input{Change: feed.Change{Kind: kind, Key: key, Stamp: triple.Stamp{Epoch: 2, Sequence: 7}}, Position: "p1"}
}

func parse(t testing.TB, line string) triple.Triple {
	t.Helper()
	s := triple.NewScanner(strings.NewReader(line+"\n"), triple.ScanOptions{Quads: true})
	if !s.Scan() {
		t.Fatalf("%s: %v", line, s.Err())
	}
	return s.Triple().Clone()
}

// TestExampleSources verifies that each module is what its source assembles to.
func TestExampleSources(t *testing.T) {
	sources, err := filepath.Glob("testdata/*.wat")
	if err != nil || len(sources) != 5 {
		t.Fatal(sources, err)
	}
	for _, path := range sources {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		got, err := wat.Assemble(string(text))
		if err != nil {
			t.Fatal(path, err)
		}
		want := example(t, strings.TrimSuffix(filepath.Base(path), ".wat"))
		if !bytes.Equal(got, want) || len(want) > 4096 {
			t.Errorf("%s: the module beside it differs, or has more than 4 KiB", path)
		}
	}
}

// TestExamples calls the examples.
func TestExamples(t *testing.T) {
	const num = `"^^<` + integer + `>`
	r := newRuntime(t, Limits{})
	for _, c := range []struct {
		function  string
		kind      feed.Kind
		change    string
		arguments []string
		want      string // effects, or the reason of a rejection
	}{
		{"inverse", feed.Add, `<http://ex/a> <http://example.org/parentOf> _:b .`, nil, "add _:b <http://example.org/childOf> <http://ex/a>"},
		{"inverse", feed.Delete, `_:a <http://example.org/parentOf> <http://ex/b> <http://ex/g> .`, nil, "delete <http://ex/b> <http://example.org/childOf> _:a <http://ex/g>"},
		{"inverse", feed.Add, `<http://ex/a> <http://example.org/parentOf> "},\",\"g\":{\"" .`, nil, ""},
		{"counter", feed.Add, `<http://ex/a> <http://ex/b> "c" .`, nil, `add <http://example.org/counter> <http://example.org/value> "1` + num},
		{"counter", feed.Add, `<http://ex/a> <http://ex/b> "c" .`, []string{`<http://example.org/counter> <http://example.org/value> "1099"^^<` + integer + `> .`},
			`delete <http://example.org/counter> <http://example.org/value> "1099` + num + `; add <http://example.org/counter> <http://example.org/value> "1100` + num},
		{"counter", feed.Delete, `<http://ex/a> <http://ex/b> "c" .`, []string{`<http://example.org/counter> <http://example.org/value> "10"^^<` + integer + `> .`},
			`delete <http://example.org/counter> <http://example.org/value> "10` + num + `; add <http://example.org/counter> <http://example.org/value> "9` + num},
		{"schema", feed.Add, `<http://ex/a> <http://ex/b> "7"^^<` + integer + `> .`, nil, ""},
		{"schema", feed.Delete, `<http://ex/a> <http://ex/b> "c" .`, nil, ""},
		{"schema", feed.Add, `<http://ex/a> <http://ex/b> "\",\"datatype\":\"` + integer + `\"}" .`, nil, "rejected: the object must be an xsd:integer"},
		{"ping", feed.Add, `<http://ex/a> <http://example.org/ping> "9"^^<` + integer + `> <http://ex/g> .`, nil, `add <http://ex/a> <http://example.org/pong> "10` + num + ` <http://ex/g>`},
		{"pong", feed.Add, `<http://ex/a> <http://example.org/pong> "10"^^<` + integer + `> .`, nil, `add <http://ex/a> <http://example.org/ping> "11` + num},
	} {
		f := compile(t, r, example(t, c.function))
		in := change(t, c.kind, c.change)
		for _, a := range c.arguments {
			in.Arguments = append(in.Arguments, Argument{parse(t, a), Location{Machine: "0000000000000001", Segment: "3"}})
		}
		for _, known := range []bool{true, false} {
			if !known {
				in.Change.Stamp, in.Position = triple.Stamp{}, "" // before the commit
			}
			result, err := f.Call(t.Context(), &in)
			if got := text(result); err != nil || got != c.want {
				t.Errorf("%s %s:\ngot  %s\nwant %s\nerror %v", c.function, c.change, got, c.want, err)
			}
		}
	}
}

// text returns a result as N-Quads.
func text(r Result) string {
	if r.Rejected {
		return "rejected: " + r.Reason
	}
	var parts []string
	for _, e := range r.Effects {
		parts = append(parts, e.Kind.String()+" "+strings.TrimSuffix(e.Triple.String(), " ."))
	}
	return strings.Join(parts, "; ")
}

// TestInput checks the lines that a function gets, by a module that returns them.
func TestInput(t *testing.T) {
	in := change(t, feed.Annotate, `<http://ex/a> <http://ex/b> "c\n\"" <http://ex/g> .`)
	in.Change.Annotation = &feed.Annotation{ApplicationID: "app", Data: []byte{0, 1}}
	in.Change.Sequencer = 10
	in.Location = Location{Machine: "m", Segment: "7"}
	in.Arguments = []Argument{{Triple: parse(t, `_:x <http://ex/b> "c"@de .`)}, {parse(t, `_:x <http://ex/b> _:y .`), Location{Machine: "m", Segment: "8"}}}
	got, err := in.append(nil)
	require.NoError(t, err)
	const want = `{"kind":"annotate","s":{"type":"uri","value":"http://ex/a"},"p":{"type":"uri","value":"http://ex/b"},"o":{"type":"literal","value":"c\n\""},"g":{"type":"uri","value":"http://ex/g"},"app":"app","data":"AAE=","epoch":2,"sequence":7,"sequencer":"000000000000000a","position":"p1","machine":"m","segment":"7"}
{"s":{"type":"bnode","value":"x"},"p":{"type":"uri","value":"http://ex/b"},"o":{"type":"literal","value":"c","xml:lang":"de"}}
{"machine":"m","segment":"8","s":{"type":"bnode","value":"x"},"p":{"type":"uri","value":"http://ex/b"},"o":{"type":"bnode","value":"y"}}
`
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestFaultyModules checks that modules that cannot work are refused when they are stored.
func TestFaultyModules(t *testing.T) {
	r := newRuntime(t, Limits{})
	assemble := func(text string) []byte {
		m, err := wat.Assemble(text)
		require.NoError(t, err)
		return m
	}
	good := example(t, "counter")
	for name, c := range map[string]struct {
		module []byte
		want   string
	}{
		"empty":              {nil, "no WebAssembly"},
		"text":               {[]byte("(module)"), "text format"},
		"component":          {[]byte("\x00asm\x0d\x00\x01\x00"), "component"},
		"no exports":         {assemble(`(module)`), `memory named "memory"`},
		"no function":        {assemble(`(module (memory (export "memory") 1))`), `"trefoil_input"`},
		"signature":          {assemble(`(module (memory (export "memory") 1) (func (export "trefoil_input") (param i64) (result i32) (i32.const 0)))`), "parameters (i64)"},
		"import":             {assemble(`(module (import "wasi_snapshot_preview1" "fd_write" (func (param i32))))`), `imports "fd_write" from "wasi_snapshot_preview1"`},
		"too large":          {append(bytes.Clone(good), make([]byte, MaxModuleBytes)...), "at most 4194304"},
		"truncated":          {good[:len(good)-5], "of which"},
		"memory":             {assemble(`(module (memory (export "memory") 257))`), "at most 16384"},
		"table":              {assemble(`(module (memory (export "memory") 1) (table 4000000000 funcref))`), "tables of"},
		"invalid code":       {module(t, "(i32.const 0)", ""), "i64"},
		"4 billion locals":   {rawCode("\x01\xff\xff\xff\xff\x0f\x7f"), "local variables"},
		"sum of locals":      {rawCode("\x02\xff\xff\x3f\x7f\xff\xff\x3f\x7e"), "local variables"},
		"4 billion elements": {[]byte(header + "\x03\x05\xff\xff\xff\xff\x0f"), "elements in"},
		"order of sections":  {[]byte(header + "\x05\x01\x00\x01\x01\x00"), "not in order"},
		"unknown section":    {[]byte(header + "\x0d\x01\x00"), "unknown"},
		"reserved export":    {assemble(`(module (memory (export "trefoil:global:0") 1))`), "reserved"},
		"memory64":           {[]byte(header + "\x05\x03\x01\x04\x01"), "64-bit"},
	} {
		f, err := r.Compile(t.Context(), c.module)
		if err == nil {
			f.Close()
		}
		if !errors.Is(err, ErrModule) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	// A custom section does not matter, whatever is in it.
	compile(t, r, append(bytes.Clone(good), "\x00\x06\x04name\xff"...))
}

// rawCode returns a module with one function whose locals are given.
func rawCode(locals string) []byte {
	body := locals + "\x0b"
	code := "\x01" + string(rune(len(body))) + body
	return []byte(header + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a" + string(rune(len(code))) + code)
}

// output returns the body of a function that returns a constant of size bytes at 8.
func output(text string) (body, fields string) {
	var data strings.Builder
	for _, c := range []byte(text) {
		data.WriteString(`\` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
	}
	return `(i64.or (i64.shl (i64.const 8) (i64.const 32)) (i64.const ` + strconv.Itoa(len(text)) + `))`, `(data (i32.const 8) "` + data.String() + `")`
}

// TestFaultyCalls checks the error of each way in which a call can fail.
func TestFaultyCalls(t *testing.T) {
	const s, p, o = `"s":{"type":"uri","value":"http://ex/s"}`, `"p":{"type":"uri","value":"http://ex/p"}`, `"o":{"type":"literal","value":"v"}`
	short := Limits{Timeout: 30 * time.Millisecond}
	for name, c := range map[string]struct {
		body, fields string
		limits       Limits
		is           error
		want         string
	}{
		"endless loop":     {body: `(loop $l (br $l)) (i64.const 0)`, limits: short, is: ErrTimeout, want: "30ms"},
		"trap":             {body: `(unreachable)`, is: ErrTrap, want: "unreachable"},
		"division":         {body: `(i64.div_u (i64.const 1) (i64.const 0))`, is: ErrTrap, want: "divide by zero"},
		"out of bounds":    {body: `(i64.load (i32.const 65533))`, is: ErrTrap, want: "out of bounds"},
		"stack":            {body: `(call $again (i32.const 0))`, fields: `(func $again (param i32) (result i64) (i64.add (call $again (i32.const 1)) (i64.const 1)))`, limits: Limits{Timeout: time.Minute}, is: ErrTrap, want: "nested too deep"},
		"allocates":        {body: `(loop $l (if (i32.ne (memory.grow (i32.const 1)) (i32.const -1)) (then (br $l)))) (unreachable)`, limits: Limits{Timeout: time.Minute}, is: ErrMemory, want: "16777216"},
		"start traps":      {fields: `(func $s unreachable) (start $s)`, body: `(i64.const 0)`, is: ErrTrap, want: "initialized"},
		"start loops":      {fields: `(func $s (loop $l (br $l))) (start $s)`, body: `(i64.const 0)`, limits: short, is: ErrTimeout},
		"initialize loops": {fields: `(func (export "_initialize") (loop $l (br $l)))`, body: `(i64.const 0)`, limits: short, is: ErrTimeout},
		"outside":          {body: `(i64.const -1)`, limits: Limits{OutputBytes: 1 << 40}, is: ErrOutput, want: "the memory has"},
		"too long":         {body: `(i64.const -1)`, is: ErrOutput, want: "at most 4194304"},
	} {
		checkFault(t, name, module(t, c.body, c.fields), c.limits, c.is, c.want)
	}
	for text, want := range map[string]string{
		"x":                                "line 1, column 1",
		"\n":                               "line 1",
		"{}":                               `"op" is ""`,
		"[]":                               "not a JSON object",
		"{} 1":                             "more than one",
		`{"op":"add",` + s + `,` + p + `}`: `no member "o"`,
		`{"op":"add",` + s + `,` + p + `,` + o + "}\n" + `{"op":"ad"}`:            "line 2",
		`{"op":"add",` + s + `,` + s + `,` + o + `}`:                              "duplicate",
		`{"op":"add",` + s + `,` + p + `,` + o + `,"x":1}`:                        `unknown member "x"`,
		`{"op":"add",` + s + `,"p":{"type":"bnode","value":"b"},` + o + `}`:       "predicate",
		`{"op":"add","s":{"type":"uri","value":"no iri"},` + p + `,` + o + `}`:    "subject",
		`{"op":"add","s":{"type":"url","value":"http://ex"},` + p + `,` + o + `}`: `"url"`,
		`{"op":"annotate",` + s + `,` + p + `,` + o + `,"app":"a"}`:               "either",
		`{"op":"annotate",` + s + `,` + p + `,` + o + `,"app":"a","data":"!"}`:    "base64",
		`{"op":"annotate",` + s + `,` + p + `,` + o + `,"app":"","removed":true}`: "application ID",
		`{"op":"reject"}`: `"reason"`,
		`{"op":"add",` + s + `,` + p + `,` + o + "}\n" + `{"op":"reject","reason":"r"}`:        "only line",
		`{"op":"reject","reason":"r"}` + "\n" + `{"op":"add",` + s + `,` + p + `,` + o + "}\n": "only line",
		strings.Repeat(`{"op":"add",`+s+`,`+p+`,`+o+"}\n", 21):                                 "more than 20",
		`{"op":"add",` + s + `,` + p + `,"o":{"type":"literal","value":"\ud800"}}`:             "column",
	} {
		body, fields := output(text)
		checkFault(t, text, module(t, body, fields), Limits{Results: 20}, ErrOutput, want)
	}
}

func checkFault(t *testing.T, name string, m []byte, l Limits, is error, want string) {
	t.Helper()
	r, err := New(l)
	require.NoError(t, err)
	defer r.Close()
	f := compile(t, r, m)
	in := change(t, feed.Add, `<http://ex/a> <http://ex/b> "c" .`)
	for range 2 { // the function can be called again
		if result, err := f.Call(t.Context(), &in); !errors.Is(err, is) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %v with %q", name, result, err, is, want)
		}
	}
}

// TestNoState checks that memory and globals of a call are not seen by the next one, also beside
// other calls, with instances that are reset and with new ones.
func TestNoState(t *testing.T) {
	for name, table := range map[string]string{"reset": "", "new": "(table 1 funcref)"} {
		t.Run(name, func(t *testing.T) {
			f := compile(t, newRuntime(t, Limits{Timeout: time.Minute}), module(t, `
				(if (i32.or (i32.ne (global.get $calls) (i32.const 7)) (i32.load (i32.const 0))) (then (unreachable)))
				(if (i32.ne (i32.load8_u (i32.const 8)) (i32.const 65)) (then (unreachable)))
				(if (i32.ne (memory.size) (i32.const 1)) (then (unreachable)))
				(if (i64.ne (global.get $big) (i64.const -1)) (then (unreachable)))
				(global.set $calls (i32.const 1))
				(global.set $big (i64.const 1))
				(i32.store (i32.const 0) (i32.const 1))
				(i32.store (i32.const 8) (i32.const 1))
				(if (i32.eqz (i32.rem_u (local.get $size) (i32.const 3))) (then (drop (memory.grow (i32.const 1)))))
				(i64.const 0)`, `(global $calls (mut i32) (i32.const 7)) (global $big (mut i64) (i64.const -1)) (data (i32.const 8) "A")`+table))
			if f.checked.resettable != (table == "") {
				t.Error("resettable:", f.checked.resettable)
			}
			var wait sync.WaitGroup
			for i := range 8 {
				// Some inputs make the memory grow, so instances are replaced, too.
				in := change(t, feed.Add, `<http://ex/a> <http://ex/b> "`+strings.Repeat("c", i)+`" .`)
				wait.Go(func() {
					for range 50 {
						if _, err := f.Call(t.Context(), &in); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wait.Wait()
		})
	}
}

// late is a context that ends while its last call ends.
type late struct{ context.Context }

func (late) Err() error { return context.DeadlineExceeded }

// TestIdle checks that idle instances hold little memory, and that the engine cannot close one of them
// because the time of its last call is over.
func TestIdle(t *testing.T) {
	r := newRuntime(t, Limits{Calls: 64, Timeout: time.Minute})
	for pages, want := range map[int]int{0: 64, 1: 32, 17: 1, 32: 1, 33: 0, 256: 0} {
		m, err := wat.Assemble(`(module (memory (export "memory") ` + strconv.Itoa(pages) + `)
			(func (export "trefoil_input") (param i32) (result i32) (i32.const 0))
			(func (export "trefoil_run") (param i32 i32) (result i64) (i64.const 0)))`)
		require.NoError(t, err)
		f := compile(t, r, m)
		if cap(f.idle) != want {
			t.Errorf("%d pages: up to %d idle instances, want %d", pages, cap(f.idle), want)
		}
		if _, err := f.run(t.Context(), nil); err != nil || len(f.idle) != min(want, 1) {
			t.Errorf("%d pages: %d idle instances after a call, %v", pages, len(f.idle), err)
		}
		if _, err := f.run(late{t.Context()}, nil); err != nil || len(f.idle) > 0 {
			t.Errorf("%d pages: %d idle instances after a call that ended late, %v", pages, len(f.idle), err)
		}
	}
}

// TestArguments checks the number of arguments, and input beyond the first page of memory.
func TestArguments(t *testing.T) {
	r := newRuntime(t, Limits{Arguments: 700})
	in := change(t, feed.Add, `<http://ex/a> <http://ex/b> "c" .`)
	for range 700 {
		in.Arguments = append(in.Arguments, Argument{Triple: parse(t, `<http://example.org/counter> <http://example.org/value> "41" .`)})
	}
	result, err := compile(t, r, example(t, "counter")).Call(t.Context(), &in)
	if err != nil || len(result.Effects) != 2 || result.Effects[1].Triple.Object.Value() != "42" {
		t.Fatal(result, err)
	}
	// A module that does not grow its memory has no place for them.
	if _, err := compile(t, r, module(t, `(i64.const 0)`, "")).Call(t.Context(), &in); !errors.Is(err, ErrOutput) || !strings.Contains(err.Error(), "trefoil_input returned") {
		t.Fatal(err)
	}
	in.Arguments = append(in.Arguments, in.Arguments[0])
	if _, err := compile(t, r, example(t, "counter")).Call(t.Context(), &in); !errors.Is(err, ErrInput) {
		t.Fatal(err)
	}
}

// TestTurns checks that a call waits while the limit of calls is reached, and that its context ends the
// wait and the call.
func TestTurns(t *testing.T) {
	r := newRuntime(t, Limits{Calls: 1, Timeout: time.Hour})
	loop := compile(t, r, module(t, `(loop $l (br $l)) (i64.const 0)`, ""))
	in := change(t, feed.Add, `<http://ex/a> <http://ex/b> "c" .`)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { _, err := loop.Call(ctx, &in); ended <- err }()
	for len(r.slots) == 0 {
		runtime.Gosched() // until the first call has its turn
	}
	second, cancelSecond := context.WithCancel(t.Context())
	go func() { _, err := loop.Call(second, &in); ended <- err }()
	cancelSecond()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// FuzzModule feeds bytes as modules: they are refused, or run within their limits.
func FuzzModule(f *testing.F) {
	for _, name := range []string{"counter", "inverse", "schema", "ping"} {
		f.Add(example(f, name))
	}
	f.Add(rawCode("\x01\xff\xff\xff\xff\x0f\x7f"))
	r := newRuntime(f, Limits{Timeout: 20 * time.Millisecond, MemoryBytes: 1 << 20})
	in := change(f, feed.Add, `<http://ex/a> <http://ex/b> "c" .`)
	f.Fuzz(func(t *testing.T, m []byte) {
		fn, err := r.Compile(t.Context(), m)
		if err != nil {
			if !errors.Is(err, ErrModule) {
				t.Fatal(err)
			}
			return
		}
		defer fn.Close()
		for range 2 {
			_, err = fn.Call(t.Context(), &in)
		}
		for _, known := range []error{ErrTimeout, ErrTrap, ErrMemory, ErrOutput} {
			if errors.Is(err, known) {
				return
			}
		}
		require.NoError(t, err)
	})
}

// FuzzOutput feeds bytes as output. What is accepted consists of valid triples.
func FuzzOutput(f *testing.F) {
	f.Add([]byte(`{"op":"add","s":{"type":"uri","value":"http://ex/s"},"p":{"type":"uri","value":"http://ex/p"},"o":{"type":"literal","value":"v","xml:lang":"en"}}` + "\n"))
	f.Add([]byte(`{"op":"annotate","s":{"type":"bnode","value":"s"},"p":{"type":"uri","value":"http://ex/p"},"o":{"type":"literal","value":"v"},"app":"a","data":"AAE="}`))
	f.Add([]byte(`{"op":"reject","reason":"no"}`))
	f.Fuzz(func(t *testing.T, output []byte) {
		r, err := parseOutput(output, 100)
		if err != nil {
			if !errors.Is(err, ErrOutput) {
				t.Fatal(err)
			}
			return
		}
		if r.Rejected && len(r.Effects) > 0 {
			t.Fatal("a rejection with effects")
		}
		for _, e := range r.Effects {
			require.NoError(t, e.Triple.Check())
		}
	})
}

// BenchmarkCall calls functions.
func BenchmarkCall(b *testing.B) {
	in := change(b, feed.Add, `<http://ex/a> <http://example.org/parentOf> <http://ex/b> .`)
	for _, c := range []struct {
		name   string
		module []byte
	}{
		{"trivial", module(b, `(i64.const 0)`, "")},
		{"trivial, new instances", module(b, `(i64.const 0)`, "(table 1 funcref)")}, // a table cannot be reset
		{"inverse", example(b, "inverse")},
	} {
		b.Run(c.name, func(b *testing.B) {
			// The limit of time must not fail a benchmark on a busy machine.
			f := compile(b, newRuntime(b, Limits{Timeout: time.Minute}), c.module)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := f.Call(b.Context(), &in); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}
