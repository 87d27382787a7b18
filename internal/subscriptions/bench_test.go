// Benchmarks of deliveries to real receivers on loopback.

package subscriptions

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/webhook"
	"github.com/trefoildb/trefoil/triple"
)

// BenchmarkWebhooks delivers one change a batch, from a store on disk, to receivers of one subscription
// each. Each batch is signed, sent over a connection, and its position stored durably.
func BenchmarkWebhooks(b *testing.B) {
	for _, receivers := range []int{1, 10} {
		b.Run(fmt.Sprint("receivers=", receivers), func(b *testing.B) {
			s, err := store.Open(b.TempDir(), store.Options{MinFreeBytes: -1})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			var accepted atomic.Int64
			done := make(chan struct{})
			var urls []string
			for range receivers {
				server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					if _, err := io.Copy(io.Discard, r.Body); err == nil && accepted.Add(1) == int64(b.N*receivers) {
						close(done)
					}
				}))
				defer server.Close()
				urls = append(urls, server.URL)
			}
			sender, err := webhook.NewSender(webhook.Options{AllowHosts: urls})
			if err != nil {
				b.Fatal(err)
			}
			defer sender.Close()
			r := &Registry{Store: s, Filter: parseFilter, CheckURL: sender.Check, Key: []byte("key")}
			for i, url := range urls {
				if _, err := r.Put(b.Context(), Caller{}, Definition{Name: fmt.Sprint("sub", i), URL: url, Filter: map[string]string{"p": "p"}}, ""); err != nil {
					b.Fatal(err)
				}
			}
			for n := range b.N {
				if _, err := store.Add(b.Context(), s, []triple.Triple{number("p", n)}); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			m, err := Start(Options{Registry: r, Sender: sender, BatchBytes: 1})
			if err != nil {
				b.Fatal(err)
			}
			<-done
			b.StopTimer()
			m.Close()
			b.ReportMetric(float64(b.N*receivers)/b.Elapsed().Seconds(), "batches/s")
		})
	}
}
