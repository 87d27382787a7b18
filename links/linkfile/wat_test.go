// Tests of WARC records and of the JSON of WAT files. The files are made here, after the format's
// public description.

package linkfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// record returns a WARC record.
func record(kind, address, block string) string {
	return fmt.Sprintf("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\nWARC-Date: 2024-05-18T01:58:10Z\r\n"+
		"WARC-Record-ID: <urn:uuid:f2c0>\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", kind, address, len(block), block)
}

// watJSON returns the block of a page's record.
func watJSON(address, status, html string) string {
	return fmt.Sprintf(`{"Container":{"Compressed":true,"Offset":"527"},"Envelope":{"Format":"WARC","WARC-Header-Length":"605",`+
		`"Payload-Metadata":{"Actual-Content-Type":"application/http; msgtype=response","HTTP-Response-Metadata":{`+
		`"Headers":{"Server":"x"},"Response-Message":{"Status":%q,"Version":"HTTP/1.1"}%s},"Trailing-Slop-Length":"4"},`+
		`"WARC-Header-Metadata":{"WARC-Type":"response","WARC-Target-URI":%q}}}`, status, html, address)
}

func htmlJSON(base, links string) string {
	head := `{"Title":"t","Metas":[{"name":"robots","content":"none"}]`
	if base != "" {
		head += `,"Base":` + fmt.Sprintf("%q", base)
	}
	return `,"HTML-Metadata":{"Head":` + head + `},"Links":[` + links + `]}`
}

// page returns the record of a page with a list of links.
func page(address, base, links string) string {
	return record("metadata", address, watJSON(address, "200", htmlJSON(base, links)))
}

func a(url string) string { return fmt.Sprintf(`{"path":"A@/href","url":%q}`, url) }

