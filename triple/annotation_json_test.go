// Tests of annotations in JSON.

package triple

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func TestParseAnnotationChanges(t *testing.T) {
	tr := Triple{Subject: NewIRI("a:a"), Predicate: NewIRI("a:b"), Object: NewLang("c", "de")}
	named := tr
	named.Graph = NewBlank("g")
	const spo = `"s":"<a:a>","p":{"type":"uri","value":"a:b"},"o":{"type":"literal","value":"c","xml:lang":"de"}`
	for line, want := range map[string][]AnnotationChange{
		`{` + spo + `,"app":"x","text":"ü"}`:                                                  {{Triple: tr, ApplicationID: "x", Content: []byte("ü")}},
		`{"op":"set","g":"_:g",` + spo + `,"app64":"/w==","type":"a/b","data":"AQ=="}` + "\n": {{Triple: named, ApplicationID: "\xff", Media: "a/b", Content: []byte{1}}},
		`{"op":"remove",` + spo + `,"app":"x","version":"1.2"}`:                               {{Triple: tr, ApplicationID: "x", Remove: true, Version: "1.2"}},
		`{` + spo + `,"app":"x","data":"","absent":true}`:                                     {{Triple: tr, ApplicationID: "x", Content: []byte{}, Absent: true}},
		`{` + spo + `,"annotations":[{"app":"x","data":"AQ==","version":"1.2"},{"app":"y","type":"text/plain","text":"t"}]}`: {
			{Triple: tr, ApplicationID: "x", Content: []byte{1}}, {Triple: tr, ApplicationID: "y", Media: "text/plain", Content: []byte("t")}},
		`{` + spo + `,"annotations":[]}`: {},
	} {
		if got, err := ParseAnnotationChanges([]byte(line)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
	for line, words := range map[string]string{
		``:                                "ends before",
		`{`:                               "ends before",
		`[]`:                              "column 1",
		`{} {}`:                           "more than one",
		`{"s":1}`:                         "s: ",
		`{"nonsense":1}`:                  "nonsense",
		`{"s":"<a:a>","o":"1","app":"x"}`: "p: ",
		`{"s":"1","p":"<a:b>","o":"1","app":"x","text":""}`: "subject",
		`{` + spo + `}`:                                                                        "0 bytes",
		`{` + spo + `,"app":"x"}`:                                                              "text and data",
		`{` + spo + `,"app":"x","text":"","data":""}`:                                          "text and data",
		`{` + spo + `,"app":"x","app64":"AQ==","text":""}`:                                     "both",
		`{` + spo + `,"app":"x","data":"*"}`:                                                   "base64",
		`{` + spo + `,"app":"x","text":"","type":"text"}`:                                      "media type",
		`{` + spo + `,"app":"x","op":"add","text":""}`:                                         "neither",
		`{` + spo + `,"app":"x","op":"remove","text":""}`:                                      "no content",
		`{` + spo + `,"app":"x","text":"","absent":true,"version":"1.2"}`:                      "both version",
		`{` + spo + `,"app":"x","text":"","version":""}`:                                       "version: it is empty",
		`{` + spo + ",\"app\":\"x\",\"text\":\"\xff\"}":                                        "invalid UTF-8 (byte 0xFF)",
		`{` + spo + `,"app":"x","text":"\ud800"}`:                                              "half of a surrogate pair",
		`{` + spo + `,"app":"x","annotations":[]}`:                                             "goes without",
		`{` + spo + `,"annotations":[{"app":""}]}`:                                             "annotations[0]",
		`{` + spo + `,"app":"` + strings.Repeat("x", MaxApplicationID+1) + `","text":""}`:      "256 bytes",
		`{` + spo + `,"app":"x","text":"` + strings.Repeat("x", MaxAnnotationContent+1) + `"}`: "1048577 bytes",
		`{"s":{"type":"uri","value":"no"},"p":"<a:b>","o":"1","app":"x","text":""}`:            "s: ",
		`{"s":{"type":"uri"},"p":"<a:b>","o":"1","app":"x","text":""}`:                         "no value",
		`{"s":{"type":"iri","value":"a:a"},"p":"<a:b>","o":"1","app":"x","text":""}`:           "uri, bnode",
	} {
		if got, err := ParseAnnotationChanges([]byte(line)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%.100s: %+v, %v; want ...%s...", line, got, err, words)
		}
	}
}

// FuzzAnnotationChanges checks that a change survives being written as an annotated triple.
func FuzzAnnotationChanges(f *testing.F) {
	f.Add([]byte(`{"s":"<a:a>","p":"<a:b>","o":"1","app":"x","type":"text/plain","text":"t"}`))
	f.Add([]byte(`{"s":"_:a","p":"<a:b>","o":{"type":"literal","value":"c"},"annotations":[{"app64":"/w==","data":"AQ=="}]}`))
	f.Add([]byte(`{"op":"remove","s":"<a:a>","p":"a","o":"1","app":"x","absent":true}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		changes, err := ParseAnnotationChanges(line)
		if err != nil {
			return
		}
		for _, c := range changes {
			text, err := AppendAnnotationChange(nil, &c)
			if err != nil {
				t.Fatal(err)
			}
			same, err := ParseAnnotationChanges(text)
			if err != nil || len(same) != 1 || same[0].Triple != c.Triple || same[0].ApplicationID != c.ApplicationID || same[0].Remove != c.Remove ||
				same[0].Version != c.Version || same[0].Absent != c.Absent || !bytes.Equal(same[0].Content, c.Content) {
				t.Fatalf("%s became %+v, %v", text, same, err)
			}
			if c.Remove {
				continue
			}
			data, err := AppendMedia(nil, c.Media, c.Content)
			if err != nil {
				t.Fatal(err)
			}
			text = AppendAnnotatedJSON(nil, c.Triple, []ApplicationData{{ApplicationID: c.ApplicationID, Data: data}})
			again, err := ParseAnnotationChanges(text)
			if err != nil || len(again) != 1 {
				t.Fatalf("%s: %v", text, err)
			}
			back, err := AppendMedia(nil, again[0].Media, again[0].Content)
			if err != nil || again[0].Triple != c.Triple || again[0].ApplicationID != c.ApplicationID || !bytes.Equal(back, data) {
				t.Fatalf("%s became %+v, %v", text, again[0], err)
			}
		}
	})
}
