// The lines about long work.

package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// TestWorking checks that long work prints a line at times, and short work none.
func TestWorking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		e := &env{stderr: &said}
		to := &countedWriter{w: &bytes.Buffer{}}
		stop := e.working("dump", to.written)
		time.Sleep(workingEvery - time.Second)
		if synctest.Wait(); said.Len() > 0 {
			t.Errorf("after nine seconds: %s", said.String())
		}
		if _, err := to.Write(make([]byte, 2048)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(workingEvery + 2*time.Second)
		stop()
		if want := "trefoil: dump: 10s, 2.0 KiB written\ntrefoil: dump: 20s, 2.0 KiB written\n"; said.String() != want {
			t.Errorf("%s\nwant %s", said.String(), want)
		}
	})
}