func TestWAT(t *testing.T) {
	info := record("warcinfo", "x.warc.wat.gz", "Software-Info: x\r\n")
	request := record("metadata", "http://x/", `{"Envelope":{"WARC-Header-Metadata":{"WARC-Type":"request"},"Payload-Metadata":{"HTTP-Request-Metadata":{}}}}`)
	at := func(texts ...string) (offset, line int) {
		all := strings.Join(texts, "")
		return len(all), 1 + strings.Count(all, "\n")
	}
	bad := `{"Envelope":{"Payload-Metadata": oops}}`
	badOffset, badLine := at(info, record("metadata", "http://x/", bad)[:strings.Index(record("metadata", "http://x/", bad), bad)])
	linkDoc := page("http://x/a", "", a("b")+`,{"path":"A@/href","url":"http:///z","text":"t"},`+a("c"))
	linkOffset := strings.Index(linkDoc, `{"path":"A@/href","url":"http:///z"`)
	linkColumn := 1 + linkOffset - strings.Index(linkDoc, `{"Container"`)
	for _, test := range []struct {
		name string
		opts Options
		doc  string
		want []string
	}{
		{"page", Options{}, info + request + page("http://X:80/a/b?q", "", a("c")+`,{"path":"IMG@/src","url":"x.png"},{"url":"/d","text":"caf\u00e9 \"\n","path":"A@/href","rel":"external NoFollow","target":"_blank"}, `+a("?r")+","+a("//Y")+","+a("https://z/../#top")),
			[]string{`!http://x/a/b?q = http://x/a/c http://x/d"café \"\n"- http://x/a/b?r http://y/ https://z/`}},
		{"base", Options{}, page("http://x/a", "/b/", a("c")) + page("http://x/a", " http://y\n/z/w", a("c")+","+a("../d")) + page("http://x/a", "javascript:1", a("c")) + page("http://x/a", "http://", a("c")),
			[]string{"!http://x/a = http://x/b/c", "!http://x/a = http://y/z/c http://y/d", "!http://x/a = http://x/c", "!http://x/a = http://x/c"}},
		{"no links", Options{}, page("http://x/a", "", "") + record("metadata", "http://x/b", watJSON("http://x/b", "200", "")) + record("metadata", "http://x/c", watJSON("http://x/c", "204", `,"HTML-Metadata":{"Head":{}}`)),
			[]string{"!http://x/a =", "!http://x/b =", "!http://x/c ="}},
		{"other statuses", Options{}, record("metadata", "http://x/a", watJSON("http://x/a", "404", htmlJSON("", a("b")))) + record("metadata", "http://x/b", watJSON("http://x/b", "301", htmlJSON("", a("b")))), nil},
		{"what is no link", Options{}, page("http://x/a", "", strings.Join([]string{a("#top"), a(""), a(" \t"), a("javascript:void(0)"), a("JavaScript:1"), a("mailto:a@x"), a("tel:1"), `null`, `7`, `"x"`, `[]`, `{}`,
			`{"path":"A@/href"}`, `{"url":"b"}`, `{"path":"A@/href","url":5}`, `{"path":"FRAME@/src","url":"f"}`, `{"path":"LINK@/href","url":"l"}`, `{"path":"STYLE/#text","href":"s"}`, `{"path":"AREA@/href","url":"m"}`}, ",")),
			[]string{"!http://x/a = http://x/m"}},
		{"frames and schemes", Options{Frames: true, AllSchemes: true}, page("http://x/a", "", `{"path":"FRAME@/src","url":"f"},{"path":"IFRAME@/src","url":"g"},`+a("mailto:a@x")+","+a("JAVASCRIPT:1")+","+a("ftp://F/x")+","+a("URN:x#y")),
			[]string{"!http://x/a = http://x/f http://x/g mailto:a@x ftp://F/x URN:x"}},
		{"dirty addresses", Options{}, page("http://x/a", "", `{"path":"A@/href","url":"\\b\\c d?\\e|\u0000"},{"path":"A@/href","url":"\thttp:\/\/Y\\Z\n\r"},{"path":"\u0041@/href","url":"\ud83d\ude00\ud83d"}`),
			[]string{"!http://x/a = http://x/b/c%20d?%5Ce%7C http://y/Z http://x/😀�"}},
		{"address in the record only", Options{}, record("metadata", "<http://x/a>", `{"Envelope":{"Payload-Metadata":{"HTTP-Response-Metadata":{"HTML-Metadata":{"Links":[`+a("b")+`]}}}}}`), []string{"!http://x/a = http://x/b"}},
		{"the last member counts", Options{}, record("metadata", "http://x/a", `{"Envelope":1,"Envelope":{"Payload-Metadata":{"HTTP-Response-Metadata":{"HTML-Metadata":{"Links":[`+a("b")+`],"Links":[`+a("c")+`],"Head":{"Base":"/d/"},"Head":{}}}}}}`), []string{"!http://x/a = http://x/c"}},
		{"no page after all", Options{}, record("metadata", "http://x/a", `{"Envelope":{"Payload-Metadata":{"HTTP-Response-Metadata":{}}},"Envelope":null}`) + record("metadata", "http://x/a", `[1,2,{"Envelope":{}}]`), nil},
		{"bad JSON", Options{}, info + record("metadata", "http://x/", bad) + page("http://x/a", "", ""),
			[]string{fmt.Sprintf("? %d:34@%d this is no well-formed JSON | %s", badLine, badOffset+33, bad), "!http://x/a ="}},
		{"bad JSON on its second line", Options{}, record("metadata", "http://x/", "{\n  oops}"), []string{"? 10:3@182 this is no well-formed JSON | {\n  oops}"}},
		{"trailing text", Options{}, record("metadata", "http://x/", "{} x"), []string{"? 9:4@181 this is no well-formed JSON | {} x"}},
		{"bad address", Options{}, record("metadata", "x", watJSON("nothing", "200", "")), []string{"? 9:1@172 " + noIRI + " | {\"Container\"..."}},
		{"bad link", Options{}, linkDoc, []string{"!http://x/a = http://x/b +", fmt.Sprintf(`? 9:%d@%d this IRI of http or https has no host | {"path":"A@/href","url":"http:///z","text":"t"}`, linkColumn, linkOffset), "http://x/a = http://x/c"}},
		{"bad links only", Options{}, page("http://x/a", "", a("http:")), []string{"!http://x/a = +", "? 9:383@563 this IRI... | " + a("http:"), "http://x/a ="}},
		{"long record", Options{MaxLine: 500}, page("http://x/long", "", strings.Repeat(a("b")+",", 50)+a("c")) + page("http://x/a", "", ""), []string{"? 1:1@0 this record is longer than 500 bytes (raise the limit with --max-line) | {\"Container\"...", "!http://x/a ="}},
		{"no record", Options{}, "hello\n\nworld\n" + page("http://x/a", "", ""), []string{"? 1:1@0 expected a record, which begins with WARC/1.0 | hello", "!http://x/a ="}},
		{"a long line for a record", Options{}, "WARC/1.0" + strings.Repeat("x", maxWARCHeader) + "\n" + page("http://x/a", "", ""), []string{"? 1:1@0 expected a record...", "!http://x/a ="}},
		{"a long header", Options{}, "WARC/1.0\n" + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\n", 1100) + page("http://x/a", "", ""), []string{"? 1:1@0 this record's header is longer...", "!http://x/a ="}},
		{"bad field", Options{}, "WARC/1.0\r\nnothing\r\n" + page("http://x/a", "", ""), []string{"? 1:1@0 expected a named field, which is a name, a colon and a value | nothing", "!http://x/a ="}},
		{"no length", Options{}, "WARC/1.0\r\nWARC-Type: metadata\r\n\r\n" + page("http://x/a", "", ""), []string{"? 1:1@0 this record has no Content-Length | ", "!http://x/a ="}},
		{"bad length", Options{}, "WARC/1.0\r\nContent-Length: -1\r\n\r\n" + page("http://x/a", "", ""), []string{`? 1:1@0 "-1" is no Content-Length | `, "!http://x/a ="}},
		{"huge length", Options{}, "WARC/1.0\r\nContent-Length: 99999999999999999999999\r\n\r\n" + page("http://x/a", "", ""), []string{`? 1:1@0 "99999999999999999999999" is no Content-Length | `, "!http://x/a ="}},
		{"length beyond the end", Options{}, "WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 9999\r\n\r\nx\n" + page("http://x/a", "", ""), []string{"? 1:1@0 the file ends within this record | x\n...", "!http://x/a ="}},
		{"length far beyond the end", Options{}, "WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 99999999999\r\n\r\nx", []string{"? 1:1@0 this record is longer... | x"}},
		{"cut in the header", Options{}, page("http://x/a", "", "") + "WARC/1.0\r\nWARC-Type: meta", []string{"!http://x/a =", "? 11:1@" + fmt.Sprint(len(page("http://x/a", "", ""))) + " the file ends within this record | "}},
		{"cut in a block that is skipped", Options{}, "WARC/1.0\r\nContent-Length: 10\r\n\r\nx", []string{"? 1:1@0 the file ends within this record | "}},
		{"lines and folds", Options{}, strings.ReplaceAll("WARC/1.1\nwarc-type:metadata\nX: y\n\tz\nWARC-TARGET-URI:\n  http://x/a\nContent-Length: LEN\n\nBLOCK\n\n\n\n", "LEN\n\nBLOCK", fmt.Sprintf("%d\n\n%s", len(watBlock), watBlock)) + page("http://x/a", "", ""), []string{"!http://x/a = http://x/b", "!http://x/a ="}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.opts.Format = WAT
			e := readEvents(t, strings.NewReader(test.doc), test.opts)
			compare(t, e.lines, test.want)
			checkPlaces(t, []byte(test.doc), test.opts, e, 100)
		})
	}
}

