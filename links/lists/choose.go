// This file chooses the codec of a table by what its lists take.

package lists

// Auto, as Options.Codec, is StreamVByte, which is read fastest, but for tables whose
// lists take more than 7/8 of a byte a link in it and in Reference at most 7/10 of that:
// those of sites whose pages have menus in common. There a list copies from lists that
// copy from none, so that reading one reads one other at most: it takes half as long
// again as in StreamVByte, and a tenth more bytes than with longer chains. Lists are
// coded in StreamVByte, and an eighth of them, windows that lie all over the table, in
// Reference too, to compare. No table has this codec.
const Auto Codec = 0xff

const (
	// Of so many windows of so many lists one is coded twice.
	trialEvery  = 8
	trialWindow = 128
	// trialLeast is from how many bytes of lists on it is worth while to choose.
	trialLeast = 1 << 16
	// trialChain is how many lists one reads behind a list.
	trialChain = 1
)

// trial is what some of a table's lists take in Reference, and in StreamVByte.
type trial struct {
	enc           refEncoder
	links         uint64
	copied, plain uint64 // bytes of the same lists
}

func newTrial() *trial { return &trial{enc: refEncoder{chain: trialChain}} }

// add codes a list that took so many bytes, if it is in a window.
func (t *trial) add(key uint32, locals, ghosts []uint32, plain uint64) {
	if key/trialWindow%trialEvery != 0 {
		return
	}
	at := key % trialWindow
	if at == 0 {
		for i := range t.enc.past { // of the window before
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

// pays reports whether Reference is to be chosen.
func (t *trial) pays() bool { return 8*t.plain > 7*t.links && 10*t.copied <= 7*t.plain }

// Choose returns the table's codec. With the codec Auto it is chosen then, by the
// lists so far, and these may be coded anew; further lists have the same codec. The
// error is that of AppendTo.
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

// copyLists codes all lists anew, in Reference.
func (b *Builder) copyLists() error {
	data, err := b.AppendTo(nil)
	if err != nil {
		return err
	}
	o := b.opts
	o.Codec = Reference
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
	*b = *other
	return nil
}
