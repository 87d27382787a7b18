// Builder of a table.

package lists

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/trefoildb/trefoil/links/ef"
)

// Builder makes a table of lists. They must come in the order of their keys. It keeps the coded
// lists and eight bytes for each position. It also keeps up to a megabyte of the first lists,
// because it must learn their numbers' lengths first.
type Builder struct {
	opts      Options
	enc       encoder
	n         uint32
	locals    uint64
	ghosts    uint64
	maxDegree uint32
	localEnd  uint32 // 1 + greatest local target
	ghostEnd  uint32 // 1 + greatest ghost
	err       error
	// The first lists stay in pending until the lengths of their numbers are known.
	begun   bool
	lengths lengths  // of the numbers, once begun
	pending []uint32 // for each list: the counts of locals and ghosts, then both
	trial   *trial   // nil unless the codec must be chosen
}

// sampleLen is the number of elements of pending that make a sufficient sample.
const sampleLen = 1 << 18

// NewBuilder returns a builder of an empty table. Its error is the one of [Options.Validate].
func NewBuilder(o Options) (*Builder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	var t *trial
	if o.Codec == Auto {
		t = new(trial)
	}
	if o.Codec == 0 || o.Codec == Auto {
		o.Codec = StreamVByte
	}
	return &Builder{opts: o, enc: newEncoder(o.Codec), trial: t}, nil
}

// Len returns the number of lists so far, which is the key of the next one.
func (b *Builder) Len() uint32 { return b.n }

// Size returns the approximate length of the coded lists so far, in bytes.
func (b *Builder) Size() uint64 { return b.enc.size() }

// Append appends the list of the next key. Both slices must ascend strictly. Local targets must
// be below the final number of lists, and no ghost may be 2^32-1. It does not keep the slices.
// After an error, which wraps [ErrOrder] or [ErrTooLarge], the builder makes no table.
func (b *Builder) Append(locals, ghosts []uint32) error {
	if b.err != nil {
		return b.err
	}
	// 1. Check the list. The end of local targets is checked by AppendTo, because more keys may
	// come.
	degree := uint64(len(locals)) + uint64(len(ghosts))
	switch {
	case b.n == math.MaxUint32 || degree > math.MaxUint32:
		b.err = fmt.Errorf("%w: key %d with %d targets: %d is the most of both", ErrTooLarge, b.n, degree, uint32(math.MaxUint32))
	case !ascends(locals) || !ascends(ghosts):
		b.err = fmt.Errorf("%w: the list of key %d does not ascend strictly", ErrOrder, b.n)
	case len(ghosts) > 0 && ghosts[len(ghosts)-1] == math.MaxUint32:
		b.err = fmt.Errorf("%w: key %d has a ghost %d", ErrTooLarge, b.n, uint32(math.MaxUint32))
	case len(locals) > 0 && locals[len(locals)-1] == math.MaxUint32:
		b.err = fmt.Errorf("%w: key %d has a local target %d", ErrOrder, b.n, uint32(math.MaxUint32))
	}
	if b.err != nil {
		return b.err
	}
	// 2. Encode the list, or keep it until there is a sample.
	if b.begun {
		b.encode(b.n, locals, ghosts)
	} else {
		b.pending = append(b.pending, uint32(len(locals)), uint32(len(ghosts)))
		b.pending = append(append(b.pending, locals...), ghosts...)
	}
	b.n++
	if !b.begun && len(b.pending) >= sampleLen {
		b.begin()
	}
	// 3. Count for the header.
	b.locals += uint64(len(locals))
	b.ghosts += uint64(len(ghosts))
	b.maxDegree = max(b.maxDegree, uint32(degree))
	if len(locals) > 0 {
		b.localEnd = max(b.localEnd, locals[len(locals)-1]+1)
	}
	if len(ghosts) > 0 {
		b.ghostEnd = max(b.ghostEnd, ghosts[len(ghosts)-1]+1)
	}
	return nil
}

func (b *Builder) encode(key uint32, locals, ghosts []uint32) {
	before := b.enc.size()
	b.enc.append(key, locals, ghosts)
	if b.trial != nil {
		b.trial.add(key, locals, ghosts, b.enc.size()-before)
	}
}

// begin encodes the pending lists, after they have chosen the lengths.
func (b *Builder) begin() {
	if b.begun {
		return
	}
	b.lengths = b.enc.begin(b.eachPending)
	if b.trial != nil {
		b.trial.enc.begin(b.eachPending)
	}
	b.eachPending(b.encode)
	b.begun, b.pending = true, nil
}

