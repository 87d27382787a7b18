// Builder of a column of labels.

package lists

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/trefoildb/trefoil/links/ef"
)

// LabelOptions configures a column. The zero value does not compress.
type LabelOptions struct {
	// Compress compresses anchors with zstd, chunk by chunk, if that saves bytes.
	Compress bool
	// Dictionary holds frequent parts of anchors, most frequent last, for Compress. The column
	// keeps it. It must have at most MaxDictionary bytes. See AnchorDictionary.
	Dictionary []byte
}

// MaxDictionary is the greatest length of a dictionary in bytes.
const MaxDictionary = 1 << 20

// Validate returns an error if an option is invalid.
func (o LabelOptions) Validate() error {
	if len(o.Dictionary) > MaxDictionary {
		return fmt.Errorf("lists: a dictionary of %d bytes: use at most %d", len(o.Dictionary), MaxDictionary)
	}
	if len(o.Dictionary) > 0 && !o.Compress {
		return errors.New("lists: a dictionary without Compress: set both or none")
	}
	return nil
}

// The limits of a chunk: it ends with the label that reaches one.
const (
	chunkLabels  = 1024
	chunkAnchors = 1 << 16 // bytes
	maxChunk     = chunkAnchors + MaxAnchor
)

// The coding of a chunk's weights and anchors, in the low bits of its head.
const (
	weightsOne    = 0
	weightsSame   = 1
	weightsEach   = 2
	anchorsNone   = 0 << 2
	anchorsPlain  = 1 << 2
	anchorsPacked = 2 << 2
	headBits      = 4
)

// dictionaryID is in each frame if there is a dictionary.
const dictionaryID = 1

// frameMagic begins each zstd frame, and is left out.
const frameMagic = "\x28\xb5\x2f\xfd"

// LabelBuilder makes a column of labels. Keys must ascend.
type LabelBuilder struct {
	opts      LabelOptions
	zstd      *zstd.Encoder
	keys      []uint64
	positions []uint64
	labels    uint64
	data      []byte
	anchors   []byte // of one chunk
	packed    []byte
}

// NewLabelBuilder returns a builder of an empty column. Its error is the one of
// [LabelOptions.Validate], or zstd's.
func NewLabelBuilder(o LabelOptions) (*LabelBuilder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	b := &LabelBuilder{opts: o}
	if !o.Compress {
		return b, nil
	}
	zopts := []zstd.EOption{
		zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(true),
		zstd.WithEncoderLevel(zstd.SpeedDefault),
	}
	if len(o.Dictionary) > 0 {
		zopts = append(zopts, zstd.WithEncoderDictRaw(dictionaryID, o.Dictionary))
	}
	var err error
	if b.zstd, err = zstd.NewWriter(nil, zopts...); err != nil {
		return nil, fmt.Errorf("lists: compressor of anchors: %w", err)
	}
	return b, nil
}

// Append appends the labels of a key, one for each of its targets, in their order. If labels is
// empty, the key is left out. Keys must ascend strictly, or the error wraps [ErrOrder]. An
// anchor is truncated at [MaxAnchor]. It does not keep the slice.
func (b *LabelBuilder) Append(key uint32, labels []Label) error {
	if len(b.keys) > 0 && uint64(key) <= b.keys[len(b.keys)-1] {
		return fmt.Errorf("%w: labels of key %d after those of key %d", ErrOrder, key, b.keys[len(b.keys)-1])
	}
	if len(labels) == 0 {
		return nil
	}
	b.keys = append(b.keys, uint64(key))
	b.positions = append(b.positions, uint64(len(b.data)))
	b.labels += uint64(len(labels))
	for len(labels) > 0 {
		n, bytes := 0, 0
		for n < len(labels) && n < chunkLabels && bytes < chunkAnchors {
			bytes += min(len(labels[n].Anchor), MaxAnchor)
			n++
		}
		b.appendChunk(labels[:n], bytes)
		labels = labels[n:]
	}
	return nil
}

func (b *LabelBuilder) appendChunk(labels []Label, anchorBytes int) {
	// 1. Choose the coding. The head comes first, so anchors are compressed before anything is
	// written.
	head := weightsOf(labels)
	b.anchors = b.anchors[:0]
	packed := false
	if anchorBytes > 0 {
		for _, l := range labels {
			b.anchors = append(b.anchors, l.Anchor[:min(len(l.Anchor), MaxAnchor)]...)
		}
		if b.zstd != nil {
			b.packed = b.zstd.EncodeAll(b.anchors, b.packed[:0])
			packed = len(b.packed) < len(b.anchors)
		}
		head |= anchorsPlain
		if packed {
			head = head&^anchorsPlain | anchorsPacked
		}
	}
	b.data = binary.AppendUvarint(b.data, uint64(len(labels))<<headBits|uint64(head))
	// 2. Write the weights, unless all are 1.
	switch head & 3 {
	case weightsSame:
		b.data = appendWeight(b.data, labels[0].Weight)
	case weightsEach:
		for _, l := range labels {
			b.data = appendWeight(b.data, l.Weight)
		}
	}
	// 3. Write the lengths and the anchors. Lengths are plain, because a reader must add them up
	// before it decompresses.
	if anchorBytes == 0 {
		return
	}
	for _, l := range labels {
		b.data = binary.AppendUvarint(b.data, uint64(min(len(l.Anchor), MaxAnchor)))
	}
	if !packed {
		b.data = append(b.data, b.anchors...)
		return
	}
	frame := b.packed[len(frameMagic):]
	b.data = append(binary.AppendUvarint(b.data, uint64(len(frame))), frame...)
}

func weightsOf(labels []Label) int {
	first := labels[0].Weight
	for _, l := range labels {
		if l.Weight != first || !integral(l.Weight) {
			return weightsEach
		}
	}
	if first == 1 {
		return weightsOne
	}
	return weightsSame
}

// AppendTo appends the column to dst and returns it. More labels may follow afterwards.
func (b *LabelBuilder) AppendTo(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, labelHeaderLen)...)
	h := labelHeader{labels: b.labels, dictionaryBytes: uint64(len(b.opts.Dictionary))}
	at := len(dst)
	dst = pad(ef.Append(dst, b.keys), start)
	h.keyBytes = uint64(len(dst) - at)
	at = len(dst)
	dst = pad(ef.Append(dst, append(b.positions, uint64(len(b.data)))), start)
	h.positionBytes = uint64(len(dst) - at)
	dst = append(dst, b.opts.Dictionary...)
	dst = append(dst, b.data...)
	h.dataBytes = uint64(len(b.data))
	h.put(dst[start:])
	return dst
}

// AnchorDictionary returns a dictionary of at most limit bytes. seen has the count of each
// anchor. The anchors that save the most bytes are chosen; the best ones come last.
func AnchorDictionary(seen map[string]int, limit int) []byte {
	limit = min(limit, MaxDictionary)
	anchors := make([]string, 0, len(seen))
	for a, n := range seen {
		if n > 1 && len(a) > 3 {
			anchors = append(anchors, a)
		}
	}
	slices.SortFunc(anchors, func(a, b string) int {
		if d := seen[b]*len(b) - seen[a]*len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	size, n := 0, 0
	for n < len(anchors) && size+len(anchors[n]) <= limit {
		size += len(anchors[n])
		n++
	}
	out := make([]byte, 0, size)
	for _, a := range slices.Backward(anchors[:n]) {
		out = append(out, a...)
	}
	return out
}
