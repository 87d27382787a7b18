// Fuzz tests of the readers.

package linkfile

import (
	"bytes"
	"testing"
	"testing/iotest"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// FuzzReader: any bytes in any format yield storable pages and rejects. The result must not
// depend on the sizes of reads, and reading must continue from every position.
func FuzzReader(f *testing.F) {
	for format := Edges; format <= lastFormat; format++ {
		for _, doc := range []string{"a:s\ta:o\t1\tx\n#\n\t\n", "1996|a|b\t1\r\n", "a:s\tx\ta:o\t\ta:p\nx\n", "<a:s> <urn:trefoil:linksTo> <a:o> .\n<a> .\n<a:s> <urn:trefoil:linksTo> <a:p> .",
			page("http://x/a", "b", a("c")+","+a("http:")), "WARC/1.0\r\nContent-Length: 3\r\n\r\n{}\n"} {
			f.Add([]byte(doc), uint8(format), false, 30)
			f.Add([]byte(doc), uint8(format), true, 0)
		}
	}
	f.Fuzz(func(t *testing.T, doc []byte, format uint8, dirty bool, maxLine int) {
		if len(doc) > 8<<10 {
			t.Skip("small blocks of long documents are slow")
		}
		opts := Options{Format: Format(format % (uint8(lastFormat) + 1)), BareHosts: dirty, Normalize: dirty, Frames: dirty, AllSchemes: dirty}
		if maxLine > 0 {
			opts.MaxLine = maxLine%1000 + 1
			opts.blockBytes = opts.MaxLine
		}
		rd, err := NewReader(bytes.NewReader(doc), opts)
		if err != nil {
			if opts.Format != 0 {
				t.Fatal(err)
			}
			return
		}
		more := false
		for p, err := range rd.All() {
			if err == nil {
				checkPage(t, p)
				if p.Replace && more {
					t.Fatal("a list is not ended")
				}
				more = p.More
			}
		}
		if rd.Err() != nil || more {
			t.Fatalf("%v, more %v", rd.Err(), more)
		}
		opts.Format = rd.Format()
		e, err := tryEvents(bytes.NewReader(doc), opts)
		require.NoError(t, err)
		again, err := tryEvents(iotest.OneByteReader(bytes.NewReader(doc)), opts)
		require.NoError(t, err)
		for i := range max(len(e.lines), len(again.lines)) {
			if i >= min(len(e.lines), len(again.lines)) || e.lines[i] != again.lines[i] {
				t.Fatalf("by bytes: %q\nwant %q", again.lines, e.lines)
			}
		}
		checkPlaces(t, doc, opts, e, 8)
	})
}

// FuzzEnvelope: envelope must read any block as encoding/json does.
func FuzzEnvelope(f *testing.F) {
	for _, block := range []string{watBlock, watJSON("http://x/", "200", htmlJSON("b", a("c"))), `{"Envelope":{"Payload-Metadata":{"HTTP-Response-Metadata":{"HTML-Metadata":{"Links":[1,{"path":"\u0041","url":null}]}}}}}`, `[-1.5e+3,true,{"a":[]}]`} {
		f.Add([]byte(block))
	}
	f.Fuzz(checkEnvelope)
}
