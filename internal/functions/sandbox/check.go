// The structure of a module, checked before it is compiled.

package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrModule means that a module cannot be an update function.
var ErrModule = errors.New("not a module for update functions")

// Bounds of a module. Modules of compilers stay far below them.
const (
	// MaxModuleBytes is the largest size of a module.
	MaxModuleBytes = 4 << 20

	maxSignature = 1000    // parameters, or results, of a function
	maxLocals    = 1 << 20 // of all functions together
	maxTable     = 100_000 // elements of all tables together
	pageBytes    = 64 << 10
)

// exportGlobal is the kind of an exported global.
const exportGlobal = 3

const header = "\x00asm\x01\x00\x00\x00"

// The sections of the binary format.
const (
	sectionCustom = iota
	sectionType
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionDataCount
)

// checked is a module that may be compiled.
type checked struct {
	module []byte // without custom sections
	// resettable means that an instance has no state beside its memory and the exported globals in
	// globals. Then it can serve many calls.
	resettable  bool
	globals     []string
	memoryBytes int // of a new instance
}

// The exports that checkModule adds have names of their own.
const (
	reservedPrefix = "trefoil:"
	globalPrefix   = reservedPrefix + "global:" // of mutable globals, by number
)

// checkModule checks a module. It returns an error if the module imports something, or if a count in
// it exceeds what its bytes can hold: the compiler would allocate that. It exports the mutable
// globals of a module whose state can be reset.
func checkModule(module []byte, maxPages uint32) (*checked, error) {
	// 1. The header.
	switch {
	case len(module) > MaxModuleBytes:
		return nil, fmt.Errorf("%w: it has %d bytes, at most %d", ErrModule, len(module), MaxModuleBytes)
	case len(module) < len(header) || string(module[:4]) != header[:4]:
		return nil, fmt.Errorf("%w: it is no WebAssembly: it must begin with the bytes 00 61 73 6d (was the text format sent? assemble it)", ErrModule)
	case string(module[:len(header)]) != header:
		return nil, fmt.Errorf("%w: its version is %d, not 1 (is it a component? a core module is needed)", ErrModule, binary.LittleEndian.Uint32(module[4:]))
	}
	// 2. The sections. Custom ones are left out, because nothing reads them.
	c := &checker{module: module, at: len(header), end: len(module), maxPages: maxPages}
	var sections [sectionDataCount + 1][]byte
	last := 0
	for c.at < c.end && c.err == nil {
		id := int(c.byte())
		size := c.uint()
		if size > uint64(c.end-c.at) {
			c.fail("a section of %d bytes, of which %d are there", size, c.end-c.at)
			break
		}
		content := c.at
		if id != sectionCustom {
			if rank(id) <= last {
				c.fail("section %d is unknown, there twice, or not in order", id)
				break
			}
			last = rank(id)
			c.section(id, content+int(size))
			sections[id] = module[content : content+int(size)]
		}
		c.at = content + int(size)
	}
	if c.err == nil && c.bodies != len(c.functions) {
		c.fail("%d functions with %d bodies", len(c.functions), c.bodies)
	}
	if c.err != nil {
		return nil, c.err
	}
	// 3. Tables can be changed, and passive segments dropped. No call would see them as they were.
	out := &checked{module: c.assemble(&sections), resettable: c.elements == 0 && !c.tables && !c.passive, memoryBytes: int(c.pages * pageBytes)}
	for _, i := range c.mutable {
		out.globals = append(out.globals, globalPrefix+strconv.Itoa(i))
	}
	return out, nil
}

// assemble returns the module with the exports of its globals, and with the bound of its stack.
func (c *checker) assemble(sections *[sectionDataCount + 1][]byte) []byte {
	module := []byte(header)
	for _, id := range sectionOrder {
		content := sections[id]
		switch {
		case id == sectionGlobal: // also if the module has none
			_, size := binary.Uvarint(content)
			module = c.appendGlobals(module, content[size:])
		case content == nil:
		case id == sectionFunction:
			module = c.appendFunctions(module)
		case id == sectionCode:
			module = c.appendCode(module)
		case id == sectionExport:
			module = c.appendExports(module, content)
		default:
			module = binary.AppendUvarint(append(module, byte(id)), uint64(len(content)))
			module = append(module, content...)
		}
	}
	return module
}

