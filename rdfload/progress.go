package rdfload

import (
	"sync"
	"time"
)

// progressEvery is how often Options.Progress is called.
const progressEvery = 250 * time.Millisecond

// stage is the phase that a load is in, and how far.
type stage struct {
	mu    sync.Mutex
	phase Phase
	total int64 // steps of the phase; 0: not known
	done  int64
}

// enter begins a phase of so many steps.
func (s *stage) enter(phase Phase, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase, s.total, s.done = phase, total, 0
}

// step notes that n more steps are done.
func (s *stage) step(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += n
}

func (s *stage) get() (phase Phase, share float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total > 0 {
		share = min(float64(s.done)/float64(s.total), 1)
	}
	return s.phase, share
}

// byteCounter tells how many bytes of an input, as it is stored, are read.
type byteCounter interface{ BytesIn() int64 }

// watchList tells how many bytes of the inputs are read.
type watchList struct {
	mu       sync.Mutex
	open     map[int]byteCounter
	finished int64
}

func (w *watchList) add(source int, r byteCounter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = make(map[int]byteCounter)
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

// skip counts an input that is not opened any more.
func (w *watchList) skip(bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finished += bytes
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
		ticker := time.NewTicker(l.opts.limits.progress)
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
	p := Progress{Bytes: l.watched.bytes(), TotalBytes: total, Triples: l.read.Load(), Rejected: l.rejected.Load()}
	if p.Phase, p.Done = l.stage.get(); p.Phase == Reading && total > 0 {
		p.Done = min(float64(p.Bytes)/float64(total), 1)
	}
	return p
}
