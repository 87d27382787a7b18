// The assembler: fields of a module, and its sections.

// Package wat assembles small WebAssembly modules from their text format, so that tests and examples
// have a source that people can read.
//
// It knows the part of the format that hand-written modules need: imports of functions, functions
// with named parameters and locals, folded instructions, one memory, tables, globals, exports, a
// start function and active data. Its output equals that of wat2wasm byte for byte.
//
//	text -> read (s-expressions) -> module (fields) -> code (bodies) -> sections
//
// Source: https://webassembly.github.io/spec/core/text and .../binary.
package wat

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
)

// module collects the fields of a module.
type module struct {
	types    [][]byte // encoded, each once
	imports  []byte
	imported int
	funcs    []function
	names    map[string]int // functions, with the imported ones first
	tables   []byte
	nTables  int
	memories []byte
	nMemory  int
	globals  []byte
	nGlobals int
	global   map[string]int
	exports  []byte
	nExports int
	start    []byte
	data     []byte
	nData    int
}

type function struct {
	typeIndex int
	params    []string // names; "" of one without
	field     list     // what follows the signature
}

// Assemble returns the module in the binary format.
func Assemble(text string) (wasm []byte, err error) {
	defer func() {
		// The assembler reports errors by panics, because nearly each line may have one.
		switch e := recover().(type) {
		case nil:
		case failure:
			wasm, err = nil, e
		case runtime.Error:
			wasm, err = nil, failure("a field or an instruction is too short: "+e.Error())
		default:
			panic(e)
		}
	}()
	top := read(text)
	if len(top) != 1 || top[0].head() != "module" {
		fail("the text is not one (module ...)")
	}
	m := &module{names: map[string]int{}, global: map[string]int{}}
	fields := top[0].list[1:]
	m.declare(fields)
	for _, f := range fields {
		m.field(f)
	}
	return m.encode(), nil
}

type failure string

func (f failure) Error() string { return "wat: " + string(f) }

