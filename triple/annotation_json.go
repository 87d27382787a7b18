// Annotations in JSON: lines of changes, and objects in answers.

package triple

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// AnnotationChange is a change of one annotation, one line of a batch.
type AnnotationChange struct {
	Triple        Triple
	ApplicationID string
	Remove        bool
	Media         string // of Content; "" is [DefaultMedia]
	Content       []byte
	// Version, if not "", is the version that the annotation must have. Absent means that there must
	// be none.
	Version string
	Absent  bool
}

// annotationJSON is an annotation in JSON. An ID is in app64 if it is not UTF-8. Content is in text
// if it is UTF-8 text, or in data.
type annotationJSON struct {
	App     string  `json:"app,omitempty"`
	App64   []byte  `json:"app64,omitempty"`
	Type    string  `json:"type,omitempty"`
	Version *string `json:"version,omitempty"`
	Text    *string `json:"text,omitempty"`
	Data    *[]byte `json:"data,omitempty"`
}

// changeJSON is one line of a batch.
type changeJSON struct {
	Op     string           `json:"op"`
	S      json.RawMessage  `json:"s"`
	P      json.RawMessage  `json:"p"`
	O      json.RawMessage  `json:"o"`
	G      json.RawMessage  `json:"g"`
	Absent bool             `json:"absent"`
	All    []annotationJSON `json:"annotations"`
	annotationJSON
}

// ParseAnnotationChanges parses a line of a batch. Its forms are
//
//	{"op":"set","s":TERM,"p":TERM,"o":TERM,"g":TERM,"app":"ID","type":"text/plain","text":"..."}
//	{"op":"remove","s":TERM,"p":TERM,"o":TERM,"app":"ID","version":"1.2"}
//	{"s":TERM,"p":TERM,"o":TERM,"annotations":[{"app":"ID","data":"BASE64"}]}
//
// op is set if it is missing, and g is the default graph. A TERM is an object as of [AppendJSON] or a
// string with N-Triples text. "data" has content in base64 in place of "text", and "app64" an ID that
// is not UTF-8. "version" and "absent":true are conditions. The last form, of [AppendAnnotatedJSON],
// sets all annotations of its list; their versions are no conditions.
func ParseAnnotationChanges(line []byte) ([]AnnotationChange, error) {
	var c changeJSON
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, jsonError(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON object on the line")
	}
	if at, err := checkCharacters(line); err != nil {
		return nil, fmt.Errorf("column %d: %w", at+1, err)
	}
	var t Triple
	for _, term := range []struct {
		name string
		text json.RawMessage
		into *Term
	}{{"s", c.S, &t.Subject}, {"p", c.P, &t.Predicate}, {"o", c.O, &t.Object}, {"g", c.G, &t.Graph}} {
		if term.text == nil && term.name == "g" {
			continue
		}
		var err error
		if *term.into, err = ParseTermJSON(term.text); err != nil {
			return nil, fmt.Errorf("%s: %w", term.name, err)
		}
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	// A list of annotations, as dumps have them, or one change.
	if c.All == nil {
		one, err := c.change(t)
		return []AnnotationChange{one}, err
	}
	if c.Op != "" || c.Absent || c.isSet() {
		return nil, errors.New(`"annotations" goes without op, app, type, text, data, version and absent`)
	}
	all := make([]AnnotationChange, len(c.All))
	for i := range c.All {
		one := changeJSON{annotationJSON: c.All[i]}
		one.Version = nil
		var err error
		if all[i], err = one.change(t); err != nil {
			return nil, fmt.Errorf("annotations[%d]: %w", i, err)
		}
	}
	return all, nil
}

func (a *annotationJSON) isSet() bool {
	return a.App != "" || a.App64 != nil || a.Type != "" || a.Version != nil || a.Text != nil || a.Data != nil
}

// applicationID returns the ID in app or app64.
func (a *annotationJSON) applicationID() (string, error) {
	id := a.App
	if a.App64 != nil {
		if a.App != "" {
			return "", errors.New("both app and app64; give one")
		}
		id = string(a.App64)
	}
	if n := len(id); n == 0 || n > MaxApplicationID {
		return "", fmt.Errorf("app: the application id has %d bytes, not 1 to %d", n, MaxApplicationID)
	}
	return id, nil
}

// content returns the content in text or data, and checks the media type.
func (a *annotationJSON) content() (content []byte, err error) {
	switch {
	case (a.Text == nil) == (a.Data == nil):
		return nil, errors.New("a set has content: give one of text and data")
	case a.Text != nil:
		content = []byte(*a.Text)
	default:
		content = *a.Data
	}
	if a.Type != "" {
		err = CheckMedia(a.Type)
	}
	return content, err
}

// change returns one change of an annotation of t.
func (c *changeJSON) change(t Triple) (a AnnotationChange, err error) {
	a = AnnotationChange{Triple: t, Media: c.Type, Absent: c.Absent}
	// 1. The application and the condition.
	if a.ApplicationID, err = c.applicationID(); err != nil {
		return a, err
	}
	switch {
	case c.Version == nil:
	case a.Absent:
		return a, errors.New("both version and absent; give one")
	case *c.Version == "":
		return a, errors.New("version: it is empty; leave it out if the annotation may have any version")
	default:
		a.Version = *c.Version
	}
	// 2. The content.
	switch c.Op {
	case "", "set":
		a.Content, err = c.content()
		if err == nil && len(a.Content) > MaxAnnotationContent {
			err = fmt.Errorf("the annotation has %d bytes of content, at most %d", len(a.Content), MaxAnnotationContent)
		}
		return a, err
	case "remove":
		if c.Text != nil || c.Data != nil || c.Type != "" {
			return a, errors.New("a remove has no content: leave out text, data and type")
		}
		a.Remove = true
		return a, nil
	}
	return a, fmt.Errorf("op: %q is neither set nor remove", clip(c.Op))
}

// jsonError returns an error of a decoder with its place in the line.
func jsonError(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("column %d: %w", syntax.Offset, err)
	case errors.As(err, &kind):
		return fmt.Errorf("column %d: %q has a JSON %s of the wrong kind", kind.Offset, kind.Field, kind.Value)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the line ends before its JSON object does")
	}
	return err
}

