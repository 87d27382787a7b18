// The code of the paper: variable nybbles, for comparisons of size.

package lists

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/ef"
)

const (
	wordNybbles = 12 // payload of a word
	wordBytes   = 8
	// nybbleStride is how many lists share one position in the paper.
	nybbleStride = 16
)

// nybbles writes lists as M. Najork, The Scalable Hyperlink Store, does: the counts of a list,
// the zigzag form of its first local target, and plain differences. A number is its nybbles from
// the highest one that is not zero, at least one, in words of 64 bits:
//
//	bit 63                                      16 15   12 11                   0
//	+-----------------------------------------------+--------+------------------+
//	| 12 nybbles of payload, the first one highest  | unused | 12 bits, a bit   |
//	|                                               | 0...12 | for each nybble  |
//	+-----------------------------------------------+--------+------------------+
//
// The bit of a nybble is 1 if it is the last of its number; the first nybble's bit is the highest.
// Numbers continue from word to word. The order of words and bits is ours, because the paper
// leaves it open.
type nybbles struct {
	localOnly bool     // no list has ghosts, so their count is left out
	at        []uint64 // position of each list, in nybbles
	buf       []byte   // whole words
	word      uint64   // payload and ends of the current word
	used      uint     // nybbles used in it
}

// nybblesOf codes the lists of a graph.
func nybblesOf(graph []links, localOnly bool) *nybbles {
	e := &nybbles{localOnly: localOnly}
	for key, l := range graph {
		e.at = append(e.at, e.position())
		e.number(uint32(len(l.locals)))
		if !localOnly {
			e.number(uint32(len(l.ghosts)))
		}
		if len(l.locals) > 0 {
			e.number(zigzag(l.locals[0], uint32(key)))
			e.gaps(l.locals)
		}
		if len(l.ghosts) > 0 {
			e.number(l.ghosts[0])
			e.gaps(l.ghosts)
		}
	}
	e.at = append(e.at, e.position())
	return e
}

func (e *nybbles) position() uint64 {
	return uint64(len(e.buf))/wordBytes*wordNybbles + uint64(e.used)
}

func (e *nybbles) gaps(list []uint32) {
	for i := 1; i < len(list); i++ {
		e.number(list[i] - list[i-1])
	}
}

func (e *nybbles) number(v uint32) {
	n := max(1, uint(bits.Len32(v)+3)/4)
	for n > wordNybbles-e.used {
		fits := wordNybbles - e.used
		n -= fits
		e.word |= uint64(v>>(4*n)) << 16
		v &= 1<<(4*n) - 1
		e.flush()
	}
	e.used += n
	e.word |= uint64(v)<<(64-4*e.used) | 1<<(wordNybbles-e.used)
	if e.used == wordNybbles {
		e.flush()
	}
}

func (e *nybbles) flush() {
	e.buf = binary.LittleEndian.AppendUint64(e.buf, e.word)
	e.word, e.used = 0, 0
}

// words returns the words of all lists.
func (e *nybbles) words() []byte {
	if e.used == 0 {
		return e.buf
	}
	return binary.LittleEndian.AppendUint64(slices.Clip(e.buf), e.word|uint64(wordNybbles-e.used)<<wordNybbles)
}

// size returns the bytes of a table of the lists, and of its positions.
func (e *nybbles) size() (whole, positions uint64) {
	var shared []uint64
	for key := 0; key < len(e.at); key += nybbleStride {
		shared = append(shared, e.at[key])
	}
	positions = uint64(len(ef.AppendParts(nil, shared)))
	return headerLen + positions + uint64(len(e.words())), positions
}

// numbersOf reads all numbers of words.
func numbersOf(words []byte) (numbers []uint32) {
	v := uint32(0)
	for ; len(words) > 0; words = words[wordBytes:] {
		word := binary.LittleEndian.Uint64(words)
		for i := range wordNybbles - int(word>>wordNybbles&15) {
			v = v<<4 | uint32(word>>(60-4*i))&15
			if word>>(wordNybbles-1-i)&1 == 1 {
				numbers, v = append(numbers, v), 0
			}
		}
	}
	return numbers
}

// TestNybbleWords compares with words made by hand from the paper's description:
// testdata/five-pages.nybble explains them.
func TestNybbleWords(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "five-pages.nybble"))
	require.NoError(t, err)
	var want []byte
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		b, err := hex.DecodeString(strings.TrimSpace(line))
		require.NoError(t, err)
		want = binary.LittleEndian.AppendUint64(want, binary.BigEndian.Uint64(b))
	}
	if got := nybblesOf(fivePages, true).words(); !bytes.Equal(got, want) || len(want) != 16 {
		t.Errorf("%x, want %x", got, want)
	}
}

// TestNybbles reads back what it wrote.
func TestNybbles(t *testing.T) {
	rng := random(t)
	graph := randomGraph(rng, 300, 400)
	var want []uint32
	for key, l := range graph {
		want = append(want, uint32(len(l.locals)), uint32(len(l.ghosts)))
		for i, v := range l.locals {
			if i == 0 {
				want = append(want, zigzag(v, uint32(key)))
			} else {
				want = append(want, v-l.locals[i-1])
			}
		}
		for i, v := range l.ghosts {
			if i > 0 {
				v -= l.ghosts[i-1]
			}
			want = append(want, v)
		}
	}
	if got := numbersOf(nybblesOf(graph, false).words()); !slices.Equal(got, want) {
		t.Errorf("read %d numbers that differ from the %d written", len(got), len(want))
	}
}
