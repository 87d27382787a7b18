// Files of PageRank: a job that has not ended, and the scores of the last one that has. They
// outlive the process. Numbers are little-endian.
//
//	links/pagerank.job      the job: it runs, or stores its scores
//	links/pagerank.scores   the scores
//
//	+-----+-----+-----+-----+------+----+----+----+
//	| 't'   'f'   'P'   'J' | 0x01 |  0    0    0 |   magic, version
//	+-----+-----+-----+-----+------+----+----+----+
//	| piece                                       |   savedJob, in JSON
//	+---------------------------------------------+
//	| for each cell: piece                        |   UIDs of its pages (package ef)
//	|                piece                        |   rank.State
//	+---------------------------------------------+
//
// A job that runs has no cells: after a restart it begins again. The pieces are
//
//	+---------------------------------------------+
//	| u64                                         |   n
//	+---------------------------------------------+
//	| n bytes                                     |
//	+---------------------------------------------+
//	| u64                                         |   xxhash64 of them
//	+---------------------------------------------+

package pagerank

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/atomicfile"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/ef"
	"github.com/trefoildb/trefoil/links/rank"
)

const (
	JobFile    = "pagerank.job"
	ScoresFile = "pagerank.scores"

	SavedMagic = "tfPJ\x01\x00\x00\x00"
	sizeLen    = 8
	sumLen     = 8
)

// ErrDamaged is wrapped by every error about a damaged file.
var ErrDamaged = errors.New("damaged")

// rankFiles are the files of PageRank in the directory of the graph.
type rankFiles struct{ *machine.Machine }

// savedJob is the saved state of a job.
type savedJob struct {
	Store     string `json:"store"` // the machine's UUID
	Predicate string `json:"predicate"`
	jobRecord
	Cells int `json:"cells"` // number of the states that follow
}

// savedCell is the scores of a cell.
type savedCell struct {
	pages []byte // of package ef, or nil
	state *rank.State
}

// WriteSaved writes a file atomically: after a stop at any moment it is the old one or the new
// one. at is called for each cell in order.
func (f *rankFiles) WriteSaved(name string, j savedJob, cells int, at func(i int) savedCell) (err error) {
	j.Store, j.Predicate, j.Cells = f.Node.MachineID().String(), f.Options.Predicate, cells
	text, err := json.Marshal(&j)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return atomicfile.Replace(atomicfile.OS, f.Path(name), 0o644, func(to io.Writer) error {
		w := bufio.NewWriterSize(to, 1<<20)
		_, err := w.WriteString(SavedMagic)
		err = errors.Join(err, WritePiece(w, text))
		var buf []byte
		for i := 0; i < cells && err == nil; i++ {
			c := at(i)
			buf = c.state.AppendTo(buf[:0])
			err = errors.Join(WritePiece(w, c.pages), WritePiece(w, buf))
		}
		return errors.Join(err, w.Flush())
	})
}

// WritePiece writes a piece. If a write fails, the flush of w fails too.
func WritePiece(w *bufio.Writer, b []byte) error {
	var n [sizeLen]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
	_, _ = w.Write(n[:])
	_, _ = w.Write(b)
	binary.LittleEndian.PutUint64(n[:], xxhash.Sum64(b))
	_, err := w.Write(n[:])
	return err
}

// removeSaved removes a file if it exists.
func (f *rankFiles) removeSaved(name string) {
	if err := os.Remove(f.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.Log.Warn("a file of PageRank stays: its job may be begun again", "file", name, "error", err)
	}
}

// ReadSaved reads a file. If the error wraps errDamaged, the job may still be returned.
func (f *rankFiles) ReadSaved(name string) (j *savedJob, cells []savedCell, err error) {
	data, err := os.ReadFile(f.Path(name))
	if err != nil {
		return nil, nil, err
	}
	j, cells, err = OpenSaved(data)
	if err != nil {
		err = fmt.Errorf("%s: %w", f.Path(name), err)
	}
	return j, cells, err
}

