// Package require ends a test if an error is in its way.
package require

// T is a testing.TB, or the T of rapid.
type T interface {
	Helper()
	Fatal(args ...any)
}

// NoError ends a test if err is not nil.
func NoError(t T, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}
