// Sizes in parameters.

package request

import "testing"

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "1073741824": 1 << 30, "512MiB": 512 << 20, "2GiB": 2 << 30, "1TiB": 1 << 40, "3KiB": 3 << 10,
		"0": -1, "-1": -1, "GiB": -1, "1.5GiB": -1, "2GB": -1, " 1": -1, "9999999999999999999": -1, "9999999999TiB": -1,
	} {
		got, err := Params{"n": text}.Size("n")
		if want < 0 && err == nil || want > 0 && (err != nil || got != want) {
			t.Errorf("size %q is %d, %v; want %d", text, got, err, want)
		}
	}
}
