// Changes of links: the interface, its changes and its result.

package links

import (
	"context"
)

// Updater changes links.
type Updater interface {
	// Update makes changes. When it returns, they are durable, and all later reads return them.
	// New pages get UIDs. Many changes are not one transaction: if there is an error, the result
	// counts the changes known to be done.
	Update(ctx context.Context, changes []Change) (UpdateResult, error)
}

// ChangeKind is the kind of a [Change].
type ChangeKind uint8

const (
	// AddLinks adds links to a page.
	AddLinks ChangeKind = iota
	// DeleteLinks removes links of a page.
	DeleteLinks
	// ReplaceLinks sets the whole list of a page. Other links of the page are removed.
	ReplaceLinks
	// LabelPage sets the label of the page itself. Targets is empty, and Labels has one label;
	// cell.NoLabel removes it. A new page gets a UID.
	LabelPage
)

// Change changes the links of one page.
type Change struct {
	Kind   ChangeKind
	Source string // URL
	// Targets are URLs. Labels must be nil or have one label for each target, unless the kind is
	// LabelPage. If a label is cell.NoLabel, an existing link keeps its own.
	Targets []string
	Labels  []Label
}

// UpdateResult is the result of an update.
type UpdateResult struct {
	Added   int64  `json:"added"`   // links
	Deleted int64  `json:"deleted"` // links
	Pages   int64  `json:"pages"`   // pages with new UIDs
	Epoch   uint64 `json:"epoch"`   // of a graph with all of the changes; 0 means not known
}
