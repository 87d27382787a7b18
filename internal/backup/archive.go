// The header and the trailer of an archive.

package backup

import (
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
)

const (
	headerName  = "trefoil-backup"
	trailerName = "trefoil-trailer"

	// filesFormat is the format of package store/backup: the files of a lone store.
	filesFormat = 1
	format      = 2
)

// kind is the kind of a chunk: the first part of its entry's name.
type kind string

const (
	kindRows    kind = "rows"
	kindChanges kind = "changes"
	kindLoad    kind = "load"
)

// header is the first entry.
type header struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of the program
	Created time.Time `json:"created"`
	// From is the position where an increment begins; "" if the archive is full.
	From string `json:"from,omitempty"`
	// Position is the end of an archive of files.
	Position string `json:"position,omitempty"`
}

// trailer is the last entry.
type trailer struct {
	Position string    `json:"position"` // the end
	Complete time.Time `json:"complete"` // every change that was acknowledged then is in the archive
	Ended    time.Time `json:"ended"`    // no change after that is in the archive
	Counts
	Chunks int64  `json:"chunks"`
	SHA256 string `json:"sha256"`
}

// Counts counts the content of an archive.
type Counts struct {
	Triples     int64 `json:"triples"`     // rows of a full archive
	Annotations int64 `json:"annotations"` // of these rows
	Changes     int64 `json:"changes"`     // of the feed, without loads
	Loads       int64 `json:"loads"`       // bulk loads of the feed
	LoadRows    int64 `json:"load_rows"`   // triples of these loads
}

// Info describes an archive.
type Info struct {
	Files    bool // the archive has the files of a lone store
	Full     bool
	From     feed.Position // where an increment begins
	End      feed.Position
	Complete time.Time // every change that was acknowledged then is in the archive
	Ended    time.Time // no change after that is in the archive
	Counts   Counts    // zero of an archive of files
}

// covers reports whether every change before q lies before p, too.
func covers(p, q feed.Position) bool {
	if p.Epoch != q.Epoch {
		return q.Epoch < p.Epoch
	}
	for _, m := range q.Marks {
		if p.Sequence(m.Sequencer) < m.Sequence {
			return false
		}
	}
	return true
}

// equal reports whether two positions are the same point of a feed.
func equal(p, q feed.Position) bool { return p.Source == q.Source && covers(p, q) && covers(q, p) }