// OpenSaved decodes a file. If a cell is damaged, it still returns the job.
func OpenSaved(data []byte) (*savedJob, []savedCell, error) {
	// 1. The job.
	if len(data) < len(SavedMagic) || string(data[:len(SavedMagic)]) != SavedMagic {
		return nil, nil, fmt.Errorf("%w: it does not begin with %q", ErrDamaged, SavedMagic)
	}
	text, rest, err := nextPiece(data[len(SavedMagic):])
	if err != nil {
		return nil, nil, err
	}
	var j savedJob
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	// 2. The cells. The count is not trusted: each piece must be there.
	var cells []savedCell
	for i := range j.Cells {
		var c savedCell
		var state []byte
		if c.pages, rest, err = nextPiece(rest); err != nil {
			return &j, nil, fmt.Errorf("the pages of cell %d of %d: %w", i, j.Cells, err)
		}
		if state, rest, err = nextPiece(rest); err == nil {
			c.state, err = rank.OpenState(state)
		}
		if err != nil {
			return &j, nil, fmt.Errorf("%w: the state of cell %d of %d: %w", ErrDamaged, i, j.Cells, err)
		}
		cells = append(cells, c)
	}
	if len(rest) != 0 {
		return &j, nil, fmt.Errorf("%w: %d bytes are behind the end", ErrDamaged, len(rest))
	}
	return &j, cells, nil
}

// nextPiece returns the piece at the front of b, and what follows it.
func nextPiece(b []byte) (piece, rest []byte, err error) {
	if len(b) < sizeLen+sumLen || binary.LittleEndian.Uint64(b) > uint64(len(b)-sizeLen-sumLen) {
		return nil, nil, fmt.Errorf("%w: it is cut off", ErrDamaged)
	}
	n := int(binary.LittleEndian.Uint64(b))
	piece, b = b[sizeLen:sizeLen+n], b[sizeLen+n:]
	if binary.LittleEndian.Uint64(b) != xxhash.Sum64(piece) {
		return nil, nil, fmt.Errorf("%w: a checksum is wrong", ErrDamaged)
	}
	return piece, b[sumLen:], nil
}

// OpenScores returns the scores of a file.
func OpenScores(j *savedJob, cells []savedCell) (*Scores, error) {
	s := &Scores{result: rank.Round{Number: j.Job.Round, Change: j.Job.Change, Links: j.Job.Links}, done: j.Job.Converged}
	for i, c := range cells {
		uids, _, err := ef.Open(c.pages)
		if err != nil {
			return nil, fmt.Errorf("%w: the pages of cell %d: %w", ErrDamaged, i, err)
		}
		if uids.Len() != len(c.state.Scores) || uids.Len() == 0 || i > 0 && uids.At(0) <= s.uids[i-1].Last() {
			return nil, fmt.Errorf("%w: cell %d has %d scores of %d pages", ErrDamaged, i, len(c.state.Scores), uids.Len())
		}
		s.pages, s.uids, s.of = append(s.pages, c.pages), append(s.uids, uids), append(s.of, c.state.Scores)
	}
	return s, nil
}

// writeScores writes the scores of a job.
func (rk *Ranker) writeScores(s *Scores, of scoredJob) {
	r := &rk.Ranks
	unlock, err := r.saving.Lock(context.Background())
	if err != nil {
		return
	}
	defer unlock()
	r.mu.Lock()
	record := r.record
	r.onDisk = of
	r.mu.Unlock()
	j := savedJob{jobRecord: jobRecord{Begun: of.Begun, Options: of.Options, Job: of.Job, Scored: of}}
	if record.Begun.Equal(of.Begun) {
		j.Term, j.Version = record.Term, record.Version
	}
	pages := uint64(s.count())
	err = rk.RankFiles.WriteSaved(ScoresFile, j, len(s.of), func(i int) savedCell {
		return savedCell{pages: s.pages[i], state: &rank.State{
			Partition: uint32(i), Partitions: uint32(len(s.of)), Pages: pages,
			Round: s.result.Number, Change: s.result.Change, Damping: rk.rankOptions(of.Options).Damping, Scores: s.of[i],
		}}
	})
	if err != nil {
		rk.Log.Warn("the scores of PageRank would be lost at a restart", "error", err)
	}
}