const watBlock = `{"Envelope":{"Payload-Metadata":{"HTTP-Response-Metadata":{"HTML-Metadata":{"Links":[{"path":"A@/href","url":"b"}]}}}}}`

// TestWATMembers: one gzip member a record, as crawls are published; links in
// parts, and from every position.
func TestWATMembers(t *testing.T) {
	var compressed, plain bytes.Buffer
	all, bad := int64(0), int64(0)
	for i := range 50 {
		links := make([]string, i*i)
		all += int64(i * i)
		for k := range links {
			if links[k] = a(fmt.Sprintf("/p%d", k)); k%700 == 699 {
				links[k] = a("http:")
				bad++
			}
		}
		text := page(fmt.Sprintf("http://x/%d", i), "", strings.Join(links, ","))
		z := gzip.NewWriter(&compressed)
		if _, err := io.WriteString(z, text); err != nil {
			t.Fatal(err)
		}
		require.NoError(t, z.Close())
		plain.WriteString(text)
	}
	z, err := gzip.NewReader(&compressed)
	require.NoError(t, err)
	e := readEvents(t, z, Options{})
	if e.format != WAT || e.counts.Links != all-bad || e.counts.Rejected != bad {
		t.Errorf("%v, %+v", e.format, e.counts)
	}
	checkPlaces(t, plain.Bytes(), Options{Format: WAT}, e, 30)
}

