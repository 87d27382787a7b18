// Tests of unchecked terms.

package triple

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestRawTerm: if a token is found by its raw form, its term must have that form.
func TestRawTerm(t *testing.T) {
	doc := strings.Join([]string{
		`<a:s> <a:p> "" .`, `<a:s> <a:p> "x y" .`, `<a:s> <a:p> "\u0041" .`, `<a:s> <a:\u0041> "a\"b" .`, `<a:s> <a:p> "a"@en .`, `<a:s> <a:p> "a"^^<a:t> .`, "<a:s> <a:p> \"a\x00b\" .", "_:b <a:é> _:c .",
	}, "\n")
	b := NewBlock("", []byte(doc), false, 0)
	var st RawStatement
	found := 0
	for {
		more, err := b.Next(&st)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		for position, token := range st.Tokens {
			if token == nil {
				continue
			}
			term, _, err := b.Decode(&st, position, nil)
			if err != nil {
				t.Fatal(err)
			}
			key, _ := AppendTerm(nil, term)
			tag, body, ok := RawTerm(token)
			if same := bytes.Equal(append([]byte{tag}, body...), key); ok && !same && !bytes.Contains(token, []byte(`\`)) {
				t.Errorf("%s: %x %x, want %x", token, tag, body, key)
			}
			if ok {
				found++
			}
			if label, ok := RawBlank(token); ok != (term.Kind() == Blank) || ok && string(label) != term.Value() {
				t.Errorf("%s: blank %q, %v", token, label, ok)
			}
		}
	}
	if found != 17 {
		t.Errorf("%d tokens are found raw, want 17", found)
	}
}

// TestBlockReaderResumes: a reader that starts at a block's position must return the same blocks.
func TestBlockReaderResumes(t *testing.T) {
	doc := "\uFEFF" + strings.Repeat("<a:s> <a:p> <a:o> .\r\nbad\r\n\r\n# é\n", 20)
	opts := ScanOptions{BlockBytes: 50}
	whole, err := scanAll(strings.NewReader(doc), opts)
	if err != nil {
		t.Fatal(err)
	}
	br := NewBlockReader(strings.NewReader(doc), opts)
	for seen := 0; ; {
		b, err := br.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		var st RawStatement
		for more, _ := b.Next(&st); more; more, _ = b.Next(&st) {
			seen++
		}
		on := opts
		var offset int64
		offset, on.Line = br.Position()
		on.Offset = offset
		rest, err := scanAll(strings.NewReader(doc[offset:]), on)
		if err != nil {
			t.Fatal(err)
		}
		if d := diffEvents(rest, whole[seen:]); d != "" {
			t.Fatalf("from %d: %s", offset, d)
		}
	}
}
