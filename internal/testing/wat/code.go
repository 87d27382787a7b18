// Bodies of functions.

package wat

import (
	"slices"
	"strconv"
	"strings"
)

const (
	opBlock = 0x02
	opLoop  = 0x03
	opIf    = 0x04
	opElse  = 0x05
	opEnd   = 0x0b
)

// plain are the instructions without immediates.
var plain = map[string]byte{
	"unreachable": 0x00, "nop": 0x01, "return": 0x0f, "drop": 0x1a, "select": 0x1b,
	"i32.eqz": 0x45, "i32.eq": 0x46, "i32.ne": 0x47, "i32.lt_s": 0x48, "i32.lt_u": 0x49, "i32.gt_s": 0x4a, "i32.gt_u": 0x4b,
	"i32.le_s": 0x4c, "i32.le_u": 0x4d, "i32.ge_s": 0x4e, "i32.ge_u": 0x4f,
	"i64.eqz": 0x50, "i64.eq": 0x51, "i64.ne": 0x52, "i64.lt_u": 0x54, "i64.gt_u": 0x56,
	"i32.add": 0x6a, "i32.sub": 0x6b, "i32.mul": 0x6c, "i32.div_u": 0x6e, "i32.rem_u": 0x70, "i32.and": 0x71, "i32.or": 0x72, "i32.xor": 0x73,
	"i32.shl": 0x74, "i32.shr_u": 0x76,
	"i64.add": 0x7c, "i64.sub": 0x7d, "i64.mul": 0x7e, "i64.div_u": 0x80, "i64.rem_u": 0x82, "i64.and": 0x83, "i64.or": 0x84,
	"i64.shl": 0x86, "i64.shr_u": 0x88,
	"i32.wrap_i64": 0xa7, "i64.extend_i32_s": 0xac, "i64.extend_i32_u": 0xad,
}

// memory are the loads and stores, with the exponent of their natural alignment.
var memory = map[string][2]byte{
	"i32.load": {0x28, 2}, "i64.load": {0x29, 3}, "i32.load8_u": {0x2d, 0},
	"i32.store": {0x36, 2}, "i64.store": {0x37, 3}, "i32.store8": {0x3a, 0},
}

// body encodes one function.
type body struct {
	m      *module
	locals []string
	labels []string // the innermost is the last
}

func (m *module) code(fn function) []byte {
	b := &body{m: m, locals: slices.Clone(fn.params)}
	// 1. Locals: runs of one type.
	rest := fn.field
	var types []byte
	for ; len(rest) > 0 && rest[0].head() == "local"; rest = rest[1:] {
		items, name := rest[0].list[1:], ""
		if len(items) > 0 && items[0].isName() {
			name, items = items[0].atom, items[1:]
		}
		for _, it := range items {
			types = append(types, valueType(it.atom))
			b.locals = append(b.locals, name)
		}
	}
	var runs []byte
	n := 0
	for i := 0; i < len(types); n++ {
		j := i
		for j < len(types) && types[j] == types[i] {
			j++
		}
		runs = append(appendUint(runs, j-i), types[i])
		i = j
	}
	// 2. Instructions.
	out := append(appendUint(nil, n), runs...)
	return append(b.sequence(out, rest), opEnd)
}

// sequence encodes instructions: folded ones in parentheses, others as atoms with immediates.
func (b *body) sequence(dst []byte, nodes list) []byte {
	for i := 0; i < len(nodes); i++ {
		if nodes[i].list != nil {
			dst = b.instruction(dst, nodes[i])
			continue
		}
		end := i + 1
		for end < len(nodes) && b.isImmediate(nodes[end]) {
			end++
		}
		dst = b.operation(dst, nodes[i].atom, nodes[i+1:end])
		i = end - 1
	}
	return dst
}

func (b *body) isImmediate(n node) bool {
	return n.list == nil && (n.isName() || strings.Contains(n.atom, "=") || n.atom != "" && strings.ContainsRune("-0123456789", rune(n.atom[0])))
}