// writeJob writes the running job, unless it has ended or another one runs. After a restart it begins
// again.
func (rk *Ranker) writeJob() {
	r := &rk.Ranks
	unlock, err := r.saving.Lock(context.Background())
	if err != nil {
		return
	}
	defer unlock()
	r.mu.Lock()
	j := savedJob{jobRecord: r.record}
	j.Job = r.job()
	r.mu.Unlock()
	if !j.active() {
		return
	}
	if err := rk.RankFiles.WriteSaved(JobFile, j, 0, nil); err != nil {
		rk.Log.Warn("PageRank goes on, and would be lost at a restart", "error", err)
	}
}

// saveJob writes the files after a change of the record.
func (rk *Ranker) saveJob() {
	r := &rk.Ranks
	r.mu.Lock()
	record, scores, scored, unsaved := r.record, r.scores, r.scored, r.unsaved()
	r.mu.Unlock()
	if unsaved {
		rk.writeScores(scores, scored)
	}
	if record.active() {
		rk.writeJob()
		return
	}
	// The file may be being written just now.
	unlock, err := r.saving.Lock(context.Background())
	if err != nil {
		return
	}
	defer unlock()
	r.mu.Lock()
	active := r.record.active()
	r.mu.Unlock()
	if !active {
		rk.RankFiles.removeSaved(JobFile)
	}
}

// OpenRanks reads the scores of the last job, and begins a job again that has not ended. It does
// so once.
func (rk *Ranker) OpenRanks() { rk.Ranks.opened.Do(rk.readRanks) }

// readRanks is openRanks without the guard.
func (rk *Ranker) readRanks() {
	if rk.Context.Err() != nil {
		return
	}
	// 1. Read the scores, then the job. A job of another store is dropped.
	done := rk.readScores()
	job, _, err := rk.RankFiles.ReadSaved(JobFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case job != nil && !rk.RankFiles.isOwn(job):
		rk.Log.Warn("a PageRank of another store or predicate is left alone", "file", rk.Path(JobFile))
		rk.RankFiles.removeSaved(JobFile)
		return
	case job == nil:
		rk.Log.Error("a PageRank that had not ended begins anew, with the default options", "error", err)
		job = &savedJob{jobRecord: jobRecord{Begun: time.Now().UTC()}}
	case err != nil:
		rk.Log.Error("the file of a PageRank that had not ended is damaged", "error", err)
		job.Job = links.PageRankJob{Seconds: job.Job.Seconds}
	}
	// 2. A job that only has to store its scores goes on. Another one begins again.
	record := job.jobRecord
	if record.Job.State != StateStoring || done == nil || !done.Begun.Equal(record.Begun) {
		record.Job = links.PageRankJob{State: stateRunning, Seconds: record.Job.Seconds}
		rk.Log.Info("a PageRank that had not ended begins again")
	}
	if done != nil {
		record.Scored = scoredJob{done.Begun, done.Options, done.Job}
	} else {
		// If other members have scores, they have a newer record, so this machine copies them.
		record.Scored, record.Term, record.Version = scoredJob{}, 0, 0
	}
	rk.Ranks.mu.Lock()
	defer rk.Ranks.mu.Unlock()
	rk.setRecord(record)
	rk.Ranks.reopened = true
}

// readScores reads the scores of the last job that ended.
func (rk *Ranker) readScores() *savedJob {
	j, cells, err := rk.RankFiles.ReadSaved(ScoresFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var found *Scores
	if err == nil {
		found, err = OpenScores(j, cells)
	}
	if err != nil || !rk.RankFiles.isOwn(j) {
		rk.Log.Warn("the scores of the last PageRank are of no use: start it again", "file", rk.Path(ScoresFile), "error", err)
		return nil
	}
	r := &rk.Ranks
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scored = scoredJob{j.Begun, j.Options, j.Job}
	r.scores, r.onDisk, r.record = found, r.scored, j.jobRecord
	r.record.Scored = r.scored
	return j
}

// isOwn reports whether a file is of this store and predicate.
func (f *rankFiles) isOwn(j *savedJob) bool {
	return j.Store == f.Node.MachineID().String() && j.Predicate == f.Options.Predicate
}
