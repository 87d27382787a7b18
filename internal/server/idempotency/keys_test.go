// Bounds of the remembered answers.

package idempotency

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/server/request"
)

// Answers are kept for some time, and so many; those under way always.
func TestKeysAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := New(t.Context())
		running, _ := k.begin("running")
		r, err := http.NewRequest("DELETE", "http://e.x/triples", nil)
		if err != nil {
			t.Fatal(err)
		}
		made := func(key string, body int) {
			entry, fresh := k.begin(key)
			if !fresh {
				t.Fatalf("%s is known", key)
			}
			k.end(entry, &recording{status: 200, body: make([]byte, body)}, request.NewDigestBody(r))
		}
		made("first", 10)
		for i := range 40 {
			made(fmt.Sprint(i), 1<<20)
		}
		if k.bytes > maxAnswerBytes+2<<20 {
			t.Errorf("%d bytes are kept", k.bytes)
		}
		if _, fresh := k.begin("first"); !fresh {
			t.Error("the oldest is kept")
		}
		if _, fresh := k.begin("39"); fresh {
			t.Error("the newest is forgotten")
		}
		time.Sleep(keyWindow)
		if _, fresh := k.begin("39"); !fresh {
			t.Error("an answer is kept for too long")
		}
		if entry, fresh := k.begin("running"); fresh || entry != running {
			t.Error("what is under way is forgotten")
		}
	})
}