// randomJSON returns a value with the names of the format.
func randomJSON(r *rand.Rand, depth int) any {
	if depth == 0 {
		return []any{nil, true, false, 1.5, "x", "", "A@/href", "http://x/", "é\n\"\\/😀", "response"}[r.IntN(10)]
	}
	if r.IntN(3) == 0 {
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomJSON(r, depth-1)
		}
		return list
	}
	names := []string{"Envelope", "Payload-Metadata", "WARC-Header-Metadata", "WARC-Type", "WARC-Target-URI", "HTTP-Response-Metadata",
		"Response-Message", "Status", "HTML-Metadata", "Head", "Base", "Links", "path", "url", "é"}
	m := map[string]any{}
	for range r.IntN(5) {
		m[names[r.IntN(len(names))]] = randomJSON(r, depth-1)
	}
	return m
}

// checkEnvelope compares envelope with encoding/json on a block.
func checkEnvelope(t *testing.T, block []byte) {
	t.Helper()
	var e watEnvelope
	j := jsonText{b: block}
	err := j.envelope(&e)
	if valid := json.Valid(block); valid != (err == nil) && !(valid && bytes.Count(block, []byte("["))+bytes.Count(block, []byte("{")) >= maxJSONDepth) {
		t.Fatalf("%q: valid is %v, and %v", block, valid, err)
	}
	if err != nil || !utf8.Valid(block) {
		return
	}
	var top any
	if json.Unmarshal(block, &top) != nil { // a number beyond a float64
		return
	}
	in := func(v any, names ...string) any {
		for _, name := range names {
			m, _ := v.(map[string]any)
			v = m[name]
		}
		return v
	}
	text := func(s jsonString) any {
		if s == nil {
			return nil
		}
		return string(s.append(nil))
	}
	stringOf := func(v any) any {
		if s, ok := v.(string); ok {
			return s
		}
		return nil
	}
	envelope := in(top, "Envelope")
	response := in(envelope, "Payload-Metadata", "HTTP-Response-Metadata")
	_, http := response.(map[string]any)
	links, hasLinks := in(response, "HTML-Metadata", "Links").([]any)
	got := []any{text(e.kind), text(e.target), text(e.status), text(e.base), e.http, e.links > 0}
	want := []any{stringOf(in(envelope, "WARC-Header-Metadata", "WARC-Type")), stringOf(in(envelope, "WARC-Header-Metadata", "WARC-Target-URI")),
		stringOf(in(response, "Response-Message", "Status")), stringOf(in(response, "HTML-Metadata", "Head", "Base")), http, hasLinks}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: got %v, want %v", block, got, want)
	}
	if !hasLinks {
		return
	}
	j.i = e.links
	i := 0
	if err := j.items('[', ']', func() error {
		var w watLink
		if j.peek() != '{' {
			i++
			return j.skip()
		}
		err := j.link(&w)
		if path, url := text(w.path), text(w.url); path != stringOf(in(links[i], "path")) || url != stringOf(in(links[i], "url")) {
			t.Fatalf("%s: link %d is %v, %v", block, i, path, url)
		}
		i++
		return err
	}); err != nil || i != len(links) {
		t.Fatalf("%s: %d of %d links, %v", block, i, len(links), err)
	}
}