// appendExports appends the export section and adds the mutable globals to it, and that of the stack.
func (c *checker) appendExports(dst, section []byte) []byte {
	count, size := binary.Uvarint(section)
	exports := append([]byte(nil), section[size:]...)
	add := func(name string, global int) {
		exports = append(binary.AppendUvarint(exports, uint64(len(name))), name...)
		exports = binary.AppendUvarint(append(exports, exportGlobal), uint64(global))
	}
	for _, i := range c.mutable {
		add(globalPrefix+strconv.Itoa(i), i)
	}
	add(stackExport, c.globals)
	return appendSection(dst, sectionExport, int(count)+len(c.mutable)+1, exports)
}

// sectionOrder is the order of sections. The number of data segments comes before the code.
var sectionOrder = []int{sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal, sectionExport,
	sectionStart, sectionElement, sectionDataCount, sectionCode, sectionData}

// rank returns the place of a section in the order of sections; 0 if it is unknown.
func rank(id int) int { return slices.Index(sectionOrder, id) + 1 }

// checker reads a module. After the first error it reads zeros.
type checker struct {
	module   []byte
	at, end  int
	err      error
	maxPages uint32
	locals   uint64
	elements uint64
	tables   bool
	passive  bool
	pages    uint64 // of the memory, at first
	globals  int
	mutable  []int // the numbers of mutable globals

	types       []arity
	mostResults uint64 // of a type
	functions   []function
	bodies      int // of functions, so far
}

func (c *checker) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: byte %d: %s", ErrModule, c.at, fmt.Sprintf(format, args...))
	}
}

func (c *checker) byte() byte {
	if c.err != nil || c.at >= c.end {
		c.fail("the module ends within a section")
		return 0
	}
	c.at++
	return c.module[c.at-1]
}

// uint reads an unsigned LEB128 number of at most 32 bits.
func (c *checker) uint() uint64 {
	if c.err != nil {
		return 0
	}
	n, size := binary.Uvarint(c.module[c.at:c.end])
	if size <= 0 || size > 5 || n > 1<<32-1 {
		c.fail("a number of more than 32 bits")
		return 0
	}
	c.at += size
	return n
}

// skip skips n bytes.
func (c *checker) skip(n uint64) {
	if c.err == nil && n > uint64(c.end-c.at) {
		c.fail("the module ends within a section")
	}
	if c.err == nil {
		c.at += int(n)
	}
}

// count reads the length of a vector. Each element has at least min bytes.
func (c *checker) count(min uint64) uint64 {
	n := c.uint()
	if n*min > uint64(c.end-c.at) {
		c.fail("%d elements in %d bytes", n, c.end-c.at)
		return 0
	}
	return n
}

// section checks the content of one section, which ends at end.
func (c *checker) section(id, end int) {
	all := c.end
	c.end = end
	defer func() { c.end = all }()
	// 1. Sections of one number, or that a module must not have.
	switch id {
	case sectionStart, sectionDataCount:
		c.uint()
		return
	case sectionImport:
		if c.count(4) > 0 && c.err == nil {
			module, name := c.name(), c.name()
			c.fail("it imports %q from %q: update functions have no imports", name, module)
		}
		return
	}
	// 2. All others are vectors.
	read := map[int]func(){
		sectionType: c.signature, sectionFunction: func() { c.functions = append(c.functions, function{kind: c.uint()}) }, sectionTable: c.table, sectionMemory: c.memory,
		sectionGlobal: c.global, sectionExport: c.export,
		sectionElement: c.element, sectionCode: c.body, sectionData: c.data,
	}[id]
	for range c.count(1) {
		if read(); c.err != nil {
			return
		}
	}
	if c.at != c.end {
		c.fail("%d bytes behind the elements of section %d", c.end-c.at, id)
	}
}