func (b *Builder) eachPending(do func(key uint32, locals, ghosts []uint32)) {
	key := uint32(0)
	for p := b.pending; len(p) > 0; key++ {
		locals := p[2 : 2+int(p[0])]
		ghosts := p[2+len(locals) : 2+len(locals)+int(p[1])]
		p = p[2+len(locals)+len(ghosts):]
		do(key, locals, ghosts)
	}
}

func ascends(a []uint32) bool {
	for i := 1; i < len(a); i++ {
		if a[i] <= a[i-1] {
			return false
		}
	}
	return true
}

// AppendTo appends the table to dst and returns it. More lists may follow afterwards. If a local
// target is not a key, the error wraps [ErrOrder]. After a failed Append it is that error.
func (b *Builder) AppendTo(dst []byte) ([]byte, error) {
	if b.err == nil && b.localEnd > b.n {
		return dst, fmt.Errorf("%w: local target %d of %d keys", ErrOrder, b.localEnd-1, b.n)
	}
	if _, err := b.Choose(); err != nil {
		return dst, err
	}
	b.begin()
	start := len(dst)
	h := header{
		lengths: b.lengths, codec: b.opts.Codec, n: b.n,
		locals: b.locals, ghosts: b.ghosts, maxDegree: b.maxDegree, ghostEnd: b.ghostEnd,
	}
	dst = append(dst, make([]byte, headerLen)...)
	positions := len(dst)
	dst = ef.AppendParts(dst, b.enc.positions())
	dst = pad(dst, start)
	data := len(dst)
	dst = pad(b.enc.appendTo(dst), start)
	h.positionBytes, h.dataBytes = uint64(data-positions), uint64(len(dst)-data)
	h.put(dst[start:])
	return dst, nil
}

// pad appends zeros until the length of dst from start on is a multiple of 8.
func pad(dst []byte, start int) []byte {
	for (len(dst)-start)%8 != 0 {
		dst = append(dst, 0)
	}
	return dst
}

// The header of a table; the package comment draws it.
const (
	magic         = "tfAL"
	formatVersion = 2
	headerLen     = 64
)

type header struct {
	codec         Codec
	n             uint32
	locals        uint64
	ghosts        uint64
	maxDegree     uint32
	ghostEnd      uint32
	positionBytes uint64
	dataBytes     uint64
	lengths       lengths
}

// put writes the header into the first headerLen bytes of b.
func (h *header) put(b []byte) {
	copy(b, magic)
	b[4], b[5] = formatVersion, byte(h.codec)
	le := binary.LittleEndian
	le.PutUint32(b[8:], h.n)
	le.PutUint32(b[12:], 1)
	le.PutUint64(b[16:], h.locals)
	le.PutUint64(b[24:], h.ghosts)
	le.PutUint32(b[32:], h.maxDegree)
	le.PutUint32(b[36:], h.ghostEnd)
	le.PutUint64(b[40:], h.positionBytes)
	le.PutUint64(b[48:], h.dataBytes)
	copy(b[56:60], h.lengths[:])
}

// parse decodes and checks the header of a whole table.
func (h *header) parse(b []byte) error {
	// 1. Check magic, version and codec before any other field is read.
	if len(b) < headerLen || string(b[:4]) != magic {
		return fmt.Errorf("%w: no header", ErrCorrupt)
	}
	if b[4] != formatVersion || decoderOf(Codec(b[5])) == nil {
		return fmt.Errorf("%w: version %d, codec %d", ErrVersion, b[4], b[5])
	}
	le := binary.LittleEndian
	*h = header{
		codec: Codec(b[5]),
		n:     le.Uint32(b[8:]), locals: le.Uint64(b[16:]), ghosts: le.Uint64(b[24:]),
		maxDegree: le.Uint32(b[32:]), ghostEnd: le.Uint32(b[36:]),
		positionBytes: le.Uint64(b[40:]), dataBytes: le.Uint64(b[48:]), lengths: lengths(b[56:60]),
	}
	// 2. Check the fields against each other. The lengths must add up without overflow.
	rest := uint64(len(b) - headerLen)
	switch {
	case b[6] != 0 || b[7] != 0 || le.Uint32(b[12:]) != 1 || le.Uint32(b[60:]) != 0:
		return fmt.Errorf("%w: fixed fields %#x, %#x", ErrCorrupt, b[6:8], b[12:16])
	case !h.lengths.valid(h.codec):
		return fmt.Errorf("%w: lengths %v of codec %v", ErrCorrupt, h.lengths, h.codec)
	case h.positionBytes > rest || h.dataBytes != rest-h.positionBytes || h.positionBytes%8 != 0 || h.dataBytes%8 != 0:
		return fmt.Errorf("%w: %d and %d bytes in a table of %d", ErrCorrupt, h.positionBytes, h.dataBytes, len(b))
	}
	return nil
}
