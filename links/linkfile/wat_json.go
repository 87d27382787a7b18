// The JSON of a WAT record.

package linkfile

// A record of type metadata has a block of JSON. The reader uses these members and skips all
// others:
//
//	{"Envelope": {
//	  "WARC-Header-Metadata": {
//	    "WARC-Type": "response",
//	    "WARC-Target-URI": "http://www.example.org/a"},
//	  "Payload-Metadata": {"HTTP-Response-Metadata": {
//	    "Response-Message": {"Status": "200"},
//	    "HTML-Metadata": {
//	      "Head": {"Base": "http://www.example.org/b/"},
//	      "Links": [
//	        {"path": "A@/href", "url": "c.html", "text": "more", "rel": "nofollow"},
//	        {"path": "IMG@/src", "url": "logo.png"}]}}}}}
//
// If two members have the same name, the last one counts.

// watEnvelope is the description of a page in a record. Its strings alias the block.
type watEnvelope struct {
	kind, target, status, base jsonString
	http                       bool // there is HTTP-Response-Metadata
	links                      int  // index of the '[' of Links; 0: none
}

// watLink is a member of Links.
type watLink struct{ path, url, text, rel jsonString }

// envelope reads a whole block.
func (j *jsonText) envelope(e *watEnvelope) error {
	err := j.objectOrSkip(func(key jsonString) error {
		if !key.is("Envelope") {
			return j.skip()
		}
		*e = watEnvelope{}
		return j.objectOrSkip(func(key jsonString) error {
			switch {
			case key.is("WARC-Header-Metadata"):
				e.kind, e.target = nil, nil
				return j.objectOrSkip(func(key jsonString) error { return j.header(key, e) })
			case key.is("Payload-Metadata"):
				e.clearResponse()
				return j.objectOrSkip(func(key jsonString) error { return j.payload(key, e) })
			}
			return j.skip()
		})
	})
	if err == nil && (j.peek() != 0 || j.i < len(j.b)) {
		err = errJSON
	}
	return err
}

func (e *watEnvelope) clearResponse() { e.status, e.base, e.http, e.links = nil, nil, false, 0 }

func (j *jsonText) header(key jsonString, e *watEnvelope) (err error) {
	switch {
	case key.is("WARC-Type"):
		e.kind, err = j.stringOrSkip()
	case key.is("WARC-Target-URI"):
		e.target, err = j.stringOrSkip()
	default:
		err = j.skip()
	}
	return err
}

func (j *jsonText) payload(key jsonString, e *watEnvelope) error {
	if !key.is("HTTP-Response-Metadata") {
		return j.skip()
	}
	e.clearResponse()
	e.http = j.peek() == '{'
	return j.objectOrSkip(func(key jsonString) error {
		switch {
		case key.is("Response-Message"):
			e.status = nil
			return j.objectOrSkip(func(key jsonString) (err error) {
				if key.is("Status") {
					e.status, err = j.stringOrSkip()
					return err
				}
				return j.skip()
			})
		case key.is("HTML-Metadata"):
			e.base, e.links = nil, 0
			return j.objectOrSkip(func(key jsonString) error { return j.html(key, e) })
		}
		return j.skip()
	})
}

func (j *jsonText) html(key jsonString, e *watEnvelope) error {
	switch {
	case key.is("Head"):
		e.base = nil
		return j.objectOrSkip(func(key jsonString) (err error) {
			if key.is("Base") {
				e.base, err = j.stringOrSkip()
				return err
			}
			return j.skip()
		})
	case key.is("Links"):
		e.links = 0
		if j.peek() == '[' {
			e.links = j.i
		}
	}
	return j.skip()
}

// objectOrSkip reads a value. If it is an object, it calls visit for each member.
func (j *jsonText) objectOrSkip(visit func(key jsonString) error) error {
	if j.peek() == '{' {
		return j.members(visit)
	}
	return j.skip()
}

// link reads a member of Links. It must be a well-formed object. link repeats members without a
// closure, because there are many links.
func (j *jsonText) link(w *watLink) error {
	j.i++ // the '{'
	// envelope has already checked the syntax, so commas need no check here.
	for j.peek() != '}' {
		key, err := j.string()
		if err != nil || j.peek() != ':' {
			return errJSON
		}
		j.i++
		value, err := j.stringOrSkip()
		if err != nil {
			return err
		}
		switch {
		case key.is("path"):
			w.path = value
		case key.is("url"):
			w.url = value
		case key.is("text"):
			w.text = value
		case key.is("rel"):
			w.rel = value
		}
		if j.peek() == ',' {
			j.i++
		}
	}
	j.i++
	return nil
}
