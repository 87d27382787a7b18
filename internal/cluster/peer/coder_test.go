// Tests of messages whose fields are named once.

package peer

import (
	"encoding/hex"
	"errors"
	"reflect"
	"testing"
)

// everything has a field of each kind.
type everything struct {
	a, b  uint64
	on    [2]bool
	flags [3]bool
	data  []byte
	text  string
	kind  byte
	id    uint64
	count int64
	list  []string
	ages  map[byte]uint64
}

func (m *everything) fields(c *Coder) {
	c.Uvarint(&m.a, &m.b)
	c.Bool(&m.on[0], &m.on[1])
	c.Flags(&m.flags[0], &m.flags[1], &m.flags[2])
	c.Bytes(&m.data)
	c.String(&m.text)
	Byte(c, &m.kind)
	Uint64(c, &m.id)
	Number(c, &m.count, 500)
	List(c, &m.list, 1, func(s *string, c *Coder) { c.String(s) })
	Map(c, &m.ages, 2, func(k *byte, v *uint64, c *Coder) {
		Byte(c, k)
		c.Uvarint(v)
	})
	if m.kind == 9 {
		c.Fail("kind %d", m.kind)
	}
}

func TestCoder(t *testing.T) {
	m := everything{1, 300, [2]bool{true, false}, [3]bool{false, true, true}, []byte{7}, "é", 8, 5, 400, []string{"x", ""}, map[byte]uint64{2: 1, 1: 2}}
	data := Encode(0, m.fields)
	const want = "01ac02" + "0100" + "06" + "0107" + "02c3a9" + "08" + "0000000000000005" + "9003" + "02017800" + "0201020201"
	if got := hex.EncodeToString(data); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	var got everything
	if err := Decode(data, got.fields); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range data {
		if err := Decode(data[:n], new(everything).fields); !errors.Is(err, ErrMessage) {
			t.Errorf("the first %d of %d bytes: %v", n, len(data), err)
		}
	}
	if err := Decode(append(data, 0), new(everything).fields); !errors.Is(err, ErrMessage) {
		t.Errorf("one byte more: %v", err)
	}
	m = everything{kind: 9, count: 501}
	if err := Decode(Encode(0, m.fields), got.fields); !errors.Is(err, ErrMessage) || got.count != 500 || got.list != nil || got.ages != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzCoder(f *testing.F) {
	f.Add(Encode(0, (&everything{list: []string{"x"}, ages: map[byte]uint64{1: 2}}).fields))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m, again everything
		if err := Decode(data, m.fields); err != nil {
			return
		}
		if err := Decode(Encode(0, m.fields), again.fields); err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("%+v, then %+v, %v", m, again, err)
		}
	})
}
