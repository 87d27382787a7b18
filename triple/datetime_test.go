// Tests of dates and times.

package triple

import (
	"bytes"
	"strings"
	"testing"
)

// TestInstantsAscend: each row above the one before; equal instants in one row.
func TestInstantsAscend(t *testing.T) {
	tests := map[string][]string{
		XSDDateTime: {
			"-99999999999-01-01T00:00:00Z",
			"-0001-12-31T23:59:59.999Z",
			"0000-01-01T00:00:00 -0000-01-01T00:00:00Z -0001-12-31T24:00:00",
			"0000-02-29T00:00:00",
			"1582-10-10T00:00:00",
			"1969-12-31T23:59:59",
			"1969-12-31T23:59:59.1",
			"1969-12-31T23:59:59.999999999999999999999",
			"1970-01-01T00:00:00 1969-12-31T24:00:00.000 1970-01-01T00:00:00.0Z 1970-01-01T14:00:00+14:00 1969-12-31T10:00:00-14:00",
			"1970-01-01T00:00:00.01",
			"1970-01-01T00:00:00.09",
			"1970-01-01T00:00:00.1 1970-01-01T00:00:00.10",
			"2000-02-29T12:00:00Z",
			"2024-02-29T23:59:59Z",
			"2024-02-29T24:00:00Z 2024-03-01T00:00:00 2024-03-01T02:00:00+02:00",
			"12345-01-01T00:00:00Z",
			"99999999999-12-31T24:00:00-14:00",
		},
		XSDDate: {"-0001-01-01", "0000-01-01", "1999-12-31", "2000-01-01+14:00", "2000-01-01 2000-01-01Z 2000-01-01-00:00", "2000-01-01-14:00", "2000-02-29", "12000-01-01"},
		XSDTime: {"00:00:00+14:00", "00:00:00 24:00:00 24:00:00.00Z 00:00:00-00:00", "00:00:00.5", "12:00:00 14:00:00+02:00", "23:59:59.999", "23:00:00-05:00"},
	}
	for datatype, rows := range tests {
		var before []byte
		for _, row := range rows {
			var first []byte
			for lexical := range strings.FieldsSeq(row) {
				_, value, ok := appendValueBytes(nil, NewTyped(lexical, datatype))
				if !ok {
					t.Errorf("%s %q: not keyed by value", datatype, lexical)
				}
				if first != nil && !bytes.Equal(first, value) {
					t.Errorf("%s %q: not equal to the first of %q", datatype, lexical, row)
				}
				first = value
			}
			if bytes.Compare(before, first) >= 0 {
				t.Errorf("%s %q: not above the one before", datatype, row)
			}
			before = first
		}
	}
}

// TestIllTypedInstants: all of these sort among the others, by lexical form.
func TestIllTypedInstants(t *testing.T) {
	tests := map[string][]string{
		XSDDateTime: {"", "2000-01-01", "2000-01-01T", "2000-01-01 00:00:00", "2000-01-01t00:00:00", "2000-1-01T00:00:00", "200-01-01T00:00:00", "02000-01-01T00:00:00",
			"+2000-01-01T00:00:00", "--2000-01-01T00:00:00", "2000-00-01T00:00:00", "2000-13-01T00:00:00", "2000-01-00T00:00:00", "2000-01-32T00:00:00", "2001-02-29T00:00:00",
			"1900-02-29T00:00:00", "2000-04-31T00:00:00", "2000-01-01T24:00:01", "2000-01-01T24:01:00", "2000-01-01T24:00:00.1", "2000-01-01T25:00:00", "2000-01-01T00:60:00",
			"2000-01-01T00:00:60", "2000-01-01T00:00:00.", "2000-01-01T00:00", "2000-01-01T00:00:00z", "2000-01-01T00:00:00+14:01", "2000-01-01T00:00:00+15:00",
			"2000-01-01T00:00:00+1:00", "2000-01-01T00:00:00+0100", "2000-01-01T00:00:00Z ", " 2000-01-01T00:00:00Z", "2000-01-01T00:00:00ZZ", "2000-01-01T00:00:00+02:60",
			"100000000000-01-01T00:00:00", "2000-01-01Z"},
		XSDDate: {"2000-01-01T00:00:00", "2001-02-29", "2000-1-1", "01-01-2000", "2000-01-01z"},
		XSDTime: {"24:00:01", "1:00:00", "00:00", "T00:00:00", "00:00:00.", "00:00:00+14:30"},
	}
	for datatype, lexicals := range tests {
		for _, lexical := range lexicals {
			if _, _, ok := appendValueBytes(nil, NewTyped(lexical, datatype)); ok {
				t.Errorf("%s %q: keyed by value", datatype, lexical)
			}
			if _, ok := oracleInstant(strings.TrimPrefix(datatype, XSD), lexical); ok {
				t.Errorf("%s %q: the oracle takes it", datatype, lexical)
			}
		}
	}
}
