// Files of PageRank: a job that has not ended, and the scores of the last one that has. They
// outlive the process. Numbers are little-endian.
//
//	links/pagerank.job      the job: begun, after some round, or storing its scores
//	links/pagerank.scores   the scores
//
//	+-----+-----+-----+-----+------+----+----+----+
//	| 't'   'f'   'P'   'J' | 0x01 |  0    0    0 |   magic, version
//	+-----+-----+-----+-----+------+----+----+----+
//	| piece                                       |   savedJob, in JSON
//	+---------------------------------------------+
//	| for each cell: piece                        |   UIDs of its pages (package ef);
//	|                                             |   empty in pagerank.job
//	|                piece                        |   rank.State
//	+---------------------------------------------+
//
// with pieces of
//
//	+---------------------------------------------+
//	| u64                                         |   n
//	+---------------------------------------------+
//	| n bytes                                     |
//	+---------------------------------------------+
//	| u64                                         |   xxhash64 of them
//	+---------------------------------------------+

package linkgraph

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/ef"
	"github.com/trefoildb/trefoil/links/rank"
)

const (
	jobFile    = "pagerank.job"
	scoresFile = "pagerank.scores"
	// partSuffix is the suffix of a file that is being written. It must not be .tmp, because
	// the keeper removes such files at the same time.
	partSuffix = ".part"

	savedMagic = "tfPJ\x01\x00\x00\x00"
	sizeLen    = 8
	sumLen     = 8
)

// errDamaged is wrapped by every error about a damaged file.
var errDamaged = errors.New("damaged")

// savedJob is the saved state of a job.
type savedJob struct {
	Store     string                `json:"store"` // the store's UUID
	Predicate string                `json:"predicate"`
	Begun     time.Time             `json:"begun"` // identifies the job
	Options   links.PageRankOptions `json:"options"`
	Job       links.PageRankJob     `json:"job"`
	Cells     int                   `json:"cells"` // number of the states that follow
}

// savedCell is the state of a cell.
type savedCell struct {
	pages []byte // of package ef, or nil
	state *rank.State
}

