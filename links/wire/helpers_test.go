// Helpers of the tests: random messages, and readers of whole ones.

package wire

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

var random = seed.Rand

// someUIDs returns UIDs of any size in any order, 0 among them.
func someUIDs(r *rand.Rand, n int) []uid.UID {
	all := make([]uid.UID, n)
	for i := range all {
		all[i] = uid.UID(r.Uint64() >> r.IntN(65))
	}
	return all
}

// someList returns an ascending list.
func someList(r *rand.Rand, n int) []uid.UID {
	list := someUIDs(r, n)
	list = slices.DeleteFunc(list, func(u uid.UID) bool { return u == 0 })
	slices.Sort(list)
	return slices.Compact(list)
}

func someLabels(r *rand.Rand, n int) []links.Label {
	all := slices.Repeat([]links.Label{cell.NoLabel}, n)
	if r.IntN(2) == 0 {
		return all
	}
	for i := range all {
		if r.IntN(2) == 0 {
			all[i] = links.Label{Weight: r.NormFloat64(), Anchor: string(make([]byte, r.IntN(50)))}
		}
	}
	return all
}

// message is an answer of one kind.
type message struct {
	kind    Kind
	uids    []uid.UID
	urls    []string
	degrees []int
	lists   [][]uid.UID
	labels  [][]links.Label
}

func (m *message) count() int { return len(m.uids) + len(m.urls) + len(m.degrees) + len(m.lists) }

// bytes returns the message as it is written.
func (m *message) bytes(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, m.kind, m.count())
	for _, u := range m.uids {
		w.UID(u)
	}
	for _, url := range m.urls {
		w.URL(url)
	}
	for _, n := range m.degrees {
		w.Degree(n)
	}
	for i, list := range m.lists {
		var labels []links.Label
		if m.kind == LabelledLists {
			labels = m.labels[i]
		}
		_ = w.List(list, labels)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read reads a message of a kind and count.
func read(r *Reader, kind Kind, count int) (m message, err error) {
	m.kind = kind
	for range count {
		if r.Err() != nil {
			break
		}
		switch kind {
		case UIDs:
			m.uids = append(m.uids, r.UID())
		case URLs:
			m.urls = append(m.urls, r.URL())
		case Degrees:
			m.degrees = append(m.degrees, r.Degree())
		case Lists:
			m.lists = append(m.lists, r.List(nil))
		case LabelledLists:
			list, labels := r.LabelledList(nil, nil)
			m.lists, m.labels = append(m.lists, list), append(m.labels, labels)
		}
	}
	return m, r.Close()
}

// equal compares messages. nil and empty lists are equal.
func (m *message) equal(other *message) bool {
	sameLabels := func(a, b []links.Label) bool { return slices.Equal(a, b) }
	return m.kind == other.kind && slices.Equal(m.uids, other.uids) && slices.Equal(m.urls, other.urls) &&
		slices.Equal(m.degrees, other.degrees) && slices.EqualFunc(m.lists, other.lists, slices.Equal[[]uid.UID]) &&
		slices.EqualFunc(m.labels, other.labels, sameLabels)
}