func (c *checker) name() string {
	n := c.count(1)
	begin := c.at
	c.skip(n)
	if c.err != nil {
		return ""
	}
	return string(c.module[begin:c.at])
}

func (c *checker) signature() {
	if c.byte() != 0x60 {
		c.fail("a type other than a function's")
	}
	var n [2]uint64
	for i := range n {
		if n[i] = c.count(1); n[i] > maxSignature {
			c.fail("a function with %d parameters or results, at most %d", n[i], maxSignature)
		}
		c.skip(n[i])
	}
	c.types = append(c.types, arity{n[0], n[1]})
	c.mostResults = max(c.mostResults, n[1])
}

func (c *checker) limits() (least uint64) {
	flags := c.byte()
	least = c.uint()
	switch flags {
	case 0:
	case 1:
		c.uint()
	default:
		c.fail("shared or 64-bit memory")
	}
	return least
}

func (c *checker) global() {
	c.skip(1)
	if c.byte() == 1 {
		c.mutable = append(c.mutable, c.globals)
	}
	c.globals++
	c.expression()
}

func (c *checker) export() {
	if name := c.name(); strings.HasPrefix(name, reservedPrefix) {
		c.fail("an export %q: names that begin with %s are reserved", name, reservedPrefix)
	}
	c.skip(1)
	c.uint()
}

func (c *checker) table() {
	c.tables = true
	c.skip(1)
	if c.elements += c.limits(); c.elements > maxTable {
		c.fail("tables of %d elements, at most %d", c.elements, maxTable)
	}
}

func (c *checker) memory() {
	if c.pages = c.limits(); c.pages > uint64(c.maxPages) {
		c.fail("it needs %d KiB of memory, at most %d", c.pages*pageBytes>>10, uint64(c.maxPages)*pageBytes>>10)
	}
}

// expression skips a constant expression.
func (c *checker) expression() {
	for c.err == nil {
		switch op := c.byte(); op {
		case 0x0b: // end
			return
		case 0x41, 0x42: // i32.const, i64.const
			for c.byte()&0x80 != 0 {
			}
		case 0x43: // f32.const
			c.skip(4)
		case 0x44: // f64.const
			c.skip(8)
		case 0x23: // global.get
			c.uint()
		default:
			c.fail("instruction %#x in a constant", op)
		}
	}
}

// element skips a segment of a table. Those with expressions belong to reference types.
func (c *checker) element() {
	kind := c.uint()
	if kind > 3 {
		c.fail("a segment of references: update functions have no reference types")
	}
	if kind == 2 {
		c.uint()
	}
	if kind == 0 || kind == 2 {
		c.expression()
	}
	if kind != 0 {
		c.skip(1)
	}
	for range c.count(1) {
		c.uint()
	}
}

// body checks the number of locals of a function, and reads its instructions. The compiler checks that these
// are valid.
func (c *checker) body() {
	begin := c.at
	size := c.uint()
	if size > uint64(c.end-c.at) {
		c.fail("a function of %d bytes, of which %d are there", size, c.end-c.at)
		return
	}
	if c.bodies == len(c.functions) {
		c.fail("more bodies than the %d functions", len(c.functions))
		return
	}
	f, all := &c.functions[c.bodies], c.end
	c.bodies++
	c.end = c.at + int(size)
	defer func() { c.end = all }()
	for range c.count(2) {
		n := c.uint()
		c.skip(1)
		if c.locals += n; c.locals > maxLocals {
			c.fail("more than %d local variables", maxLocals)
		}
	}
	f.body = c.module[begin:c.end]
	c.instructions(f, c.end)
}

func (c *checker) data() {
	kind := c.uint()
	if kind > 2 {
		c.fail("a data segment of kind %d", kind)
	}
	c.passive = c.passive || kind == 1
	if kind == 2 {
		c.uint()
	}
	if kind != 1 {
		c.expression()
	}
	c.skip(c.count(1))
}
