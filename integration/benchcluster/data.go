package main

// This file makes data, and takes samples of it.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/trefoildb/trefoil/integration/workload"
	"github.com/trefoildb/trefoil/triple"
)

// data returns the path of a LUBM-like file, which it makes where it is absent.
func (b *bench) data(ctx context.Context, triples int64) (path string, err error) {
	path = filepath.Join(b.dir, fmt.Sprintf("lubm-%d-%d.nt", triples, b.seed))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	g, err := workload.New("lubm", b.seed, triples)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(b.dir, "lubm-*.new")
	if err != nil {
		return "", err
	}
	_, err = g.Generate(ctx, f)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return path, nil
}

// sample returns n triples of a file, from places at random.
func sample(path string, n int, r *rand.Rand) (out []triple.Triple, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	for len(out) < n {
		if _, err := f.Seek(r.Int64N(info.Size()), io.SeekStart); err != nil {
			return nil, err
		}
		lines := bufio.NewReader(f)
		if _, err := lines.ReadSlice('\n'); err != nil {
			continue // in the last line, which nothing follows
		}
		sc := triple.NewScanner(lines, triple.ScanOptions{Source: path})
		if sc.Scan() {
			out = append(out, sc.Triple().Clone())
		} else if err := sc.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fresh returns a triple that is not there, with keys near those of one that is:
// as they spread over the key space, so do such ones.
func fresh(near triple.Triple, n int) triple.Triple {
	near.Object = triple.NewString(fmt.Sprintf("%s, new %d", near.Object.Value(), n))
	return near
}

// photo returns a triple as an application adds them: a hot set of albums and
// tags, new images.
func photo(r *rand.Rand, i int) triple.Triple {
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

// stderrOf returns what a command that failed said.
func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return ": " + string(exit.Stderr)
	}
	return ""
}
