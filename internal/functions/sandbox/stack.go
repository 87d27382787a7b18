// The stack of nested calls: how it is bounded.

package sandbox

import (
	"encoding/binary"
	"fmt"
)

// The engine keeps the stack of a call outside of the linear memory, and lets it grow to 50 MB. So a
// module is rewritten when it is checked: a global has the bytes of stack that are left. Each function
// gets a wrapper at its index, which takes the function's charge from the global, calls the function at
// a new index, and gives the charge back:
//
//	global.get $left  i32.const CHARGE  i32.lt_u
//	if  i32.const -1  global.set $left  unreachable  end
//	global.get $left  i32.const CHARGE  i32.sub  global.set $left
//	local.get 0 ... call $function
//	global.get $left  i32.const CHARGE  i32.add  global.set $left
//
// Calls, tables, exports and the start function mean the wrapper without a change, because its index is
// that of the function before. A trap leaves the global as it is, and its instance is not used again.
// Functions that call none need no wrapper, if their charges are small: the greatest is reserved.
//
// A charge is an upper bound of the function's frame. A frame has a slot for each value of the compiler
// that is ever spilled, and slots are not shared. Values are made by instructions, by calls (one for each
// result), and where ways of control flow meet: there each local variable that was set in the block may
// need one. Real frames are a third of the charge or less, TestStackCharges.
const (
	// maxStackBytes bounds the charges of nested calls. The engine doubles the stack when it is full, and
	// copies it, so it takes up to three times as much for a moment.
	maxStackBytes = 4 << 20
	// maxLeafBytes is the greatest charge of a function without a wrapper.
	maxLeafBytes = 64 << 10

	slotBytes  = 8
	frameBytes = 256 // return address, frame pointer, registers that are saved, arguments of the runtime

	// stackExport is the export of the global. It is -1 after the trap of a wrapper.
	stackExport = "trefoil:stack"
	stackFull   = 1<<32 - 1
)

// function is a function of a module.
type function struct {
	kind   uint64 // the index of its type
	body   []byte // with its size
	charge uint64 // bytes of its frame, at most
	calls  bool   // it calls others
}

// wrapped reports whether the function has a wrapper.
func (f *function) wrapped() bool { return f.calls || f.charge > maxLeafBytes }

// arity is the number of parameters and results of a type of functions.
type arity struct{ params, results uint64 }

// frame measures the frame of a function while its instructions are read.
type frame struct {
	values uint64 // that instructions make
	merges uint64 // blocks, each of which ends where ways meet
	most   uint64 // parameters and results of one call
	depth  uint64 // of blocks
}

// instructions reads the instructions of a function up to end, and sets its charge.
func (c *checker) instructions(f *function, end int) {
	var m frame
	for c.err == nil && c.at < end {
		c.instruction(f, &m)
	}
	if c.at != end {
		c.fail("the instructions exceed their function")
	}
	own := c.arityOf(f.kind)
	// Where ways meet, a block's results are values too, and so are the base and the size of the memory.
	values := own.params + 2*own.results + m.values + m.most + m.merges*(c.mostResults+2)
	f.charge = frameBytes + slotBytes*values
	if f.wrapped() {
		f.charge += frameBytes/2 + slotBytes*2*(own.params+own.results)
	}
	if f.charge > maxStackBytes/2 {
		c.fail("a function whose frame may need %d KiB of stack, at most %d", f.charge>>10, maxStackBytes/2>>10)
	}
}

// arityOf returns the arity of a type. The compiler rejects an unknown one.
func (c *checker) arityOf(kind uint64) arity {
	if kind >= uint64(len(c.types)) {
		c.fail("type %d, of %d", kind, len(c.types))
		return arity{}
	}
	return c.types[kind]
}

// instruction reads one instruction. Whether it is valid where it stands is for the compiler.
func (c *checker) instruction(f *function, m *frame) {
	switch op := c.byte(); {
	// 1. Blocks, because values meet where they end.
	case op >= 0x02 && op <= 0x04: // block, loop, if
		c.leb()
		m.merges++
		m.depth++
	case op == 0x0b: // end
		m.depth -= min(m.depth, 1)
	case op == 0x00, op == 0x01, op == 0x05, op == 0x0f, op == 0x1a: // unreachable, nop, else, return, drop
	case op == 0x0c, op == 0x0d: // br, br_if
		c.uint()
	case op == 0x0e: // br_table
		for range c.count(1) {
			c.uint()
		}
		c.uint()
	// 2. Calls, because the frame has a value for each result.
	case op == 0x10: // call
		if callee := c.uint(); callee < uint64(len(c.functions)) {
			c.called(f, m, c.functions[callee].kind)
		} else {
			c.fail("a call of function %d, of %d", callee, len(c.functions))
		}
	case op == 0x11: // call_indirect
		c.called(f, m, c.uint())
		c.uint()
	// 3. Instructions on values. If the compiler makes more than one for the result, all count, because
	// each may be spilled.
	case op == 0x1b: // select
		m.values++
	case op == 0x1c: // select with types
		c.skip(c.count(1))
		m.values++
	case op == 0x20: // local.get
		c.uint()
	case op == 0x21, op == 0x22: // local.set, local.tee: a value where each block around it ends
		c.uint()
		m.values += m.depth
	case op >= 0x23 && op <= 0x26: // global.get, global.set, table.get, table.set
		c.uint()
		m.values++
	case op >= 0x28 && op <= 0x3e: // loads and stores: address, bound and value
		c.uint()
		c.leb()
		m.values += 3
	case op == 0x3f, op == 0x40: // memory.size, memory.grow
		c.skip(1)
		m.values += 3
	case op == 0x41, op == 0x42: // i32.const, i64.const: made again at each use
		c.leb()
	case op == 0x43:
		c.skip(4)
		m.values++
	case op == 0x44:
		c.skip(8)
		m.values++
	case op >= 0x45 && op <= 0xc4: // numbers
		m.values += 2
	case op == 0xfc:
		c.prefixed(m)
	// 4. No others, because their frames would not be known.
	default:
		c.fail("instruction %#x: update functions have WebAssembly 2.0 without vectors and reference types", op)
	}
}

