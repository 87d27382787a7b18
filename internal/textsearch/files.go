// The files of the index. They outlive the process.

package textsearch

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/atomicfile"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/textindex"
)

const (
	listingFile   = "index.json"
	listingFormat = 1
	fileSuffix    = ".text"
	// saveEvery is the least time between two listings, unless something was built.
	saveEvery = time.Minute
)

// listing is the content of index.json. Files without an entry in it are leftovers.
type listing struct {
	Format     int                           `json:"format"`
	Position   string                        `json:"position"`
	Layout     layout                        `json:"layout"`
	Predicates []string                      `json:"predicates"`
	Trigrams   []string                      `json:"trigrams,omitempty"`
	Complete   map[string]derived.Partitions `json:"complete"`
	Segments   []listedSegment               `json:"segments"`
	// Sum is the xxhash64, in hex, of the listing as JSON with an empty Sum.
	Sum string `json:"sum"`
}

// listedSegment is a segment, and its deleted documents as bits and as segments.
type listedSegment struct {
	File    string   `json:"file"`
	Deleted string   `json:"deleted,omitempty"`
	Gone    []string `json:"gone,omitempty"`
}

// files is what the index knows of its files.
type files struct {
	mu    sync.Mutex
	names map[*textindex.Segment]string
	next  int
	fresh []string // created since the last build began

	// Only the goroutine that tends the index uses the rest.
	urgent bool // something was built
	saved  time.Time
	at     feed.Position
}

// name returns the file of a segment, "" without one.
func (f *files) name(s *textindex.Segment) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.names[s]
}

// set records the file of a segment.
func (f *files) set(s *textindex.Segment, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.names == nil {
		f.names = map[*textindex.Segment]string{}
	}
	f.names[s] = name
}

// free returns a name without a file.
func (f *files) free(x *Index) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		f.next++
		name := fmt.Sprint(f.next, fileSuffix)
		if _, err := os.Lstat(x.Path(name)); errors.Is(err, os.ErrNotExist) {
			f.fresh = append(f.fresh, name)
			return name
		}
	}
}

// begin forgets the files of earlier builds.
func (f *files) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fresh = nil
}

// discard removes the files of a build that has failed.
func (f *files) discard(x *Index) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range f.fresh {
		_ = os.Remove(x.Path(name)) // the next listing tries again
	}
	f.fresh = nil
}

// write writes the segment of a part. Its documents then stay in the file.
func (f *files) write(x *Index, p *part) error {
	name, err := f.create(x, p.Segment)
	if err != nil {
		return err
	}
	docs, err := x.openDocs(name, len(p.Body()))
	if err != nil {
		return err
	}
	other := *p.Part
	other.Segment = p.WithDocs(docs)
	p.Part = &other
	f.set(p.Segment, name)
	return nil
}

// create writes a segment to a new file.
func (f *files) create(x *Index, s *textindex.Segment) (name string, err error) {
	name = f.free(x)
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write the text index: %w", err), os.Remove(x.Path(name)))
		}
	}()
	file, err := os.OpenFile(x.Path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return name, err
	}
	out := bufio.NewWriterSize(file, 1<<20)
	_, err = out.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s.Body()))))
	if err == nil {
		_, err = out.Write(s.Body())
	}
	if err == nil {
		_, err = io.Copy(out, s.Docs())
	}
	return name, errors.Join(err, out.Flush(), file.Sync(), file.Close())
}

// openDocs returns the reader of the documents of a file. The file is closed when nothing reads it any more.
func (x *Index) openDocs(name string, body int) (io.ReaderAt, error) {
	file, err := os.Open(x.Path(name))
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return io.NewSectionReader(file, 8+int64(body), info.Size()-8-int64(body)), nil
}

