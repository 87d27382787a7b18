// Columns: the pairs of one predicate, by subject and by object.

package columns

// Column has the pairs (subject, object) of one predicate. It is safe for concurrent use.
type Column struct {
	BySubject Lists // the objects of each subject
	ByObject  Lists // the subjects of each object
}

// Rows returns the number of triples of the predicate.
func (c *Column) Rows() int { return c.BySubject.values.n }

func (c *Column) bytes() int64 { return c.BySubject.bytes() + c.ByObject.bytes() }

// Lists has an ascending list of numbers for each of its keys. The keys ascend. Places of keys and
// of values count from 0.
type Lists struct {
	keys packed
	// ends has the place behind the last value of each key. It is empty if each key has one value.
	ends   packed
	values packed
}

// Keys returns the number of keys.
func (l *Lists) Keys() int { return l.keys.n }

// Values returns the number of values of all keys.
func (l *Lists) Values() int { return l.values.n }

// Key returns the key at a place.
func (l *Lists) Key(i int) uint32 { return l.keys.at(i) }

// Value returns the value at a place.
func (l *Lists) Value(j int) uint32 { return l.values.at(j) }

// Bounds returns the places of the values of the key at a place: from lo up to hi.
func (l *Lists) Bounds(i int) (lo, hi int) {
	if l.ends.n == 0 {
		return i, i + 1
	}
	if i > 0 {
		lo = int(l.ends.at(i - 1))
	}
	return lo, int(l.ends.at(i))
}

// Before returns how many values the keys before a place have.
func (l *Lists) Before(i int) int {
	if i == l.Keys() {
		return l.Values()
	}
	lo, _ := l.Bounds(i)
	return lo
}

// LowerBound returns the place of the first key that is at least key; Keys() if there is none.
func (l *Lists) LowerBound(key uint32) int { return l.keys.lowerBound(0, l.keys.n, key) }

// Find returns the place of a key. near is the place of an earlier result: if the key is close behind
// it, the search is short. If the key is missing, place is that of the next one.
func (l *Lists) Find(key uint32, near int) (place int, ok bool) {
	n := l.keys.n
	lo, hi := 0, n
	// Search in growing steps from near on, then within the last step.
	if near < n {
		if l.keys.at(near) < key {
			lo = near + 1
			for step := 1; ; step *= 4 {
				if lo+step >= n {
					break
				}
				if l.keys.at(lo+step) >= key {
					hi = lo + step + 1
					break
				}
				lo += step + 1
			}
		} else {
			hi = near + 1
		}
	}
	place = l.keys.lowerBound(lo, hi, key)
	return place, place < n && l.keys.at(place) == key
}

// FindValue returns the first place in [lo, hi) whose value is at least v. The places must be of one
// key.
func (l *Lists) FindValue(lo, hi int, v uint32) int { return l.values.lowerBound(lo, hi, v) }

func (l *Lists) bytes() int64 { return l.keys.bytes() + l.ends.bytes() + l.values.bytes() }

// listsBuilder collects the lists of one column. Pairs must come in the order of keys, then values,
// each once. add returns the bytes that a pair takes until it is packed.
type listsBuilder struct {
	keys, ends, values []uint32
	long               bool // a pair has a long term, so there is no column
}

func (b *listsBuilder) add(key, value uint32) (bytes int64) {
	bytes = 4
	if n := len(b.keys); n == 0 || b.keys[n-1] != key {
		b.keys = append(b.keys, key)
		b.ends = append(b.ends, 0)
		bytes += 8
	}
	b.values = append(b.values, value)
	b.ends[len(b.ends)-1] = uint32(len(b.values))
	return bytes
}

// lists returns the lists, and empties the builder.
func (b *listsBuilder) lists() Lists {
	l := Lists{keys: pack(b.keys), values: pack(b.values)}
	if len(b.keys) < len(b.values) {
		l.ends = pack(b.ends)
	}
	*b = listsBuilder{}
	return l
}
