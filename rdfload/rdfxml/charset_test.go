// Tests of encodings.

package rdfxml

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"

	"github.com/trefoildb/trefoil/triple"
)

// utf16Bytes returns text in UTF-16.
func utf16Bytes(order binary.AppendByteOrder, text string) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func TestEncodings(t *testing.T) {
	declared := func(attributes, text string) string {
		return "<?xml version=\"1.0\" " + attributes + "?>\r\n" + head + `<e:T rdf:about="http://e/a" e:n="` + text + `"/>` + tail
	}
	single := func(m *charmap.Charmap, doc string) string {
		out, err := m.NewEncoder().String(doc)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const astral = "\u00e9\u20ac\U0001F600"
	for _, test := range []struct{ name, doc, want string }{
		{"UTF-8", declared(`encoding="UTF-8"`, astral), astral},
		{"UTF8", declared(`encoding="UTF8"`, astral), astral},
		{"us-ascii", declared(`encoding="us-ascii"`, "e"), "e"},
		{"UTF-16 big", utf16Bytes(binary.BigEndian, "\uFEFF"+declared(`encoding="UTF-16"`, astral)), astral},
		{"UTF-16 little", utf16Bytes(binary.LittleEndian, "\uFEFF"+declared(`encoding='utf-16'`, astral)), astral},
		{"UTF-16 without a declaration", utf16Bytes(binary.LittleEndian, "\uFEFF"+head+`<e:T rdf:about="http://e/a" e:n="`+astral+`"/>`+tail), astral},
		{"UTF-16LE without a mark", utf16Bytes(binary.LittleEndian, declared(`encoding="UTF-16LE"`, astral)), astral},
		{"UTF-16BE without a mark", utf16Bytes(binary.BigEndian, declared(`encoding="UTF-16BE"`, astral)), astral},
		{"UTF-16 in version 1.1", utf16Bytes(binary.BigEndian, "\uFEFF"+strings.Replace(declared(`encoding="UTF-16"`, astral), "1.0", "1.1", 1)), astral},
		{"ISO-8859-1", single(charmap.ISO8859_1, declared(`encoding="ISO-8859-1"`, "\u00e9\u0085\u00ff")), "\u00e9\u0085\u00ff"},
		{"latin1", single(charmap.ISO8859_1, declared(`encoding="latin1"`, "\u00e9")), "\u00e9"},
		{"ISO-8859-15", single(charmap.ISO8859_15, declared(`encoding="iso-8859-15"`, "\u20ac")), "\u20ac"},
		{"windows-1252", single(charmap.Windows1252, declared(`encoding="windows-1252" standalone="yes"`, "\u00e9\u20ac\u201c")), "\u00e9\u20ac\u201c"},
		{"CP1251", single(charmap.Windows1251, declared(`encoding="CP1251"`, "\u0416")), "\u0416"},
		{"KOI8-R", single(charmap.KOI8R, declared(`encoding="KOI8-R"`, "\u0416")), "\u0416"},
		{"version 1.1", strings.Replace(declared(`encoding="UTF-8"`, "1.1"), "1.0", "1.1", 1), "1.1"},
		{"version 1.1, spaces", strings.Replace(declared("", "1.1"), `version="1.0"`, "  version\t= '1.1'", 1), "1.1"},
		{"a long text", utf16Bytes(binary.BigEndian, "\uFEFF"+declared(`encoding="UTF-16"`, strings.Repeat("\u00e9", 100_000))), strings.Repeat("\u00e9", 100_000)},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := []string{"<http://e/a> <" + triple.RDF + "type> <http://e/T>", "<http://e/a> <http://e/n> " + triple.NewString(test.want).String()}
			for _, r := range []io.Reader{strings.NewReader(test.doc), iotest.OneByteReader(strings.NewReader(test.doc))} {
				if got, err := parse(r, Options{}); err != nil || !slices.Equal(got, want) {
					t.Errorf("got %.300q, %v", got, err)
				}
			}
		})
	}
}

// TestEncodingErrors: the place of an error has bytes of the document, and characters as columns.
func TestEncodingErrors(t *testing.T) {
	const latin = `<?xml version="1.0" encoding="ISO-8859-1"?>` + "\n"
	wide := utf16Bytes(binary.BigEndian, "\uFEFF"+head+"\n<e:T>")
	for _, test := range []struct {
		name, doc, want string
		offset          int
	}{
		{"another", `<?xml version="1.0" encoding="Shift_JIS"?>` + head + tail, `1:43: encoding "Shift_JIS" is not supported; convert the document to UTF-8`, 42},
		{"UTF-16 declared only", `<?xml version="1.0" encoding="utf-16"?>` + head + tail, `1:40: encoding "utf-16" is declared, but the document's bytes are not UTF-16; remove the declaration`, 39},
		{"UTF-16 not declared", utf16Bytes(binary.BigEndian, `<?xml version="1.0" encoding="ISO-8859-1"?>`+head+tail), `1:44: encoding "ISO-8859-1" is declared, but the document's bytes are UTF-16`, 86},
		{"UTF-32", "\xff\xfe\x00\x00<\x00\x00\x00", "1:1: the document looks like UTF-32; convert it to UTF-8", 0},
		{"in ISO-8859-1", latin + head + "\n<e:T e:p='\xe9'/><x:T/>" + tail, "3:15: the namespace prefix x is not declared", len(latin) + len(head) + 15},
		{"no character", strings.Replace(latin, "8859-1", "8859-3", 1) + head + "\n\n<e:T e:p='\xa5'/>" + tail, "4:11: the byte 0xA5 is no character of ISO 8859-3", len(latin) + len(head) + 12},
		{"in UTF-16", utf16Bytes(binary.LittleEndian, "\uFEFF"+head+"\n<e:T e:p='\U0001F600'/><x:T/>"+tail), "2:15: the namespace prefix x is not declared", 2 * (len(head) + 17)},
		{"half a character", utf16Bytes(binary.BigEndian, "\uFEFF"+head) + "\xd8\x3d\x00 ", "UTF-16: D83D is half of a character", 2 + 2*len(head)},
		{"half at the end", utf16Bytes(binary.BigEndian, "\uFEFF"+head) + "\xd8\x3d", "UTF-16: D83D is half of a character", 2 + 2*len(head)},
		{"an odd byte", wide + "\x00", "UTF-16: the document ends within a character", len(wide)},
		{"version 2.0", `<?xml version="2.0"?>` + head + tail, `unsupported version "2.0"`, 21},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(strings.NewReader(test.doc), Options{})
			var syntax *triple.SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), test.want) || syntax.Offset != int64(test.offset) {
				t.Errorf("got %v at byte %d\nwant %s at %d", err, syntax.Offset, test.want, test.offset)
			}
		})
	}
	// The limit counts bytes of the document, and a reader's error stays what it is.
	if _, err := parse(strings.NewReader(utf16Bytes(binary.BigEndian, "\uFEFF"+head+tail)), Options{MaxBytes: 150}); err == nil || !strings.Contains(err.Error(), "more than 150 bytes") {
		t.Errorf("a large document: %v", err)
	}
	broken := errors.New("disk on fire")
	for _, n := range []int{0, 1, 2, 3, 51} {
		if _, err := parse(io.MultiReader(bytes.NewReader([]byte(wide[:n])), iotest.ErrReader(broken)), Options{}); !errors.Is(err, broken) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
