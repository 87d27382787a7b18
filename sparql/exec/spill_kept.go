package exec

import "errors"

// kept is rows in the order in which they came: in memory, and where they may go
// to a file no more of them than a part, as nothing needs them there.
type kept struct {
	q      *query
	table  table
	file   *rowFile
	reader *rowReader
	at     int
}

const keptPart = 8

func newKept(q *query, h *holder) *kept {
	return &kept{q: q, table: table{holder: holder{account: h.account, name: h.name, plan: h.plan}, width: q.width}}
}

func (k *kept) add(row []string) error {
	if k.file == nil {
		var err error
		full := k.q.spills() && k.table.held+int64(k.table.sizeOf(row)) > k.q.account.limit/keptPart
		if !full {
			err = k.table.add(row)
		}
		if !full && (err == nil || !errors.Is(err, ErrMemory) || !k.q.spills()) {
			return err
		}
		if k.file, err = k.q.scratch.create(&k.table.holder, k.q.width); err != nil {
			return err
		}
	}
	return k.file.add(record{row: row})
}

func (k *kept) finish() error {
	if k.file == nil {
		return nil
	}
	k.reader = k.file.reader()
	return k.file.finish()
}

// next copies the next row into row.
func (k *kept) next(row []string) (bool, error) {
	if k.at < k.table.n {
		copy(row, k.table.row(k.at))
		k.at++
		return true, nil
	}
	if k.reader == nil {
		return false, nil
	}
	ok, err := k.reader.next()
	if ok {
		copy(row, k.reader.row)
	}
	return ok, err
}

func (k *kept) close() {
	k.table.drop()
	k.file.close()
}
