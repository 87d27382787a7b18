// Long texts.

package store

import (
	"context"
	"os"
)

// text measures the load of data of long texts, and what they take on disk.
func (b *bench) text(ctx context.Context) error {
	file, err := b.Data(ctx, "texts", b.texts)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir("texts"))
	return b.loadOnce(ctx, "texts", "", "-", file)
}
