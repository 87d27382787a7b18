// WAT files: the pages and their links.

package linkfile

import (
	"bytes"
	"io"

	"github.com/trefoildb/trefoil/triple"
	"github.com/trefoildb/trefoil/triple/iri"
)

// watParser reads WAT files: a page for each response of status 2xx.
type watParser struct {
	warc    warcReader
	options *Options
	counts  *Counts

	// The current record, if inRecord is set. Its block is part of the window. No more text must
	// be read until the record is skipped, because that would overwrite the block.
	inRecord bool
	first    bool // no part of it has been read
	json     jsonText
	source   []byte
	base     iri.Base
	done     int64 // members of Links, used or rejected
	skip     int64 // Position.Skip of the next record: 1 plus the members already done

	text, scratch, href []byte
	reject              []byte
}

func newWATParser(r io.Reader, opts Options, counts *Counts) *watParser {
	p := &watParser{options: &opts, counts: counts, skip: opts.From.Skip,
		warc: warcReader{window: newWindow(r, &opts), maxRecord: opts.MaxLine}}
	return p
}

func (p *watParser) position() Position {
	_ = p.warc.findAgain() // next returns the error again
	if p.inRecord {
		return Position{Offset: p.warc.start.Offset, Line: p.warc.start.Line, Skip: 1 + p.done}
	}
	return Position{Offset: p.warc.offset, Line: p.warc.line, Skip: p.skip}
}

func (p *watParser) rejected() []byte { return p.reject }

func (p *watParser) next(page *Page) error {
	p.text = reuse(p.text)
	// 1. Go to the next page, unless the current record has links left.
	for !p.inRecord {
		if err := p.nextRecord(); err != nil {
			return err
		}
	}
	page.Source, page.Replace = p.source, p.first
	// 2. Read links until the part is full. If this call already has links, a wrong link is left
	// to the next one: a call returns a page or an error.
	for len(page.Links) < partLinks && len(p.text) < partBytes {
		if p.json.peek() == ']' {
			p.inRecord = false
			return p.warc.skipBlock(nil)
		}
		before := p.json.i
		link, ok, err := p.link()
		if err != nil {
			if len(page.Links) > 0 || page.Replace {
				p.json.i = before
				break // this link begins the next call
			}
			return p.rejectLink(before, err)
		}
		p.done++
		if ok {
			page.Links = append(page.Links, link)
		} else {
			p.counts.Skipped++
		}
	}
	page.More = true
	p.first = false
	return nil
}

// nextRecord goes to the next record. If it is a page, its links are next. Otherwise it is
// skipped.
func (p *watParser) nextRecord() error {
	// 1. Read the header. Only records of type metadata have the JSON.
	if err := p.warc.next(); err != nil {
		p.reject = p.warc.reject
		return err
	}
	if !bytes.EqualFold(p.warc.header.kind, []byte("metadata")) {
		return p.skipRecord()
	}
	block, err := p.warc.block()
	if err != nil {
		p.reject = p.warc.reject
		return err
	}
	// 2. Check the whole block first, because link and skipDone rely on well-formed JSON.
	p.json = jsonText{b: block}
	var e watEnvelope
	if err := p.json.envelope(&e); err != nil {
		return p.rejectRecord(block, p.json.i, err)
	}
	if !e.http || !e.kind.is("response") && e.kind != nil || len(e.status) > 0 && e.status[0] != '2' {
		return p.skipRecord()
	}
	// 3. Set the source and start at the links. A page without links gets an empty list.
	if at, err := p.setSource(&e); err != nil {
		return p.rejectRecord(block, at, err)
	}
	p.inRecord, p.first, p.done = true, p.skip == 0, 0
	if p.json = (jsonText{b: block, i: e.links}); e.links == 0 {
		p.json = jsonText{b: []byte("]")}
	} else {
		p.json.i++
	}
	return p.skipDone()
}