// instruction encodes a folded instruction: its operands come before it.
func (b *body) instruction(dst []byte, n node) []byte {
	rest := n.list[1:]
	switch n.head() {
	case "block", "loop", "if":
		return b.block(dst, n.head(), rest)
	}
	end := 0
	for end < len(rest) && b.isImmediate(rest[end]) {
		end++
	}
	dst = b.sequence(dst, rest[end:])
	return b.operation(dst, n.head(), rest[:end])
}

func (b *body) block(dst []byte, kind string, rest list) []byte {
	label, result := "", byte(0x40)
	if len(rest) > 0 && rest[0].isName() {
		label, rest = rest[0].atom, rest[1:]
	}
	if len(rest) > 0 && rest[0].head() == "result" {
		result, rest = valueType(rest[0].list[1].atom), rest[1:]
	}
	op := map[string]byte{"block": opBlock, "loop": opLoop, "if": opIf}[kind]
	if kind == "if" {
		// The condition comes before the block, and outside of its label.
		for len(rest) > 0 && rest[0].head() != "then" {
			dst, rest = b.instruction(dst, rest[0]), rest[1:]
		}
	}
	b.labels = append(b.labels, label)
	dst = append(dst, op, result)
	if kind != "if" {
		dst = b.sequence(dst, rest)
	} else {
		dst = b.sequence(dst, rest[0].list[1:])
		if len(rest) > 1 {
			dst = b.sequence(append(dst, opElse), rest[1].list[1:])
		}
	}
	b.labels = b.labels[:len(b.labels)-1]
	return append(dst, opEnd)
}

// operation encodes one instruction with its immediates.
func (b *body) operation(dst []byte, name string, args list) []byte {
	if op, ok := plain[name]; ok {
		return append(dst, op)
	}
	if op, ok := memory[name]; ok {
		offset, align := 0, op[1]
		for _, a := range args {
			if text, ok := strings.CutPrefix(a.atom, "offset="); ok {
				offset, _ = strconv.Atoi(text)
			}
		}
		return appendUint(append(dst, op[0], align), offset)
	}
	switch name {
	case "memory.size":
		return append(dst, 0x3f, 0)
	case "memory.grow":
		return append(dst, 0x40, 0)
	case "memory.copy":
		return append(dst, 0xfc, 10, 0, 0)
	case "memory.fill":
		return append(dst, 0xfc, 11, 0)
	}
	if len(args) != 1 {
		fail("instruction %q with %v", name, args)
	}
	// The others have one immediate.
	switch a := args[0]; name {
	case "i32.const":
		return appendInt(append(dst, 0x41), int64(int32(a.int())))
	case "i64.const":
		return appendInt(append(dst, 0x42), a.int())
	case "local.get", "local.set", "local.tee":
		return appendUint(append(dst, map[string]byte{"local.get": 0x20, "local.set": 0x21, "local.tee": 0x22}[name]), b.local(a))
	case "global.get", "global.set":
		i, ok := b.m.global[a.atom]
		if !ok {
			fail("unknown global %s", a.atom)
		}
		return appendUint(append(dst, map[string]byte{"global.get": 0x23, "global.set": 0x24}[name]), i)
	case "call":
		return appendUint(append(dst, 0x10), b.m.index(a))
	case "br", "br_if":
		return appendUint(append(dst, map[string]byte{"br": 0x0c, "br_if": 0x0d}[name]), b.depth(a))
	}
	fail("unknown instruction %q", name)
	return nil
}

func (b *body) local(n node) int {
	i := slices.Index(b.locals, n.atom)
	if !n.isName() {
		return int(n.int())
	}
	if i < 0 {
		fail("unknown local %s", n.atom)
	}
	return i
}

// depth returns the number of blocks between a branch and its label.
func (b *body) depth(n node) int {
	if !n.isName() {
		return int(n.int())
	}
	for i := range b.labels {
		if b.labels[len(b.labels)-1-i] == n.atom {
			return i
		}
	}
	fail("unknown label %s", n.atom)
	return 0
}
