// Choice of a table's codec by the size of its lists.

package lists

// Auto, as Options.Codec, chooses between StreamVByte, which is read fastest, and Reference. It
// chooses Reference if two conditions hold: lists take more than half a byte a link in
// StreamVByte, and in Reference at most 7/10 of that. Such are sites with menus common to their
// pages. Lists are coded in StreamVByte. To compare, an eighth of them is coded in Reference,
// too, in windows all over the table. No table has this codec.
const Auto Codec = 0xff

const (
	// One of trialEvery windows of trialWindow lists is coded twice.
	trialEvery  = 8
	trialWindow = 128
	// trialLeast is the least size of the lists, in bytes, for which a choice is worthwhile.
	trialLeast = 1 << 16
)

// trial compares the size of some lists in Reference with their size in StreamVByte.
type trial struct {
	enc   refEncoder
	links uint64
	plain uint64 // bytes of the same lists in StreamVByte
}

// add codes a list if it is in a window. plain is its size in StreamVByte.
func (t *trial) add(key uint32, locals, ghosts []uint32, plain uint64) {
	if key/trialWindow%trialEvery != 0 {
		return
	}
	t.enc.append(key, locals, ghosts)
	t.links += uint64(len(locals) + len(ghosts))
	t.plain += plain
}

// pays reports whether Reference must be chosen.
func (t *trial) pays() bool {
	t.enc.flush()
	return 2*t.plain > t.links && 10*t.enc.size() <= 7*t.plain
}

// Choose returns the table's codec. If the codec is Auto, Choose fixes it by the lists so far,
// and may encode these again. Later lists have the same codec. The error is the one of AppendTo.
func (b *Builder) Choose() (Codec, error) {
	if b.err != nil || b.trial == nil {
		return b.opts.Codec, b.err
	}
	b.begin()
	pays := b.enc.size() >= trialLeast && b.trial.pays()
	b.trial = nil
	if pays {
		b.err = b.copyLists()
	}
	return b.opts.Codec, b.err
}

// copyLists encodes all lists again, in Reference.
func (b *Builder) copyLists() error {
	// 1. Finish the table in StreamVByte, because it is the only copy of the lists.
	data, err := b.AppendTo(nil)
	if err != nil {
		return err
	}
	o := b.opts
	o.Codec = Reference
	// 2. Drop the coded lists before the new ones grow, because both may be large.
	*b = Builder{opts: o}
	table, err := Open(data)
	if err != nil {
		return err
	}
	other, err := NewBuilder(o)
	if err != nil {
		return err
	}
	// 3. Choose the lengths by windows all over the table, because distances in its first lists
	// are short. A damaged list is reported below.
	var locals, ghosts []uint32
	other.lengths, other.begun = other.enc.begin(func(do func(key uint32, locals, ghosts []uint32)) {
		for key := range table.Len() {
			if key/trialWindow%trialEvery == 0 {
				locals, ghosts, _ = table.Decode(key, locals[:0], ghosts[:0])
				do(key, locals, ghosts)
			}
		}
	}), true
	for key := range table.Len() {
		if locals, ghosts, err = table.Decode(key, locals[:0], ghosts[:0]); err == nil {
			err = other.Append(locals, ghosts)
		}
		if err != nil {
			return err
		}
	}
	// 4. Replace the builder only if every list was copied.
	*b = *other
	return nil
}
