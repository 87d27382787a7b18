// The lines about long work.

package console

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWorking checks that long work prints a line at times, and short work none.
func TestWorking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		e := &Env{Stderr: &said}
		to := &countedWriter{w: &bytes.Buffer{}}
		stop := e.Working("dump", to.Written)
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