// skipRecord skips the record and counts it, because it is no page.
func (p *watParser) skipRecord() error {
	p.counts.Skipped++
	p.skip = 0
	err := p.warc.skipBlock(nil)
	p.reject = p.warc.reject
	return err
}

// skipDone skips the links read before this reader began.
func (p *watParser) skipDone() error {
	for ; p.done < p.skip-1 && p.json.peek() != ']'; p.done++ {
		if err := p.json.skip(); err != nil {
			return err // the block is known to be well-formed
		}
		p.comma()
	}
	p.skip = 0
	return nil
}

// comma skips the comma between two links.
func (p *watParser) comma() {
	if p.json.peek() == ',' {
		p.json.i++
	}
}

// setSource sets the source and the base from the page's address.
func (p *watParser) setSource(e *watEnvelope) (at int, err error) {
	address := p.warc.header.target
	if len(e.target) > 0 {
		p.scratch = e.target.append(p.scratch[:0])
		address = withoutBrackets(p.scratch)
	}
	if p.source, err = p.absolute(p.source[:0], address); err != nil {
		return 0, err
	}
	if p.base, err = iri.NewBase(string(p.source)); err != nil {
		return 0, err
	}
	p.setBase(e.base)
	return 0, nil
}

// setBase sets the base to the page's own base. It ignores the base unless its scheme is http or
// https.
func (p *watParser) setBase(base jsonString) {
	if len(base) == 0 {
		return
	}
	changed := p.counts.Changed
	ref := p.reference(base)
	p.counts.Changed = changed // it is not an IRI of a link
	text, err := appendNormal(nil, []byte(p.base.Resolve(string(ref))))
	if err != nil || !bytes.HasPrefix(text, []byte("http://")) && !bytes.HasPrefix(text, []byte("https://")) {
		return
	}
	if base, err := iri.NewBase(string(text)); err == nil {
		p.base = base
	}
}

// absolute appends the normalized IRI of an address, or returns an error.
func (p *watParser) absolute(dst, address []byte) (_ []byte, err error) {
	start := len(dst)
	if schemeLen(address) == 0 {
		return dst, errNoIRI
	}
	var changed bool
	p.href, changed = appendEncoded(p.href[:0], address)
	if dst, err = appendNormal(dst, p.href); err != nil {
		return dst[:start], err
	}
	if len(dst)-start > triple.MaxTermBytes {
		return dst[:start], errLongTerm
	}
	if changed {
		p.counts.Changed++
	}
	return dst, nil
}

// reference returns the reference in an attribute's value, as browsers read it. White space
// around it and line ends and tabs in it are dropped. Backslashes before the query become
// slashes. The fragment is dropped. A byte is encoded if an IRI must not have it. The result is
// valid until the next call.
func (p *watParser) reference(value jsonString) []byte {
	text := value.append(p.scratch[:0])
	p.scratch = text
	text = bytes.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	if i := bytes.IndexByte(text, '#'); i >= 0 {
		text = text[:i]
	}
	var changed bool
	p.href, changed = appendEncoded(p.href[:0], asBrowsersRead(text))
	if changed {
		p.counts.Changed++
	}
	return p.href
}

// asBrowsersRead drops line ends and tabs of a reference, in place. Backslashes before its query
// become slashes.
func asBrowsersRead(text []byte) []byte {
	odd := false
	for _, c := range []byte("\\\t\n\r") {
		odd = odd || bytes.IndexByte(text, c) >= 0
	}
	if !odd {
		return text
	}
	kept := text[:0]
	query := false
	for _, c := range text {
		switch {
		case c == '\t' || c == '\n' || c == '\r':
			continue
		case c == '?':
			query = true
		case c == '\\' && !query:
			c = '/'
		}
		kept = append(kept, c)
	}
	return kept
}