// writeSaved writes a file atomically: after a stop at any moment it is the old one or the new
// one. at is called for each cell in order.
func (g *Graph) writeSaved(name string, j savedJob, cells int, at func(i int) savedCell) (err error) {
	// 1. Write everything into a file of another name, cell by cell.
	j.Store, j.Predicate, j.Cells = g.node.MachineID().String(), g.o.Predicate, cells
	text, err := json.Marshal(&j)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	path := g.path(name)
	f, err := os.OpenFile(path+partSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	_, err = w.WriteString(savedMagic)
	err = errors.Join(err, writePiece(w, text))
	var buf []byte
	for i := 0; i < cells && err == nil; i++ {
		c := at(i)
		buf = c.state.AppendTo(buf[:0])
		err = errors.Join(writePiece(w, c.pages), writePiece(w, buf))
	}
	// 2. Sync it before the rename, and the directory afterwards: otherwise the new name may
	// have no data after a crash.
	if err == nil {
		err = errors.Join(w.Flush(), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(path+partSuffix, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(path+partSuffix))
	}
	return g.syncDir()
}

// writePiece writes a piece. If a write fails, the flush of w fails too.
func writePiece(w *bufio.Writer, b []byte) error {
	var n [sizeLen]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
	_, _ = w.Write(n[:])
	_, _ = w.Write(b)
	binary.LittleEndian.PutUint64(n[:], xxhash.Sum64(b))
	_, err := w.Write(n[:])
	return err
}

func (g *Graph) syncDir() error {
	dir, err := os.Open(g.o.Dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// removeSaved removes a file if it exists.
func (g *Graph) removeSaved(name string) {
	if err := os.Remove(g.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.log.Warn("a file of PageRank stays: its job may be begun again", "file", name, "error", err)
	}
}

// readSaved reads a file. If the error wraps errDamaged, the job may still be returned.
func (g *Graph) readSaved(name string) (j *savedJob, cells []savedCell, err error) {
	data, err := os.ReadFile(g.path(name))
	if err != nil {
		return nil, nil, err
	}
	j, cells, err = openSaved(data)
	if err != nil {
		err = fmt.Errorf("%s: %w", g.path(name), err)
	}
	return j, cells, err
}

// openSaved decodes a file. If a state is damaged, it still returns the job.
func openSaved(data []byte) (*savedJob, []savedCell, error) {
	// 1. The job.
	if len(data) < len(savedMagic) || string(data[:len(savedMagic)]) != savedMagic {
		return nil, nil, fmt.Errorf("%w: it does not begin with %q", errDamaged, savedMagic)
	}
	text, rest, err := nextPiece(data[len(savedMagic):])
	if err != nil {
		return nil, nil, err
	}
	var j savedJob
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	// 2. The states. The count is not trusted: each piece must be there.
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
			return &j, nil, fmt.Errorf("%w: the state of cell %d of %d: %w", errDamaged, i, j.Cells, err)
		}
		cells = append(cells, c)
	}
	if len(rest) != 0 {
		return &j, nil, fmt.Errorf("%w: %d bytes are behind the end", errDamaged, len(rest))
	}
	return &j, cells, nil
}

// nextPiece returns the piece at the front of b, and what follows it.
func nextPiece(b []byte) (piece, rest []byte, err error) {
	if len(b) < sizeLen+sumLen || binary.LittleEndian.Uint64(b) > uint64(len(b)-sizeLen-sumLen) {
		return nil, nil, fmt.Errorf("%w: it is cut off", errDamaged)
	}
	n := int(binary.LittleEndian.Uint64(b))
	piece, b = b[sizeLen:sizeLen+n], b[sizeLen+n:]
	if binary.LittleEndian.Uint64(b) != xxhash.Sum64(piece) {
		return nil, nil, fmt.Errorf("%w: a checksum is wrong", errDamaged)
	}
	return piece, b[sumLen:], nil
}

// openScores returns the scores of a file.
func openScores(j *savedJob, cells []savedCell) (*scores, error) {
	s := &scores{result: rank.Round{Number: j.Job.Round, Change: j.Job.Change, Links: j.Job.Links}, done: j.Job.Converged}
	for i, c := range cells {
		uids, _, err := ef.Open(c.pages)
		if err != nil {
			return nil, fmt.Errorf("%w: the pages of cell %d: %w", errDamaged, i, err)
		}
		if uids.Len() != len(c.state.Scores) || uids.Len() == 0 || i > 0 && uids.At(0) <= s.uids[i-1].Last() {
			return nil, fmt.Errorf("%w: cell %d has %d scores of %d pages", errDamaged, i, len(c.state.Scores), uids.Len())
		}
		s.graph = c.state.Graph
		s.pages, s.uids, s.of = append(s.pages, c.pages), append(s.uids, uids), append(s.of, c.state.Scores)
	}
	return s, nil
}

// writeScores writes the scores of a job that has computed them.
func (r *pageRankRun) writeScores() {
	s, pages := r.scores, uint64(0)
	for _, of := range s.of {
		pages += uint64(len(of))
	}
	err := r.g.writeSaved(scoresFile, r.saved(stateDone), len(s.of), func(i int) savedCell {
		return savedCell{pages: s.pages[i], state: &rank.State{
			Graph: s.graph, Partition: uint32(i), Partitions: uint32(len(s.of)), Pages: pages,
			Round: s.result.Number, Change: s.result.Change, Damping: r.damping(), Scores: s.of[i],
		}}
	})
	if err != nil {
		r.g.log.Warn("the scores of PageRank would be lost at a restart", "error", err)
	}
}

// writeJob writes the state of the job, with the states of the cells after its last round if
// there are any. If it fails, the job continues.
func (r *pageRankRun) writeJob(state string, states []rank.State) {
	begun := time.Now()
	err := r.g.writeSaved(jobFile, r.saved(state), len(states), func(i int) savedCell { return savedCell{state: &states[i]} })
	if err != nil {
		r.g.log.Warn("PageRank goes on, and would begin anew after a restart", "error", err)
	}
	r.next = time.Now().Add(max(checkpointEvery, checkpointShare*time.Since(begun)))
}

// saved returns the saved form of the job in the given state.
func (r *pageRankRun) saved(state string) savedJob {
	r.g.ranks.mu.Lock()
	defer r.g.ranks.mu.Unlock()
	j := savedJob{Begun: r.begun, Options: r.options, Job: *r.g.ranks.job}
	j.Job.State, j.Job.Seconds = state, time.Since(r.g.ranks.begun).Seconds()
	return j
}

// openRanks reads the scores of the last job, and continues a job that has not ended. It does
// so once.
func (g *Graph) openRanks() { g.ranks.opened.Do(g.readRanks) }

// readRanks is openRanks without the guard.
func (g *Graph) readRanks() {
	if g.ctx.Err() != nil {
		return
	}
	// 1. Read the scores, then the job. A job of another store is dropped.
	done, scores := g.readScores()
	job, cells, err := g.readSaved(jobFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case job != nil && !g.own(job):
		g.log.Warn("a PageRank of another store or predicate is left alone", "file", g.path(jobFile))
		g.removeSaved(jobFile)
		return
	case job == nil:
		g.log.Error("a PageRank that had not ended begins anew, with the default options", "error", err)
		job = &savedJob{Begun: time.Now()}
	case err != nil:
		g.log.Error("a PageRank that had not ended begins anew", "error", err)
		job.Job = links.PageRankJob{Seconds: job.Job.Seconds}
	}
	// 2. Continue: from scores that must be stored, from saved rounds, or from the start.
	run := &pageRankRun{g: g, options: job.Options, begun: job.Begun}
	for _, c := range cells {
		run.resume = append(run.resume, c.state)
	}
	if job.Job.State == stateStoring && done != nil && done.Begun.Equal(job.Begun) {
		run.scores = scores
	} else {
		job.Job.State = stateRunning
		if err == nil && len(cells) == 0 {
			g.log.Info("PageRank begins anew: no state of it was written yet")
		}
	}
	// 3. Start the job under the lock, because start requires it.
	g.ranks.mu.Lock()
	defer g.ranks.mu.Unlock()
	run.start(job.Job)
}

// readScores reads the scores of the last job that ended.
func (g *Graph) readScores() (*savedJob, *scores) {
	j, cells, err := g.readSaved(scoresFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var found *scores
	if err == nil {
		found, err = openScores(j, cells)
	}
	if err != nil || !g.own(j) {
		g.log.Warn("the scores of the last PageRank are of no use: start it again", "file", g.path(scoresFile), "error", err)
		return nil, nil
	}
	g.ranks.mu.Lock()
	defer g.ranks.mu.Unlock()
	g.ranks.scores, g.ranks.job = found, &j.Job
	return j, found
}

// own reports whether a file is of this store and predicate.
func (g *Graph) own(j *savedJob) bool {
	return j.Store == g.node.MachineID().String() && j.Predicate == g.o.Predicate
}

// fingerprint identifies the graph of cells at an epoch: by its pages, and the numbers of their
// links.
func (g *Graph) fingerprint(cells []*cell.Cell, epoch uint64) uint64 {
	h := xxhash.New()
	b := fmt.Appendf(nil, "%s %s %d ", g.node.MachineID(), g.o.Predicate, epoch)
	for _, c := range cells {
		b = binary.LittleEndian.AppendUint64(b, uint64(c.Range().First))
		b = binary.LittleEndian.AppendUint64(b, uint64(c.Len()))
		b = binary.LittleEndian.AppendUint64(b, uint64(c.NumLinks(cell.Forward)))
		for ord := range uint32(c.Len()) {
			if b = binary.LittleEndian.AppendUint64(b, uint64(c.UID(ord))); len(b) >= 1<<12 {
				_, _ = h.Write(b)
				b = b[:0]
			}
		}
	}
	_, _ = h.Write(b)
	return h.Sum64()
}
