// Tests of media types.

package triple

import (
	"bytes"
	"strings"
	"testing"
)

func TestMedia(t *testing.T) {
	largest := bytes.Repeat([]byte{0xff}, MaxAnnotationContent)
	for _, c := range []struct {
		media   string
		content []byte
	}{
		{DefaultMedia, nil},
		{DefaultMedia, []byte("text")},
		{DefaultMedia, []byte(mediaMark)},
		{DefaultMedia, []byte(mediaMark + "\x03a/bx")},
		{DefaultMedia, largest},
		{"text/plain; charset=utf-8", nil},
		{"application/json", []byte("{}")},
		{"a/" + strings.Repeat("b", MaxMedia-2), largest},
	} {
		data, err := AppendMedia(nil, c.media, c.content)
		if err != nil || len(data) > MaxAnnotationBytes {
			t.Errorf("%s: %d bytes, %v", c.media, len(data), err)
		}
		if media, content := CutMedia(data); media != c.media || !bytes.Equal(content, c.content) {
			t.Errorf("%s with %d bytes became %s with %d", c.media, len(c.content), media, len(content))
		}
	}
	// Data of programs without a type have the default one.
	for _, data := range []string{"", "x", mediaMark, mediaMark + "\x00", mediaMark + "\x05a/b", mediaMark + "\x03abc"} {
		if media, content := CutMedia([]byte(data)); media != DefaultMedia || string(content) != data {
			t.Errorf("%q: %s, %q", data, media, content)
		}
	}
	for _, media := range []string{"text", "text/", "/", "text/plain; x", "a/b\n", "a/" + strings.Repeat("b", MaxMedia-1), "tëxt/plain"} {
		if _, err := AppendMedia(nil, media, nil); err == nil {
			t.Errorf("%q is taken", media)
		}
	}
	if _, err := AppendMedia(nil, "", make([]byte, MaxAnnotationContent+1)); err == nil {
		t.Error("too much content is taken")
	}
}

func FuzzCutMedia(f *testing.F) {
	f.Add([]byte("text"))
	f.Add([]byte(mediaMark + "\x0atext/plainx"))
	f.Fuzz(func(t *testing.T, data []byte) {
		media, content := CutMedia(data)
		again, err := AppendMedia(nil, media, content)
		if len(content) > MaxAnnotationContent {
			return
		}
		if m, c := CutMedia(again); err != nil || m != media || !bytes.Equal(c, content) {
			t.Fatalf("%q: %s %q became %s %q, %v", data, media, content, m, c, err)
		}
	})
}
