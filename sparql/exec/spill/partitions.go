// Files of rows, divided by the hash of a key.

package spill

import (
	"github.com/trefoildb/trefoil/sparql/exec/memory"
)

// Partitions divide rows into files by the hash of a key. A file is made when its first row
// comes.
type Partitions struct {
	scratch *Scratch
	holder  *memory.Holder
	fields  int
	depth   int // of partitions in partitions: each level goes by other bits
	Files   [FanOut]*RecordFile
}

// NewPartitions returns files at a depth of partitions in partitions. depth must be one more
// than the divided file's.
func (s *Scratch) NewPartitions(h *memory.Holder, fields, depth int) *Partitions {
	return &Partitions{scratch: s, holder: h, fields: fields, depth: depth}
}

// Add writes a record to the file of its key.
func (p *Partitions) Add(key []byte, r Record) error {
	i := hashOf(key) >> (4 * (p.depth % 16)) % FanOut
	if p.Files[i] == nil {
		var err error
		if p.Files[i], err = p.scratch.Create(p.holder, p.fields); err != nil {
			return err
		}
	}
	return p.Files[i].Add(r)
}

// Finish must be called after the last record, before a file is read.
func (p *Partitions) Finish() error {
	for _, f := range p.Files {
		if f != nil {
			if err := f.Finish(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Partitions) Close() {
	if p == nil {
		return
	}
	for i, f := range p.Files {
		f.Close()
		p.Files[i] = nil
	}
}

// Part is a file of a level of partitions.
type Part struct {
	File  *RecordFile
	Depth int
}

// PushTo puts the files on a stack, the first on top, whose they are from then on.
func (p *Partitions) PushTo(stack []Part) []Part {
	for i := FanOut - 1; i >= 0; i-- {
		if f := p.Files[i]; f != nil {
			stack = append(stack, Part{f, p.depth})
			p.Files[i] = nil
		}
	}
	return stack
}

// hashOf is FNV-1a with its bits mixed, so any four of them divide keys.
func hashOf(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range key {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