// prefixed reads the rest of an instruction behind 0xfc: conversions, and those on ranges of the memory
// and of tables.
func (c *checker) prefixed(m *frame) {
	op := c.uint()
	m.values += 6
	switch op {
	case 0, 1, 2, 3, 4, 5, 6, 7:
	case 8, 10, 12, 14: // memory.init, memory.copy, table.init, table.copy
		c.uint()
		c.uint()
	case 9, 11, 13: // data.drop, memory.fill, elem.drop
		c.uint()
	default:
		c.fail("instruction 0xfc %#x is unknown", op)
	}
}

// called records a call of a function of a type.
func (c *checker) called(f *function, m *frame, kind uint64) {
	a := c.arityOf(kind)
	f.calls = true
	m.values += a.results + 1
	m.most = max(m.most, a.params+a.results)
}

// leb skips a LEB128 number of at most 64 bits.
func (c *checker) leb() {
	for range 10 {
		if c.byte()&0x80 == 0 {
			return
		}
	}
	c.fail("a number of more than 64 bits")
}

// appendFunctions appends the section of functions: their types, and those of the wrapped ones again.
func (c *checker) appendFunctions(dst []byte) []byte {
	n, kinds := 0, []byte(nil)
	for i := range c.functions {
		kinds = binary.AppendUvarint(kinds, c.functions[i].kind)
	}
	for i := range c.functions {
		if c.functions[i].wrapped() {
			n++
			kinds = binary.AppendUvarint(kinds, c.functions[i].kind)
		}
	}
	return appendSection(dst, sectionFunction, len(c.functions)+n, kinds)
}

// appendCode appends the section of code. A wrapper stands at the index of its function, which comes behind
// all others.
func (c *checker) appendCode(dst []byte) []byte {
	var bodies, wrapped []byte
	n := len(c.functions)
	for i := range c.functions {
		f := &c.functions[i]
		if !f.wrapped() {
			bodies = append(bodies, f.body...)
			continue
		}
		bodies = c.appendWrapper(bodies, f, n)
		wrapped = append(wrapped, f.body...)
		n++
	}
	return appendSection(dst, sectionCode, n, append(bodies, wrapped...))
}

// appendWrapper appends the body of the wrapper of f, whose new index is at.
func (c *checker) appendWrapper(dst []byte, f *function, at int) []byte {
	left := binary.AppendUvarint(nil, uint64(c.globals))
	get, set := append([]byte{0x23}, left...), append([]byte{0x24}, left...)
	charge := appendSigned([]byte{0x41}, int64(f.charge)) // i32.const
	body := []byte{0}                                     // no local variables
	// 1. Trap if too little is left.
	body = append(append(append(body, get...), charge...), 0x49, 0x04, 0x40) // i32.lt_u if
	body = append(append(append(body, 0x41, 0x7f), set...), 0x00, 0x0b)      // i32.const -1, unreachable end
	// 2. Take the charge, call, and give it back.
	body = append(append(append(append(body, get...), charge...), 0x6b), set...) // i32.sub
	for i := range c.arityOf(f.kind).params {
		body = binary.AppendUvarint(append(body, 0x20), i)
	}
	body = binary.AppendUvarint(append(body, 0x10), uint64(at))
	body = append(append(append(append(body, get...), charge...), 0x6a), set...) // i32.add
	body = append(body, 0x0b)
	return append(binary.AppendUvarint(dst, uint64(len(body))), body...)
}

// appendGlobals appends the section of globals with the bytes of stack that are left behind them. globals
// are those of the module.
func (c *checker) appendGlobals(dst, globals []byte) []byte {
	reserved := uint64(0)
	for i := range c.functions {
		if !c.functions[i].wrapped() {
			reserved = max(reserved, c.functions[i].charge)
		}
	}
	left := append(append([]byte(nil), globals...), 0x7f, 1, 0x41) // a mutable i32, i32.const
	left = append(appendSigned(left, int64(maxStackBytes-reserved)), 0x0b)
	return appendSection(dst, sectionGlobal, c.globals+1, left)
}

// appendSection appends a section that is a vector of n elements.
func appendSection(dst []byte, id, n int, elements []byte) []byte {
	count := binary.AppendUvarint(nil, uint64(n))
	dst = binary.AppendUvarint(append(dst, byte(id)), uint64(len(count)+len(elements)))
	return append(append(dst, count...), elements...)
}

// appendSigned appends a signed LEB128 number.
func appendSigned(dst []byte, n int64) []byte {
	for ; n < -64 || n > 63; n >>= 7 {
		dst = append(dst, byte(n)&0x7f|0x80)
	}
	return append(dst, byte(n)&0x7f)
}

// errStack is the error of a call whose wrapper trapped.
func errStack() error {
	return fmt.Errorf("%w: its calls are nested too deep: their frames need more than %d MiB of stack", ErrTrap, maxStackBytes>>20)
}
