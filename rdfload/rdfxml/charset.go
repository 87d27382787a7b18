// The encodings of documents.

package rdfxml

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// decoder reads a character of a document from r. It returns the character's size in the document.
// An error other than that of the reader is one of the document.
type decoder func(r *bufio.Reader) (c rune, size int, err error)

// badEncoding is a document's bytes that are no character of its encoding.
type badEncoding string

func (e badEncoding) Error() string { return string(e) }

// detect returns the decoder that the first bytes of a document require, or nil if they are ASCII
// or UTF-8 (Extensible Markup Language 1.0, appendix F). A byte order mark is a character of the
// document.
func detect(head []byte) (decoder, error) {
	for _, wide := range []struct {
		start  string
		decode decoder
	}{
		{"\xff\xfe\x00\x00", nil}, {"\x00\x00\xfe\xff", nil}, {"<\x00\x00\x00", nil}, {"\x00\x00\x00<", nil}, // UTF-32
		{"\xfe\xff", utf16Decoder(binary.BigEndian)}, {"\x00<\x00", utf16Decoder(binary.BigEndian)},
		{"\xff\xfe", utf16Decoder(binary.LittleEndian)}, {"<\x00", utf16Decoder(binary.LittleEndian)},
	} {
		if bytes.HasPrefix(head, []byte(wide.start)) {
			if wide.decode == nil {
				return nil, badEncoding("the document looks like UTF-32; convert it to UTF-8")
			}
			return wide.decode, nil
		}
	}
	return nil, nil
}

// utf16Decoder returns the decoder of UTF-16. It rejects lone surrogates, which the decoder of
// golang.org/x/text replaces without an error.
func utf16Decoder(order binary.ByteOrder) decoder {
	unit := func(r *bufio.Reader) (rune, error) {
		var b [2]byte
		_, err := io.ReadFull(r, b[:])
		if err == io.ErrUnexpectedEOF {
			err = badEncoding("UTF-16: the document ends within a character")
		}
		return rune(order.Uint16(b[:])), err
	}
	return func(r *bufio.Reader) (rune, int, error) {
		c, err := unit(r)
		if err != nil || !utf16.IsSurrogate(c) {
			return c, 2, err
		}
		low, err := unit(r)
		if err != nil && err != io.EOF {
			return 0, 0, err
		}
		whole := utf16.DecodeRune(c, low)
		if whole == utf8.RuneError || err == io.EOF {
			return 0, 0, badEncoding(fmt.Sprintf("UTF-16: %04X is half of a character", c))
		}
		return whole, 4, nil
	}
}

// declare switches the source to the encoding that the document declares. The declaration has just
// been read, so the rest of the document follows.
func (s *source) declare(charset string) error {
	// 1. UTF-16 is found by the document's first bytes. They must agree with the declaration.
	name := plainName(charset)
	switch {
	case strings.HasPrefix(name, "utf16") || name == "ucs2" || name == "iso10646ucs2":
		if s.decode == nil {
			return fmt.Errorf("encoding %q is declared, but the document's bytes are not UTF-16; remove the declaration if they are UTF-8", clip(charset))
		}
		return nil
	case s.decode != nil:
		return fmt.Errorf("encoding %q is declared, but the document's bytes are UTF-16; correct the declaration", clip(charset))
	case name == "utf8" || name == "usascii" || name == "ascii":
		return nil
	}
	// 2. All others have one byte for each character.
	if name == "latin1" || name == "l1" {
		name = "iso88591"
	} else if number, ok := strings.CutPrefix(name, "cp125"); ok {
		name = "windows125" + number
	}
	for _, e := range charmap.All {
		if m, ok := e.(*charmap.Charmap); ok && plainName(m.String()) == name {
			s.decode = byteDecoder(m)
			return nil
		}
	}
	return fmt.Errorf("encoding %q is not supported; convert the document to UTF-8", clip(charset))
}

// byteDecoder returns the decoder of an encoding with one byte for each character.
func byteDecoder(m *charmap.Charmap) decoder {
	return func(r *bufio.Reader) (rune, int, error) {
		b, err := r.ReadByte()
		if err != nil {
			return 0, 0, err
		}
		c := m.DecodeByte(b)
		if c == utf8.RuneError {
			return 0, 0, badEncoding(fmt.Sprintf("the byte 0x%02X is no character of %s", b, m))
		}
		return c, 1, nil
	}
}

// plainName returns the letters and digits of an encoding's name, in lower case.
func plainName(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return -1
	}, strings.ToLower(name))
}
