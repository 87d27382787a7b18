// Samples of data files, and triples as applications add them.

package rig

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"github.com/trefoildb/trefoil/triple"
)

// Sample returns n triples of a file, from random places.
func Sample(path string, n int, r *rand.Rand) (sampled []triple.Triple, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	for len(sampled) < n {
		if _, err := f.Seek(r.Int64N(info.Size()), io.SeekStart); err != nil {
			return nil, err
		}
		lines := bufio.NewReader(f)
		if _, err := lines.ReadSlice('\n'); err != nil {
			continue // in the last line, which nothing follows
		}
		sc := triple.NewScanner(lines, triple.ScanOptions{Source: path})
		if sc.Scan() {
			sampled = append(sampled, sc.Triple().Clone())
		} else if err := sc.Err(); err != nil {
			return nil, err
		}
	}
	return sampled, nil
}

// Fresh returns a triple that is not stored yet. Its keys are near those of a stored one, so
// that fresh triples spread over the key space as the stored ones do.
func Fresh(near triple.Triple, n int) triple.Triple {
	near.Object = triple.NewString(fmt.Sprintf("%s, new %d", near.Object.Value(), n))
	return near
}

// Photo returns a triple as an application adds them: its image is new, its album or tag is one
// of a hot set.
func Photo(r *rand.Rand, i int) triple.Triple {
	image := triple.NewIRI(fmt.Sprintf("http://photos.example/image/%d", i))
	switch i % 3 {
	case 0:
		return triple.Triple{Subject: image, Predicate: triple.NewIRI("http://photos.example/onto#inAlbum"),
			Object: triple.NewIRI(fmt.Sprintf("http://photos.example/album/%d", r.IntN(10_000)))}
	case 1:
		return triple.Triple{Subject: image, Predicate: triple.NewIRI("http://photos.example/onto#tag"),
			Object: triple.NewString(fmt.Sprintf("tag%d", r.IntN(1_000)))}
	}
	return triple.Triple{Subject: image, Predicate: triple.NewIRI("http://photos.example/onto#width"),
		Object: triple.NewTyped(fmt.Sprint(r.IntN(6_000)), triple.XSDInteger)}
}
