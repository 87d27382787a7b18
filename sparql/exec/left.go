package exec

import "github.com/trefoildb/trefoil/sparql/expr"

// lateralLeft is LeftJoin whose right side starts from the rows of the left.
type lateralLeft struct {
	q     *query
	left  operator
	right operator
	feed  *feed
	conds []*expr.Expr
	env   *expr.Env
	// inSequence: right gives rows in the order of the feed's, so that the rows of
	// left without a match can be put between them.
	inSequence bool

	view    rowView
	input   *batch
	got     *batch
	at      int
	matched []bool
	running bool
	due     int // the first row of left that may have to be given by itself
}

func (l *lateralLeft) next(out *batch) error {
	for {
		if err := l.q.check(); err != nil {
			return err
		}
		if !l.running {
			l.input.clear()
			if err := l.left.next(l.input); err != nil || l.input.n == 0 {
				return err
			}
			l.feed.rows = l.input
			l.right.reset()
			l.got.clear()
			l.matched = append(l.matched[:0], make([]bool, l.input.n)...)
			l.at, l.due, l.running = 0, 0, true
		}
		if err := l.run(out); err != nil {
			return err
		}
		if out.full() || out.n > 0 && !l.running {
			return nil
		}
	}
}

func (l *lateralLeft) run(out *batch) error {
	for !out.full() {
		if l.at >= l.got.n {
			l.got.clear()
			l.at = 0
			if err := l.right.next(l.got); err != nil {
				return err
			}
			if l.got.n == 0 {
				l.alone(out, l.input.n)
				l.running = l.due < l.input.n
				return nil
			}
		}
		from := int(l.got.ord[l.at])
		if l.inSequence && from > l.due {
			if l.alone(out, from); l.due < from {
				return nil
			}
		}
		row := l.got.row(l.at)
		l.at++
		if len(l.conds) > 0 {
			ok, err := test(l.env, l.conds, l.view.of(row))
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
		}
		l.matched[from] = true
		out.add(row, l.input.ord[from])
	}
	return nil
}

// alone gives the rows of left from l.due up to before that have no match.
func (l *lateralLeft) alone(out *batch, before int) {
	for l.due < before {
		if !l.matched[l.due] {
			if out.full() {
				return
			}
			out.add(l.input.row(l.due), l.input.ord[l.due])
		}
		l.due++
	}
}

func (l *lateralLeft) reset() { l.running = false; l.left.reset() }
func (l *lateralLeft) close() { l.left.close(); l.right.close() }
