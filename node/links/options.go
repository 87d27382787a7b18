package links

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/trefoildb/trefoil/internal/processors"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/urls"
)

// Options are those of [Open]. The zero value is ready to use.
type Options struct {
	// Predicate is that of links; "" is links.DefaultPredicate. The store's feed must
	// watch it.
	Predicate string
	// Dir is where cells are kept; "" is links in the store's directory.
	Dir string
	// CellPages is about how many pages a cell has; 0 is 262,144. A slot is never
	// split.
	CellPages int
	// Lists and URLs say how cells are coded. A codec of 0 is lists.Auto: each cell has
	// for each direction the one that pays.
	Lists lists.Options
	URLs  urls.Options
	// BuildBytes is how much memory a build may use for links, and a PageRank for copies
	// of them; 0 is 1 GiB.
	BuildBytes int64
	// Workers is how many goroutines a build uses; 0 is one a processor.
	Workers int
	// Logger takes what there is to say; nil is nobody.
	Logger *slog.Logger

	limits limits
}

// limits are sizes that only tests change.
type limits struct{ loadedPages, heldBytes int }

const (
	defaultCellPages  = 1 << 18
	defaultBuildBytes = 1 << 30
)

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	switch {
	case o.CellPages < 0:
		return fmt.Errorf("%w: CellPages is %d", links.ErrInvalid, o.CellPages)
	case o.BuildBytes < 0:
		return fmt.Errorf("%w: BuildBytes is %d", links.ErrInvalid, o.BuildBytes)
	case o.Workers < 0:
		return fmt.Errorf("%w: Workers is %d", links.ErrInvalid, o.Workers)
	}
	return nil
}

func (o Options) withDefaults(dir string) Options {
	if o.Predicate == "" {
		o.Predicate = links.DefaultPredicate
	}
	if o.Dir == "" {
		o.Dir = filepath.Join(dir, "links")
	}
	if o.Lists.Codec == 0 {
		o.Lists.Codec = lists.Auto
	}
	if o.CellPages == 0 {
		o.CellPages = defaultCellPages
	}
	if o.BuildBytes == 0 {
		o.BuildBytes = defaultBuildBytes
	}
	if o.Workers == 0 {
		o.Workers = processors.Count()
	}
	if o.limits == (limits{}) {
		o.limits = limits{loadedPages, heldBytes}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// makeDir makes the directory of cells.
func (o Options) makeDir() error { return os.MkdirAll(o.Dir, 0o755) }
