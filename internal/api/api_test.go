// The JSON of each form, as golden files.

package api

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/sparql/explain"
)

// TestGolden: programs in any language depend on the fields, their order, and which of them are left
// out. Each file has the form with all fields, and then with none.
func TestGolden(t *testing.T) {
	for name, form := range map[string]any{
		"status": &Status{}, "where": &Whereabouts{}, "check": &CheckReport{}, "prefixes": &PrefixList{}, "search": &SearchResult{}, "text": &TextStatus{},
		"add": &AddResult{}, "delete": &DeleteResult{}, "update": &UpdateResult{}, "reject": &Reject{}, "queries": &QueryList{}, "query": &RunningQuery{},
		"subscription": &Subscription{}, "function-counts": &FunctionCounts{}, "function-failure": &FunctionFailure{}, "activity": &ActivityList{}, "explain": &Explanation{},
	} {
		empty := encode(t, form)
		if x, ok := form.(*Explanation); ok { // a plan has a form of its own, see package explain
			*x = Explanation{Form: "SELECT", Ran: true, Plan: &explain.Plan{Operator: "scan"}, Rows: 7, RowsRead: 7, Seconds: 7, PlanSeconds: 7, Isolation: "snapshot"}
		} else {
			fill(reflect.ValueOf(form).Elem())
		}
		full := encode(t, form)
		goldenfile.Check(t, "testdata/"+name+".json", full+empty)
		// What a node sends, a client reads whole.
		again := reflect.New(reflect.TypeOf(form).Elem()).Interface()
		if err := json.Unmarshal([]byte(full), again); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := encode(t, again); got != full {
			t.Errorf("%s: a node sends\n%s\nand a client reads\n%s", name, full, got)
		}
	}
}

func encode(t *testing.T, form any) string {
	text, err := json.Marshal(form)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// fill sets everything below a value to something.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(7, 0).UTC()))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.SetMapIndex(reflect.ValueOf("x"), value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(7)
	default:
		panic(v.Kind())
	}
}
