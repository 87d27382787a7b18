package rdfload

import (
	"sync"
	"time"

	"github.com/trefoildb/trefoil/rdfload/input"
)

// progressEvery is how often Options.Progress is called.
const progressEvery = 250 * time.Millisecond

// watchList tells how many bytes of the inputs are read.
type watchList struct {
	mu       sync.Mutex
	open     map[int]*input.Reader
	finished int64
}

func (w *watchList) add(source int, r *input.Reader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = make(map[int]*input.Reader)
	}
	w.open[source] = r
}

func (w *watchList) finish(source int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.open[source]; r != nil {
		w.finished += r.BytesIn()
		delete(w.open, source)
	}
}

func (w *watchList) bytes() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.finished
	for _, r := range w.open {
		n += r.BytesIn()
	}
	return n
}

// report calls Options.Progress until stop is called.
func (l *loader) report() (stop func()) {
	if l.opts.Progress == nil {
		return func() {}
	}
	total := int64(0)
	for _, s := range l.sources {
		if s.Size < 0 {
			total = 0
			break
		}
		total += s.Size
	}
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-end:
				return
			case <-ticker.C:
				l.opts.Progress(l.progress(total))
			}
		}
	})
	return func() {
		close(end)
		wg.Wait()
		l.opts.Progress(l.progress(total))
	}
}

func (l *loader) progress(total int64) Progress {
	p := Progress{Phase: l.phase.Load().(Phase), Bytes: l.watched.bytes(), TotalBytes: total,
		Triples: l.read.Load(), Rejected: l.rejected.Load()}
	if rows := l.total.Load(); rows > 0 {
		p.Done = min(float64(l.done.Load())/float64(rows), 1)
	}
	return p
}