// openSegment reads a segment.
func (x *Index) openSegment(name string) (*textindex.Segment, error) {
	if name != filepath.Base(name) || !strings.HasSuffix(name, fileSuffix) {
		return nil, fmt.Errorf("%w: %q is no name of a segment", textindex.ErrDamaged, name)
	}
	// 1. The body.
	file, err := os.Open(x.Path(name))
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*textindex.Segment, error) {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	info, err := file.Stat()
	if err != nil {
		return fail(err)
	}
	var head [8]byte
	if _, err := io.ReadFull(file, head[:]); err != nil {
		return fail(fmt.Errorf("%w: %w", textindex.ErrDamaged, err))
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > uint64(info.Size()-8) {
		return fail(fmt.Errorf("%w: it is cut off", textindex.ErrDamaged))
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(file, body); err != nil {
		return fail(err)
	}
	// 2. The documents stay in the file.
	docs := info.Size() - 8 - int64(n)
	s, err := textindex.Open(body, io.NewSectionReader(file, 8+int64(n), docs), docs)
	if err != nil {
		return fail(err)
	}
	x.files.set(s, name)
	return s, nil
}

// sum returns the right value of Sum.
func (l listing) sum() (string, error) {
	l.Sum = ""
	text, err := json.Marshal(&l)
	return fmt.Sprintf("%016x", xxhash.Sum64(text)), err
}

// checkFiles makes files be written again if somebody has removed them under the running node. That needs no build,
// because the segments are in memory, and their documents in files that are open.
func (x *Index) checkFiles() error {
	// 1. The files of the state. It must be loaded before the directory is read, because a newer one may have others.
	s := x.state.Load()
	entries, err := os.ReadDir(x.o.Dir)
	if errors.Is(err, os.ErrNotExist) {
		err = os.MkdirAll(x.o.Dir, 0o755)
	}
	if err != nil {
		return fmt.Errorf("read the directory of the text index: %w", err)
	}
	if s == nil {
		return nil
	}
	present := map[string]bool{}
	for _, e := range entries {
		present[e.Name()] = true
	}
	// 2. Forget those that are missing.
	x.files.mu.Lock()
	defer x.files.mu.Unlock()
	missing := !x.files.at.IsZero() && !present[listingFile]
	for _, p := range s.parts {
		for _, segment := range append([]*textindex.Segment{p.Segment}, p.Gone...) {
			if name := x.files.names[segment]; name != "" && !present[name] {
				delete(x.files.names, segment)
				missing = true
			}
		}
	}
	if missing {
		x.Log.Warn("files of the text index were removed, and are written again", "dir", x.o.Dir)
		x.files.urgent = true
	}
	return nil
}

// saveSometimes writes the files if something was built, or if the state has moved for some time.
func (x *Index) saveSometimes(ctx context.Context) error {
	s := x.state.Load()
	if s == nil || ctx.Err() != nil {
		return nil
	}
	moved := !(s.at.Reaches(x.files.at) && x.files.at.Reaches(s.at))
	if !x.files.urgent && (!moved || time.Since(x.files.saved) < saveEvery) {
		return nil
	}
	if len(s.predicates) == 0 && x.files.at.IsZero() {
		return nil // there is nothing to keep
	}
	return x.save(s)
}

// saveAtEnd writes the files when the index is closed.
func (x *Index) saveAtEnd() {
	if s := x.state.Load(); s != nil && len(s.predicates) > 0 {
		if err := errors.Join(x.checkFiles(), x.save(s)); err != nil {
			x.Log.Warn("the next start has to build the text index", "error", err)
		}
	}
}

// save writes segments without a file, then the listing, and removes leftovers.
func (x *Index) save(s *state) error {
	l := listing{Format: listingFormat, Position: s.at.String(), Layout: s.layout, Predicates: s.predicates, Trigrams: s.trigrams, Complete: s.complete, Segments: []listedSegment{}}
	listed := map[string]bool{}
	live := map[*textindex.Segment]bool{}
	name := func(segment *textindex.Segment) (string, error) {
		file := x.files.name(segment)
		if file == "" {
			var err error
			if file, err = x.files.create(x, segment); err != nil {
				return "", err
			}
			x.files.set(segment, file)
		}
		listed[file], live[segment] = true, true
		return file, nil
	}
	for _, p := range s.parts {
		var one listedSegment
		var err error
		if one.File, err = name(p.Segment); err != nil {
			return err
		}
		for _, g := range p.Gone {
			file, err := name(g)
			if err != nil {
				return err
			}
			one.Gone = append(one.Gone, file)
		}
		one.Deleted = base64.StdEncoding.EncodeToString(p.AppendDeleted(nil))
		l.Segments = append(l.Segments, one)
	}
	// The listing makes the files count, so it must be written after them.
	var err error
	if l.Sum, err = l.sum(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(&l, "", "\t")
	if err == nil {
		err = atomicfile.Write(x.Path(listingFile), 0o644, text)
	}
	if err != nil {
		return fmt.Errorf("write the list of the text index: %w", err)
	}
	x.files.urgent, x.files.saved, x.files.at = false, time.Now(), s.at
	x.files.sweep(x, listed, live)
	return nil
}

// sweep removes files that are not listed, and forgets segments that are gone.
func (f *files) sweep(x *Index, listed map[string]bool, live map[*textindex.Segment]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.names {
		if !live[s] {
			delete(f.names, s)
		}
	}
	entries, err := os.ReadDir(x.o.Dir)
	if err != nil {
		return // the next listing removes them
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), fileSuffix) && !listed[e.Name()] {
			_ = os.Remove(x.Path(e.Name())) // the next listing tries again
		}
	}
}

// readFiles returns the state of the files. end is the end of the feed.
func (x *Index) readFiles(end feed.Position) (*state, error) {
	text, err := os.ReadFile(x.Path(listingFile))
	if err != nil {
		return nil, err
	}
	var l listing
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("%w: %w", textindex.ErrDamaged, err)
	}
	if sum, err := l.sum(); err != nil || sum != l.Sum || l.Format != listingFormat || l.Layout != 0 && l.Layout != partitionBits {
		return nil, fmt.Errorf("%w: the list of segments is not as it was written", textindex.ErrDamaged)
	}
	at, err := feed.ParsePosition(l.Position)
	if err != nil {
		return nil, err
	}
	// Files that are ahead of the feed have documents that it never reports as deleted.
	if at.Source != end.Source || !end.Reaches(at) {
		return nil, errors.New("the files are of another state of the store")
	}
	s := &state{at: at, layout: l.Layout, settings: settings{l.Predicates, l.Trigrams}, complete: l.Complete}
	if s.complete == nil {
		s.complete = map[string]derived.Partitions{}
	}
	for _, one := range l.Segments {
		p, err := x.readPart(one)
		if err != nil {
			return nil, err
		}
		s.parts = append(s.parts, p)
	}
	x.files.at, x.files.saved = at, time.Now()
	return s, x.checkMemory(s)
}

// readPart reads a segment with its deletions.
func (x *Index) readPart(one listedSegment) (*part, error) {
	segment, err := x.openSegment(one.File)
	if err != nil {
		return nil, err
	}
	p := &textindex.Part{Segment: segment}
	deleted, err := base64.StdEncoding.DecodeString(one.Deleted)
	if err != nil || len(deleted) > 0 && len(deleted) != (segment.Documents()+63)/64*8 {
		return nil, fmt.Errorf("%w: the deleted documents of %s", textindex.ErrDamaged, one.File)
	}
	for ; len(deleted) > 0; deleted = deleted[8:] {
		p.Deleted = append(p.Deleted, binary.LittleEndian.Uint64(deleted))
	}
	for _, name := range one.Gone {
		g, err := x.openSegment(name)
		if err != nil {
			return nil, err
		}
		p.Gone = append(p.Gone, g)
	}
	return &part{Part: p}, nil
}
