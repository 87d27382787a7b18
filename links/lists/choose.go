// Choice of a table's codec by the size of its lists.

package lists

// Auto, as Options.Codec, chooses between StreamVByte, which is read fastest, and Reference. It
// chooses Reference if two conditions hold: lists take more than 7/8 of a byte a link in
// StreamVByte, and in Reference at most 7/10 of that. Such are sites with menus common to their
// pages. There a list copies only from lists that copy from none, because a read then needs at
// most one other list. Such a read takes half as long again as in StreamVByte. The table is a
// tenth larger than with longer chains. Lists are coded in StreamVByte. To compare, an eighth of
// them is coded in Reference, too, in windows all over the table. No table has this codec.
const Auto Codec = 0xff

const (
	// One of trialEvery windows of trialWindow lists is coded twice.
	trialEvery  = 8
	trialWindow = 128
	// trialLeast is the least size of the lists, in bytes, for which a choice is worthwhile.
	trialLeast = 1 << 16
	// trialChain is the maximum number of other lists that a read of one list needs.
	trialChain = 1
)

// trial compares the size of some lists in Reference with their size in StreamVByte.
type trial struct {
	enc           refEncoder
	links         uint64
	copied, plain uint64 // bytes of the same lists
}

func newTrial() *trial { return &trial{enc: refEncoder{chain: trialChain}} }

// add codes a list if it is in a window. plain is its size in StreamVByte.
func (t *trial) add(key uint32, locals, ghosts []uint32, plain uint64) {
	if key/trialWindow%trialEvery != 0 {
		return
	}
	at := key % trialWindow
	if at == 0 {
		for i := range t.enc.past { // forget the window before
			t.enc.past[i].usable = false
		}
	}
	t.enc.buf = t.enc.buf[:0]
	t.enc.append(key, locals, ghosts)
	if at >= refWindow { // the first ones have little to copy from
		t.links += uint64(len(locals) + len(ghosts))
		t.copied += uint64(len(t.enc.buf))
		t.plain += plain
	}
}

// pays reports whether Reference must be chosen.
func (t *trial) pays() bool { return 8*t.plain > 7*t.links && 10*t.copied <= 7*t.plain }

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
	other.enc = &refEncoder{chain: trialChain}
	var locals, ghosts []uint32
	for key := range table.Len() {
		if locals, ghosts, err = table.Decode(key, locals[:0], ghosts[:0]); err == nil {
			err = other.Append(locals, ghosts)
		}
		if err != nil {
			return err
		}
	}
	// 3. Replace the builder only if every list was copied.
	*b = *other
	return nil
}