// link reads the next member of Links. It returns false if the member is no link.
func (p *watParser) link() (l Link, ok bool, err error) {
	// 1. Read the member, even if it is no object: position counts every member.
	var w watLink
	if p.json.peek() != '{' {
		err = p.json.skip()
	} else {
		err = p.json.link(&w)
	}
	if err != nil {
		return l, false, err // the block is known to be well-formed
	}
	p.comma()
	if w.url == nil || !p.wanted(w.path) {
		return l, false, nil
	}
	// 2. Skip references without a target. Changed must count only IRIs of links, so it is reset.
	changed := p.counts.Changed
	ref := p.reference(w.url)
	if len(ref) == 0 || !p.followed(ref) {
		p.counts.Changed = changed
		return l, false, nil
	}
	// 3. Resolve and normalize the target. On an error the text must stay as it was.
	start := len(p.text)
	if isHTTP(ref) {
		p.text, err = appendNormal(p.text, ref)
	} else {
		p.text, err = appendNormal(p.text, []byte(p.base.Resolve(string(ref))))
	}
	if err == nil && len(p.text)-start > triple.MaxTermBytes {
		err = errLongTerm
	}
	if err != nil {
		p.text, p.counts.Changed = p.text[:start], changed
		return l, false, err
	}
	// 4. Append the anchor text. It may be invalid UTF-8, because JSON strings stay unchecked.
	l.Target = slice(p.text, start)
	l.NoFollow = hasWord(w.rel, "nofollow")
	if start = len(p.text); len(w.text) > 0 {
		p.scratch = w.text.append(p.scratch[:0])
		p.text = appendUTF8(p.text, p.scratch)
		l.Text = slice(p.text, start)
	}
	return l, true, nil
}

// wanted reports whether a path belongs to hyperlinks.
func (p *watParser) wanted(path jsonString) bool {
	return path.is("A@/href") || path.is("AREA@/href") ||
		p.options.Frames && (path.is("FRAME@/src") || path.is("IFRAME@/src"))
}

// followed reports whether the scheme of a reference is accepted.
func (p *watParser) followed(ref []byte) bool {
	n := schemeLen(ref)
	switch {
	case n == 0 || isHTTP(ref) || bytes.EqualFold(ref[:n], []byte("ftp:")):
		return true
	case bytes.EqualFold(ref[:n], []byte("javascript:")):
		return false
	}
	return p.options.AllSchemes
}

// isHTTP reports whether text begins with the scheme http or https.
func isHTTP(text []byte) bool {
	return len(text) >= 5 && bytes.EqualFold(text[:5], []byte("http:")) ||
		len(text) >= 6 && bytes.EqualFold(text[:6], []byte("https:"))
}

// hasWord reports whether s contains word, ignoring case. Words are separated by white space.
func hasWord(s jsonString, word string) bool {
	if len(s) < len(word) {
		return false
	}
	for field := range bytes.FieldsSeq(s.append(nil)) {
		if bytes.EqualFold(field, []byte(word)) {
			return true
		}
	}
	return false
}

// rejectLink rejects the member of Links that begins at from.
func (p *watParser) rejectLink(from int, err error) error {
	text := p.json.b[from:p.json.i]
	p.reject = bytes.Clone(bytes.Trim(text[:min(len(text), keptOfReject)], ", \t\r\n"))
	p.done++
	return p.errorIn(p.json.b, from, err)
}

// rejectRecord rejects the record because of err at byte at of its block.
func (p *watParser) rejectRecord(block []byte, at int, err error) error {
	p.reject = bytes.Clone(block[:min(len(block), keptOf(p.options.MaxLine))])
	p.skip = 0
	return p.warc.skipBlock(p.errorIn(block, min(at, len(block)), err))
}

// errorIn returns an error at byte at of the block. The window must be at the block's start.
func (p *watParser) errorIn(block []byte, at int, err error) *triple.SyntaxError {
	line := bytes.LastIndexByte(block[:at], '\n') + 1
	syntax := p.warc.errorAt(block[line:], at-line, err.Error())
	syntax.Line += bytes.Count(block[:line], []byte{'\n'})
	syntax.Offset += int64(line)
	return syntax
}
