// Stores: the parts of a cell that can be dropped from memory and loaded again from its file.

package cell

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Stores is a set of stores, as the paper calls the parts of a server's memory. Page numbers and
// sketches belong to none of them, and are always in memory.
type Stores uint8

const (
	// URLStore is the URLs, to look up UIDs and URLs.
	URLStore Stores = 1 << iota
	// ForwardStore is the forward lists with their ghosts and labels.
	ForwardStore
	// BackwardStore is the backward lists with their ghosts.
	BackwardStore

	// ListStores are the lists of both directions, AllStores all stores.
	ListStores = ForwardStore | BackwardStore
	AllStores  = URLStore | ListStores
)

// StoreOf returns the store with the lists of direction d.
func StoreOf(d Direction) Stores { return ForwardStore << d }

// storeNames are the names of the stores, by bit.
var storeNames = [...]string{"urls", "forward", "backward"}

// ParseStores returns the set of the stores with these names.
func ParseStores(names []string) (s Stores, err error) {
	for _, name := range names {
		i := slices.Index(storeNames[:], name)
		if i < 0 {
			return 0, fmt.Errorf("%q is no store: use %s", name, strings.Join(storeNames[:], ", "))
		}
		s |= 1 << i
	}
	return s, nil
}

// Has reports whether all of the other stores are in the set.
func (s Stores) Has(other Stores) bool { return s&other == other }

// Names returns the names of the stores.
func (s Stores) Names() []string {
	names := []string{}
	for i, name := range storeNames {
		if s.Has(1 << i) {
			names = append(names, name)
		}
	}
	return names
}

// String returns the names of the stores, with commas.
func (s Stores) String() string { return strings.Join(s.Names(), ", ") }

// MarshalJSON returns the list of the names.
func (s Stores) MarshalJSON() ([]byte, error) { return json.Marshal(s.Names()) }

// UnmarshalJSON is the reverse of MarshalJSON.
func (s *Stores) UnmarshalJSON(data []byte) error {
	var names []string
	err := json.Unmarshal(data, &names)
	if err == nil {
		*s, err = ParseStores(names)
	}
	return err
}

// sectionStores are the stores of the sections, 0 for none.
var sectionStores = [numSections]Stores{
	sectionURLs:    URLStore,
	sectionForward: ForwardStore, sectionForwardGhosts: ForwardStore, sectionLabels: ForwardStore,
	sectionBackward: BackwardStore, sectionBackwardGhosts: BackwardStore,
}

// Stores returns the stores in memory. A read of another one panics, because an empty answer would
// be wrong: the caller must [Cell.Load] it before.
func (c *Cell) Stores() Stores { return c.stores }

// Sum identifies the content of a cell, whatever stores are in memory: it is the checksum of the
// header, which covers the checksums of all sections.
func (c *Cell) Sum() uint64 { return binary.LittleEndian.Uint64(c.head[checksumAt:]) }

// Size returns the bytes of the cell in memory.
func (c *Cell) Size() int {
	if c.data != nil {
		return len(c.data)
	}
	size := len(c.head)
	for _, section := range c.header.sections {
		size += len(section)
	}
	return size
}

// FileSize returns the bytes of the whole cell, whatever stores are in memory.
func (c *Cell) FileSize() int { return int(binary.LittleEndian.Uint64(c.head[lengthAt:])) }

// StoreSize returns the bytes of some stores, in memory or not.
func (c *Cell) StoreSize(stores Stores) (size int) {
	for i, of := range sectionStores {
		if of&stores != 0 {
			size += c.section(i).length
		}
	}
	return size
}

// sectionPlace is the place of a section in the whole cell.
type sectionPlace struct {
	start, length int // without the zeros behind it
	sum           uint64
}

func (c *Cell) section(i int) sectionPlace {
	le, entry := binary.LittleEndian, c.head[sectionTable+sectionEntry*i:]
	return sectionPlace{int(le.Uint64(entry)), int(le.Uint64(entry[8:])), le.Uint64(entry[16:])}
}

// DropStores returns the same cell without some stores. It copies the rest, so that the memory of these
// stores is free as soon as nobody uses c. path must be the file of the whole cell; [Cell.Load] reads
// it.
func (c *Cell) DropStores(stores Stores, path string) (*Cell, error) {
	kept := c.stores &^ stores
	if kept == c.stores {
		return c, nil
	}
	// Sections that are slices of their own are shared, because both cells are immutable.
	part := c.part()
	for i, of := range sectionStores {
		if part.sections[i] = c.header.sections[i]; !kept.Has(of) {
			part.sections[i] = nil
		} else if c.data != nil {
			part.sections[i] = slices.Clone(part.sections[i])
			useLargePages(part.sections[i])
		}
	}
	return c.openPart(part, kept, path)
}

// part returns a header for some of the sections.
func (c *Cell) part() *header {
	h := *c.header
	h.meta, h.sections = slices.Clone(h.meta), [numSections][]byte{}
	return &h
}

// openPart opens some sections of c.
func (c *Cell) openPart(h *header, stores Stores, path string) (*Cell, error) {
	part := &Cell{head: slices.Clone(c.head), path: path, stores: stores, header: h}
	if err := part.openSections(); err != nil {
		return nil, fmt.Errorf("cell: %w: open the %s of a cell: %w", ErrCorrupt, stores, err)
	}
	return part, nil
}

// Load returns the same cell with further stores, which it reads from the cell's file. If the file
// is damaged or that of another cell, the error wraps ErrCorrupt or ErrVersion. If all stores are
// wanted, it reads the whole file, so that the cell is one slice again.
func (c *Cell) Load(stores Stores) (*Cell, error) {
	wanted := c.stores | stores
	switch wanted {
	case c.stores:
		return c, nil
	case AllStores:
		whole, err := OpenFile(c.path)
		if err == nil && whole.Sum() != c.Sum() {
			err = fmt.Errorf("cell: %s: %w: it is another cell", c.path, ErrCorrupt)
		}
		return whole, err
	}
	h := c.part()
	h.sections = c.header.sections
	if err := c.readSections(h, wanted&^c.stores); err != nil {
		return nil, fmt.Errorf("cell: %s: %w", c.path, err)
	}
	return c.openPart(h, wanted, c.path)
}

// readSections reads the sections of some stores from the file, and checks them.
func (c *Cell) readSections(h *header, stores Stores) (err error) {
	f, err := os.Open(c.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for i, of := range sectionStores {
		if of&stores == 0 {
			continue
		}
		// The checksum covers the zeros behind the section, too.
		at := c.section(i)
		data := make([]byte, roundUp8(at.length))
		if _, err := f.ReadAt(data, int64(at.start)); err != nil {
			return fmt.Errorf("%w: read its %s: %w", ErrCorrupt, sectionNames[i], err)
		}
		if sum := xxhash.Sum64(data); sum != at.sum {
			return fmt.Errorf("%w: the checksum of its %s is %016x and should be %016x", ErrCorrupt, sectionNames[i], at.sum, sum)
		}
		useLargePages(data)
		h.sections[i] = data[:at.length:at.length]
	}
	return nil
}

// missing panics: a store is read that is not in memory.
func (c *Cell) missing(s Stores) {
	panic(fmt.Sprintf("cell: a read of the store %s of the cell of %s, which has %s in memory", s, c.Range(), c.stores))
}
