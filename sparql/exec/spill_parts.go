package exec

// partitions are files that rows are divided into by the hash of a key. A file is
// made when its first row comes.
type partitions struct {
	scratch *scratch
	holder  *holder
	fields  int
	depth   int // of partitions in partitions: each level goes by other bits
	files   [fan]*rowFile
}

func (s *scratch) divide(h *holder, fields, depth int) *partitions {
	return &partitions{scratch: s, holder: h, fields: fields, depth: depth}
}

func (p *partitions) add(key []byte, r record) error {
	i := hashOf(key) >> (4 * (p.depth % 16)) % fan
	if p.files[i] == nil {
		var err error
		if p.files[i], err = p.scratch.create(p.holder, p.fields); err != nil {
			return err
		}
	}
	return p.files[i].add(r)
}

func (p *partitions) finish() error {
	for _, f := range p.files {
		if f != nil {
			if err := f.finish(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *partitions) close() {
	if p == nil {
		return
	}
	for i, f := range p.files {
		f.close()
		p.files[i] = nil
	}
}

// part is a file of a level of partitions.
type part struct {
	file  *rowFile
	depth int
}

// pushTo puts the files on a stack, the first on top, whose they are from then on.
func (p *partitions) pushTo(stack []part) []part {
	for i := fan - 1; i >= 0; i-- {
		if f := p.files[i]; f != nil {
			stack = append(stack, part{f, p.depth})
			p.files[i] = nil
		}
	}
	return stack
}

// hashOf is FNV-1a with its bits mixed, so that any four of them divide keys.
func hashOf(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range key {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
