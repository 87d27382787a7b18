// Tests of the JSON form.

package feed

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/triple"
)

// TestJSON shows the form of each kind, and that each line is JSON.
func TestJSON(t *testing.T) {
	at := time.Date(2026, 11, 23, 1, 2, 3, 4e6, time.UTC)
	key, _ := triple.AppendKey(nil, triple.SPO, triple.Triple{Subject: terms[0], Predicate: terms[1], Object: terms[4], Graph: terms[1]})
	stamp := triple.Stamp{Epoch: 2, Sequence: 5}
	spog := `"s":{"type":"uri","value":"http://ex/a"},"p":{"type":"uri","value":"http://ex/b"},"o":{"type":"literal","value":"text"},"g":{"type":"uri","value":"http://ex/b"}`
	for _, c := range []struct {
		change   Change
		position string
		want     string
	}{
		{Change{Kind: Add, Stamp: stamp, Key: key}, "", `{"kind":"add",` + spog + `,"epoch":2,"sequence":5,"time":"2026-11-23T01:02:03.004Z"}`},
		{Change{Kind: Delete, Stamp: stamp, Sequencer: 255, Key: key}, "abc", `{"kind":"delete",` + spog + `,"epoch":2,"sequence":5,"sequencer":"00000000000000ff","time":"2026-11-23T01:02:03.004Z","position":"abc"}`},
		{Change{Kind: Add, Stamp: stamp, Depth: 3, Key: key}, "", `{"kind":"add",` + spog + `,"epoch":2,"sequence":5,"depth":3,"time":"2026-11-23T01:02:03.004Z"}`},
		{Change{Kind: Annotate, Stamp: stamp, Key: key, Annotation: &Annotation{ApplicationID: "a\"b", Data: []byte{0, 255}}}, "",
			`{"kind":"annotate",` + spog + `,"app":"a\"b","type":"application/octet-stream","data":"AP8=","epoch":2,"sequence":5,"time":"2026-11-23T01:02:03.004Z"}`},
		{Change{Kind: Annotate, Stamp: stamp, Key: key, Annotation: &Annotation{ApplicationID: "a", Removed: true}}, "",
			`{"kind":"annotate",` + spog + `,"app":"a","removed":true,"epoch":2,"sequence":5,"time":"2026-11-23T01:02:03.004Z"}`},
		{Change{Kind: Load, Stamp: stamp, Load: &LoadInfo{ID: "x", New: 7}}, "", `{"kind":"load","load":"x","new":7,"epoch":2,"sequence":5,"time":"2026-11-23T01:02:03.004Z"}`},
		{Change{Kind: Load, Stamp: stamp, Load: &LoadInfo{ID: "x", New: -1}}, "", `{"kind":"load","load":"x","epoch":2,"sequence":5,"time":"2026-11-23T01:02:03.004Z"}`},
		{Change{Kind: Clear, Stamp: stamp, Clear: &ClearInfo{All: true}}, "", `{"kind":"clear","all":true,"epoch":2,"sequence":5,"time":"2026-11-23T01:02:03.004Z"}`},
		{Change{Kind: Clear, Stamp: stamp, Clear: &ClearInfo{Default: true, Graphs: []triple.Term{terms[0], terms[2]}}}, "",
			`{"kind":"clear","default":true,"graphs":[{"type":"uri","value":"http://ex/a"},{"type":"bnode","value":"x"}],"epoch":2,"sequence":5,"time":"2026-11-23T01:02:03.004Z"}`},
	} {
		got, err := c.change.AppendJSON(nil, at, c.position)
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %v\nwant\n%s", got, err, c.want)
		}
		if !json.Valid(got) {
			t.Errorf("not JSON: %s", got)
		}
	}
	if got := string(AppendHeartbeat(nil, at, "abc")); got != `{"kind":"heartbeat","time":"2026-11-23T01:02:03.004Z","position":"abc"}` {
		t.Error(got)
	}
}