func fail(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// declare numbers functions and globals, because bodies may use those that follow.
func (m *module) declare(fields list) {
	for _, f := range fields {
		switch f.head() {
		case "import":
			fn := f.list[3]
			if fn.head() != "func" {
				fail("only functions are imported: %v", f)
			}
			m.name(m.names, fn, m.imported)
			m.imported++
		case "global":
			m.name(m.global, f, m.nGlobals)
			m.nGlobals++
		}
	}
	n := m.imported
	for _, f := range fields {
		if f.head() == "func" {
			m.name(m.names, f, n)
			n++
		}
	}
}

func (m *module) name(names map[string]int, f node, number int) {
	if len(f.list) > 1 && f.list[1].isName() {
		names[f.list[1].atom] = number
	}
}

// field encodes a field. Bodies of functions wait for the end.
func (m *module) field(f node) {
	rest := f.list[1:]
	if len(rest) > 0 && rest[0].isName() && f.head() != "start" {
		rest = rest[1:]
	}
	// Sections are vectors, so each field is appended to the content of its own.
	switch f.head() {
	case "import":
		m.imports = appendName(appendName(m.imports, rest[0].str()), rest[1].str())
		sig := rest[2].list[1:]
		if len(sig) > 0 && sig[0].isName() {
			sig = sig[1:]
		}
		fn := m.signature(sig)
		m.imports = appendUint(append(m.imports, 0), fn.typeIndex)
	case "func":
		rest = m.inlineExports(rest, 0, m.imported+len(m.funcs))
		m.funcs = append(m.funcs, m.signature(rest))
	case "memory":
		rest = m.inlineExports(rest, 2, m.nMemory)
		m.memories = appendLimits(m.memories, rest)
		m.nMemory++
	case "table":
		rest = m.inlineExports(rest, 1, m.nTables)
		m.tables = appendLimits(append(m.tables, 0x70), rest[:len(rest)-1])
		m.nTables++
	case "global":
		m.encodeGlobal(rest)
	case "export":
		kind := map[string]byte{"func": 0, "table": 1, "memory": 2, "global": 3}[rest[1].head()]
		m.export(rest[0].str(), kind, m.index(rest[1].list[1]))
	case "start":
		m.start = appendUint(nil, m.index(rest[0]))
	case "data":
		m.data = (&body{m: m}).instruction(append(m.data, 0), rest[0])
		var bytes []byte
		for _, text := range rest[1:] {
			bytes = append(bytes, text.str()...)
		}
		m.data = append(appendUint(append(m.data, opEnd), len(bytes)), bytes...)
		m.nData++
	default:
		fail("unknown field %v", f)
	}
}

func (m *module) encodeGlobal(rest list) {
	kind, mutable := rest[0], byte(0)
	if kind.head() == "mut" {
		kind, mutable = kind.list[1], 1
	}
	m.globals = append(m.globals, valueType(kind.atom), mutable)
	m.globals = append((&body{m: m}).instruction(m.globals, rest[1]), opEnd)
}

// index returns a function's number from its name or number.
func (m *module) index(n node) int {
	if !n.isName() {
		return int(n.int())
	}
	i, ok := m.names[n.atom]
	if !ok {
		fail("unknown function %s", n.atom)
	}
	return i
}

func (m *module) inlineExports(rest list, kind byte, index int) list {
	for len(rest) > 0 && rest[0].head() == "export" {
		m.export(rest[0].list[1].str(), kind, index)
		rest = rest[1:]
	}
	return rest
}

func (m *module) export(name string, kind byte, index int) {
	m.exports = appendUint(append(appendName(m.exports, name), kind), index)
	m.nExports++
}

// signature reads (param ...)* (result ...)* and numbers the type.
func (m *module) signature(rest list) function {
	var params, results []byte
	fn := function{}
	for ; len(rest) > 0 && (rest[0].head() == "param" || rest[0].head() == "result"); rest = rest[1:] {
		items := rest[0].list[1:]
		if rest[0].head() == "result" {
			for _, it := range items {
				results = append(results, valueType(it.atom))
			}
			continue
		}
		name := ""
		if len(items) > 0 && items[0].isName() {
			name, items = items[0].atom, items[1:]
		}
		for _, it := range items {
			params = append(params, valueType(it.atom))
			fn.params = append(fn.params, name)
		}
	}
	// The encoded type is the key: equal types share a number.
	encoded := append(appendUint([]byte{0x60}, len(params)), params...)
	encoded = append(appendUint(encoded, len(results)), results...)
	fn.typeIndex = slices.IndexFunc(m.types, func(t []byte) bool { return string(t) == string(encoded) })
	if fn.typeIndex < 0 {
		fn.typeIndex = len(m.types)
		m.types = append(m.types, encoded)
	}
	fn.field = rest
	return fn
}

// encode writes the sections in their order.
func (m *module) encode() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, count int, content []byte) {
		if count > 0 {
			content = append(appendUint(nil, count), content...)
			out = append(appendUint(append(out, id), len(content)), content...)
		}
	}
	// Functions are two sections: their types, and their code.
	var functions, code []byte
	for _, fn := range m.funcs {
		functions = appendUint(functions, fn.typeIndex)
		b := m.code(fn)
		code = append(appendUint(code, len(b)), b...)
	}
	section(1, len(m.types), slices.Concat(m.types...))
	section(2, m.imported, m.imports)
	section(3, len(m.funcs), functions)
	section(4, m.nTables, m.tables)
	section(5, m.nMemory, m.memories)
	section(6, m.nGlobals, m.globals)
	section(7, m.nExports, m.exports)
	if m.start != nil {
		out = append(appendUint(append(out, 8), len(m.start)), m.start...)
	}
	section(10, len(m.funcs), code)
	section(11, m.nData, m.data)
	return out
}

func appendUint(dst []byte, n int) []byte { return binary.AppendUvarint(dst, uint64(n)) }

// appendInt appends a signed LEB128 number, whose last byte carries the sign in bit 6.
func appendInt(dst []byte, n int64) []byte {
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(dst, b)
		}
		dst = append(dst, b|0x80)
	}
}

func appendName(dst []byte, s string) []byte { return append(appendUint(dst, len(s)), s...) }

func appendLimits(dst []byte, rest list) []byte {
	if len(rest) == 1 {
		return appendUint(append(dst, 0), int(rest[0].int()))
	}
	return appendUint(appendUint(append(dst, 1), int(rest[0].int())), int(rest[1].int()))
}

func valueType(name string) byte {
	t, ok := map[string]byte{"i32": 0x7f, "i64": 0x7e, "f32": 0x7d, "f64": 0x7c}[name]
	if !ok {
		fail("unknown type %q", name)
	}
	return t
}
