// Tests of the defaults of options.

package machine

import (
	"testing"

	"github.com/trefoildb/trefoil/links/lists"
)

// TestDefaultCodec checks that cells choose their codecs if the options do not.
func TestDefaultCodec(t *testing.T) {
	if c := (Options{}).WithDefaults().Lists.Codec; c != lists.Auto {
		t.Errorf("the codec is %v", c)
	}
	o := Options{Lists: lists.Options{Codec: lists.Reference}}
	if got := o.WithDefaults().Lists; got != o.Lists {
		t.Errorf("%+v, want %+v", got, o.Lists)
	}
	if err := (Options{Lists: lists.Options{Codec: lists.Auto}}).Validate(); err != nil {
		t.Error(err)
	}
}
