// The progress of commands that do not know how much there is: a line at times.

package cli

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// workingEvery is the time between two lines. Short work prints none.
const workingEvery = 10 * time.Second

// working prints a line on standard error at times, until the result is called. done describes what is
// done so far; nil if that is not known.
func (e *env) working(what string, done func() string) (stop func()) {
	ended := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		begun, ticker := time.Now(), time.NewTicker(workingEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case now := <-ticker.C:
				text := ""
				if done != nil {
					text = ", " + done()
				}
				fmt.Fprintf(e.stderr, "trefoil: %s: %s%s\n", what, now.Sub(begun).Round(time.Second), text)
			}
		}
	})
	return func() {
		close(ended)
		group.Wait()
	}
}

// newCountedWriter returns a writer that counts.
func newCountedWriter(w io.Writer) *countedWriter { return &countedWriter{w: w} }

// countedWriter counts the bytes that pass.
type countedWriter struct {
	w io.Writer
	n atomic.Int64
}

func (c *countedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n.Add(int64(n))
	return n, err
}

func (c *countedWriter) written() string { return size(c.n.Load()) + " written" }