func TestAgainstEncodingJSON(t *testing.T) {
	r := newRand(t)
	for range 3000 {
		block, err := json.Marshal(randomJSON(r, r.IntN(8)))
		require.NoError(t, err)
		checkEnvelope(t, block)
		for range 3 { // damaged
			block = bytes.Clone(block)
			block[r.IntN(len(block))] = "{}[],:\"\\ u0e-.tn"[r.IntN(16)]
			checkEnvelope(t, block)
		}
	}
	for _, s := range []string{"", " ", "1e5", "-0", "01", "1.", "-", "1e", "tru", "nul", "[1,]", "{,}", `{"a"}`, `{"a":}`, `{"a":1,}`, `"\x"`, `"\u12g4"`, "\"\n\"", "[1]]", "\x00", `"`, `"\`, "[\x00", "\"\x1f\"", "\"\x7f\"",
		`{"Envelope":{"WARC-Header-Metadata":{"WARC-Type":"a","WARC-Target-URI":"b"},"WARC-Header-Metadata":{}}}`,
		`{"Envelope":{"Payload-Metadata":` + everything + `,"Payload-Metadata":{}}}`,
		`{"Envelope":{"Payload-Metadata":` + everything + `,"Payload-Metadata":null}}`,
		`{"Envelope":{"Payload-Metadata":` + everything[:len(everything)-1] + `,"HTTP-Response-Metadata":{}}}}`,
		`{"Envelope":{"Payload-Metadata":` + everything[:len(everything)-2] + `,"HTML-Metadata":7,"Response-Message":{}}}}}`,
		`{"Envelope":{"Payload-Metadata":` + everything + `},"Envelope":{}}`,
	} {
		checkEnvelope(t, []byte(s))
	}
	for _, depth := range []int{maxJSONDepth - 1, maxJSONDepth, 1_000_000} {
		err := (&jsonText{b: []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))}).skip()
		if (err == nil) != (depth <= maxJSONDepth) {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
}

// everything is a response with all members that are read.
const everything = `{"HTTP-Response-Metadata":{"Response-Message":{"Status":"200"},"HTML-Metadata":{"Head":{"Base":"b"},"Links":[{}]}}}`

// TestLongRecords: if a record is over the limit, it is skipped without being held.
func TestLongRecords(t *testing.T) {
	if race.Enabled {
		t.Skip("measures memory")
	}
	const size = 300 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	head := fmt.Sprintf("WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: %d\r\n\r\n", size)
	e := readEvents(t, io.MultiReader(strings.NewReader(head), &endless{text: strings.Repeat("x", 1<<20), left: size >> 20}, strings.NewReader("\r\n\r\n"+page("http://x/a", "", ""))), Options{Format: WAT, MaxLine: 1 << 20})
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapSys - before.HeapSys); len(e.lines) != 2 || e.lines[1] != "!http://x/a =" || grown > 16<<20 {
		t.Errorf("%d events, the heap grew by %d MiB", len(e.lines), grown>>20)
	}
}

// TestWATFlippedBits: damage must yield a reject or another text, never a panic. The other pages
// are read.
func TestWATFlippedBits(t *testing.T) {
	one := page("http://x/a", "/b/", a("c")+","+a("d|"))
	for i := 0; i < len(one)*8; i += 3 {
		doc := []byte(one + page("http://y/", "", a("z")))
		doc[i/8] ^= 1 << (i % 8)
		rd, err := NewReader(bytes.NewReader(doc), Options{Format: WAT})
		require.NoError(t, err)
		found := false
		for p, err := range rd.All() {
			if err == nil {
				checkPage(t, p)
				found = found || string(p.Source) == "http://y/" && len(p.Links) == 1
			}
		}
		if rd.Err() != nil || !found && !strings.Contains(string(doc[:180]), "Content-Len") {
			t.Errorf("bit %d: %v", i, rd.Err())
		}
	}
}
