// The progress of commands that do not know how much there is: a line at times.

package console

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// workingEvery is the time between two lines. Short work prints none.
const workingEvery = 10 * time.Second

// Working prints a line on standard error at times, until the result is called. done describes what is
// done so far; nil if that is not known.
func (e *Env) Working(what string, done func() string) (stop func()) {
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
				fmt.Fprintf(e.Stderr, "trefoil: %s: %s%s\n", what, now.Sub(begun).Round(time.Second), text)
			}
		}
	})
	return func() {
		close(ended)
		group.Wait()
	}
}

// NewCountedWriter returns a writer that counts.
func NewCountedWriter(w io.Writer) *countedWriter { return &countedWriter{w: w} }

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

// Written returns the number of bytes for people.
func (c *countedWriter) Written() string { return Size(c.n.Load()) + " written" }