// AppendAnnotationJSON appends an annotation as a JSON object: app, type, version if it is known,
// and its content as text or data. The version must be in the form for clients.
func AppendAnnotationJSON(dst []byte, a *ApplicationData, version string) []byte {
	dst = appendAppJSON(dst, a.ApplicationID)
	// The content. Text must come back as it was, so it must be UTF-8.
	media, content := CutMedia(a.Data)
	dst = AppendJSONString(append(dst, `,"type":`...), media)
	if version != "" {
		dst = AppendJSONString(append(dst, `,"version":`...), version)
	}
	if media != DefaultMedia && utf8.Valid(content) {
		dst = AppendJSONString(append(dst, `,"text":`...), string(content))
	} else {
		dst = append(dst, `,"data":"`...)
		dst = append(base64.StdEncoding.AppendEncode(dst, content), '"')
	}
	return append(dst, '}')
}

// AppendAnnotationChange appends a change as a line that [ParseAnnotationChanges] reads.
func AppendAnnotationChange(dst []byte, c *AnnotationChange) ([]byte, error) {
	// 1. Check what must not become another change.
	if n := len(c.ApplicationID); n == 0 || n > MaxApplicationID {
		return dst, fmt.Errorf("the application id has %d bytes, not 1 to %d", n, MaxApplicationID)
	}
	if err := c.Triple.Check(); err != nil {
		return dst, err
	}
	data, err := AppendMedia(nil, c.Media, c.Content)
	if err != nil {
		return dst, err
	}
	// 2. The triple, and the annotation as in answers or only its application.
	dst = AppendTripleJSON(dst, c.Triple)
	dst = append(dst[:len(dst)-1], ',')
	at := len(dst)
	a := ApplicationData{ApplicationID: c.ApplicationID, Data: data}
	if c.Remove {
		dst = append(dst, `"op":"remove",`...)
		at = len(dst)
		dst = appendAppJSON(dst, a.ApplicationID)
	} else {
		dst = AppendAnnotationJSON(dst, &a, "")
		dst = dst[:len(dst)-1]
	}
	dst = append(dst[:at], dst[at+1:]...) // the object's members become those of the line
	// 3. The condition.
	if c.Absent {
		dst = append(dst, `,"absent":true`...)
	}
	if c.Version != "" {
		dst = AppendJSONString(append(dst, `,"version":`...), c.Version)
	}
	return append(dst, "}\n"...), nil
}

// appendAppJSON appends the beginning of an object: the ID of an application.
func appendAppJSON(dst []byte, id string) []byte {
	if utf8.ValidString(id) {
		return AppendJSONString(append(dst, `{"app":`...), id)
	}
	dst = append(dst, `{"app64":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, []byte(id)), '"')
}

// AppendAnnotatedJSON appends a triple like [AppendTripleJSON], with its annotations in a member of
// this name if it has any. [ParseAnnotationChanges] reads it.
func AppendAnnotatedJSON(dst []byte, t Triple, annotations []ApplicationData) []byte {
	dst = AppendTripleJSON(dst, t)
	if len(annotations) == 0 {
		return dst
	}
	dst = append(dst[:len(dst)-1], `,"annotations":[`...)
	for i := range annotations {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendAnnotationJSON(dst, &annotations[i], "")
	}
	return append(dst, "]}"...)
}

// AppendNDJSON appends a triple with its annotations as a line of [AppendAnnotatedJSON]. If the
// annotations are very long, the result has several lines, each with some of them.
// [ParseAnnotatedJSON] reads a line.
func AppendNDJSON(dst []byte, t Triple, annotations []ApplicationData) []byte {
	for {
		n, size := 0, 0
		for n < len(annotations) && (n == 0 || size <= maxAnnotationsLine) {
			size += len(annotations[n].Data)
			n++
		}
		dst = append(AppendAnnotatedJSON(dst, t, annotations[:n]), '\n')
		if annotations = annotations[n:]; len(annotations) == 0 {
			return dst
		}
	}
}
