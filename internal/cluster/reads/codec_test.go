// Tests of the messages of reads.

package reads

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// someRanges returns at least one and at most 2n ranges that ascend.
func someRanges(rng *rand.Rand, n int) (ranges []triple.Range) {
	var cuts [][]byte
	for len(cuts) < 2 { // equal cuts count once
		for range 2 * n {
			o := triple.Orders[rng.IntN(3)]
			key, _ := triple.AppendKey(nil, o, draw(rng))
			cuts = append(cuts, key[:1+rng.IntN(len(key))])
		}
		slices.SortFunc(cuts, bytes.Compare)
		cuts = slices.CompactFunc(cuts, bytes.Equal)
	}
	for i := 0; i+1 < len(cuts); i += 1 + rng.IntN(2) {
		ranges = append(ranges, triple.Range{Lo: cuts[i], Hi: cuts[i+1]})
	}
	if rng.IntN(3) == 0 {
		ranges[len(ranges)-1].Hi = nil
	}
	return ranges
}

func sameRange(a, b triple.Range) bool {
	return bytes.Equal(a.Lo, b.Lo) && bytes.Equal(a.Hi, b.Hi) && (a.Hi == nil) == (b.Hi == nil)
}

// A request comes out as it went in.
func TestRequest(t *testing.T) {
	rng := random(t)
	for range 200 {
		q := &request{epoch: rng.Uint64(), limit: rng.Int64(), budget: rng.Int64(), ranges: someRanges(rng, 1+rng.IntN(50))}
		if rng.IntN(2) == 0 {
			q.filter = filterOf(patterns(draw(rng))[rng.IntN(20)])
		}
		if rng.IntN(4) == 0 {
			q.reverse, q.ranges = true, q.ranges[:1]
		}
		got, err := parseRequest(q.encode())
		require.NoError(t, err)
		if got.epoch != q.epoch || got.limit != q.limit || got.budget != q.budget || got.reverse != q.reverse || !slices.EqualFunc(got.ranges, q.ranges, sameRange) {
			t.Fatalf("%+v, want %+v", got, q)
		}
		if fmt.Sprintf("%v", got.filter) != fmt.Sprintf("%v", q.filter) {
			t.Fatalf("filter %v, want %v", got.filter, q.filter)
		}
	}
}

// A request takes memory for its content, not for its announced sizes.
func TestRequestLimits(t *testing.T) {
	long := bytes.Repeat([]byte{1}, 30<<10)
	var ranges []triple.Range
	for i := range 200 {
		lo := append(bytes.Clone(long), byte(i))
		ranges = append(ranges, triple.Range{Lo: lo, Hi: append(bytes.Clone(lo), 0)})
	}
	if _, err := parseRequest((&request{ranges: ranges}).encode()); err == nil {
		t.Error("a few bytes become many")
	}
	for rest := ranges; len(rest) > 0; {
		part := take(rest)
		rest = rest[len(part):]
		if _, err := parseRequest((&request{ranges: part}).encode()); err != nil {
			t.Fatalf("what a coordinator asks for: %v", err)
		}
	}
	for name, bad := range map[string][]triple.Range{
		"none":     nil,
		"empty":    {{Lo: []byte{2}, Hi: []byte{1}}},
		"overlap":  {{Lo: []byte{1}, Hi: []byte{3}}, {Lo: []byte{2}, Hi: []byte{4}}},
		"no order": {{Lo: []byte{1}}, {Lo: []byte{2}}},
		"many":     make([]triple.Range, maxRanges+1),
	} {
		if _, err := parseRequest((&request{ranges: bad}).encode()); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := parseRequest((&request{reverse: true, ranges: someRanges(rand.New(rand.NewPCG(1, 1)), 9)}).encode()); err == nil {
		t.Error("several ranges in reverse: taken")
	}
}

// Rows come out as they went in, large ones too.
func TestFrames(t *testing.T) {
	rng := random(t)
	for _, size := range []int{1, 100, 2000} {
		var want, have []row
		var parts joiner
		var in unpacker
		p := &packer{write: func(message []byte) error {
			if len(message) > partBytes+1 {
				t.Errorf("a message of %d bytes", len(message))
			}
			frame, err := parts.join(message)
			if frame == nil || err != nil {
				return err
			}
			in.begin(frame)
			for {
				ok, err := in.next()
				if !ok || err != nil {
					return err
				}
				have = append(have, row{in.row.index, bytes.Clone(in.row.key), bytes.Clone(in.row.value)})
			}
		}}
		for i := range 3000 / size * 3 {
			key, _ := triple.AppendKey(nil, triple.SPO, draw(rng))
			r := row{i / 3, key, bytes.Repeat([]byte{byte(rng.IntN(3))}, rng.IntN(size)+1)}
			if size == 100 && i == 50 {
				r.value = make([]byte, 3*partBytes)
			}
			want = append(want, r)
			require.NoError(t, p.add(r))
		}
		require.NoError(t, p.flush())
		if !slices.EqualFunc(have, want, func(a, b row) bool {
			return a.index == b.index && bytes.Equal(a.key, b.key) && bytes.Equal(a.value, b.value)
		}) {
			t.Fatalf("%d rows, want %d", len(have), len(want))
		}
	}
}

// The terms derived from the bounds of a range must hold for all keys in it.
func TestShared(t *testing.T) {
	rng := random(t)
	known := 0
	for range 3000 {
		some := draw(rng)
		o := triple.Orders[rng.IntN(4)]
		key, _ := triple.AppendKey(nil, o, some)
		if len(key) == 0 {
			continue
		}
		f := filterOf(patterns(some)[rng.IntN(16)])
		r, n := f.prefix(o)
		terms := shared(r)
		for i, position := range o.Positions() {
			if i < n && !bytes.Equal(terms[position], f.terms[position]) {
				t.Fatalf("%q of %s: term %d is %q, want %q", r, o, i, terms[position], f.terms[position])
			}
			known += min(n, 1)
		}
		if rng.IntN(2) == 0 { // cut at any byte
			r = r.Intersect(triple.Range{Lo: key[:1+rng.IntN(len(key))]})
		} else {
			r = r.Intersect(triple.Range{Hi: key[:1+rng.IntN(len(key))]})
		}
		terms = shared(r)
		for range 30 {
			other, _ := triple.AppendKey(nil, o, draw(rng))
			if len(other) == 0 || !r.Contains(other) {
				continue
			}
			if ok, err := (&filter{terms: terms}).match(other); !ok || err != nil {
				t.Fatalf("%q: not all have the terms %q: %q", r, terms, other)
			}
		}
	}
	if known == 0 {
		t.Error("the test tests nothing")
	}
}

func FuzzRequest(f *testing.F) {
	f.Add((&request{epoch: 1, ranges: someRanges(rand.New(rand.NewPCG(1, 1)), 5), filter: filterOf(patterns(draw(rand.New(rand.NewPCG(1, 1))))[7])}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := parseRequest(b)
		if err != nil {
			return
		}
		again, err := parseRequest(q.encode())
		if err != nil || !slices.EqualFunc(q.ranges, again.ranges, sameRange) {
			t.Fatalf("%v: %+v, was %+v", err, again, q)
		}
	})
}

func FuzzFrame(f *testing.F) {
	p := &packer{write: func(b []byte) error { f.Add(bytes.Clone(b)); return nil }}
	for i := range 20 {
		_ = p.add(row{i / 4, fmt.Append(nil, "key ", i), fmt.Append(nil, "value ", i/5)})
	}
	_ = p.flush()
	f.Fuzz(func(t *testing.T, b []byte) {
		var parts joiner
		frame, err := parts.join(b)
		if frame == nil || err != nil {
			return
		}
		if _, _, err := parseMore(frame); err != nil {
			return
		}
		var in unpacker
		in.begin(frame)
		for ok := true; ok && err == nil; {
			ok, err = in.next()
		}
	})
}

// The bytes of messages must not change, because members of two versions run side by side during
// an upgrade.
func TestMessageBytes(t *testing.T) {
	ranges := []triple.Range{{Lo: []byte{1, 2}, Hi: []byte{1, 3}}, {Lo: []byte{1, 4}}}
	f := &filter{defaultGraph: true}
	f.terms[1], f.terms[3] = []byte{7}, []byte{8, 9}
	n := replica.AnnotatedRow{Live: true, Stamp: triple.Stamp{Epoch: 3, Sequence: 400}, More: true, Annotations: []store.Annotation{{ApplicationID: "a", Data: []byte{}}, {ApplicationID: "b", Data: []byte("x")}}}
	for want, m := range map[string][]byte{
		"ac02" + "0605d804" + "1a0107020809" + "02" + "0002010202010301010400":             (&request{epoch: 300, filter: f, limit: 5, budget: 600, replicas: true, ranges: ranges}).encode(),
		"01" + "010000" + "01" + "0002010400":                                              (&request{epoch: 1, reverse: true, ranges: ranges[1:]}).encode(),
		"ac02" + "0105" + "1a0107020809" + "01" + "0528" + "02" + "0002010202010301010400": (&survey{epoch: 300, filter: f, limit: 5, questions: []question{{places: 5, least: 40, ranges: ranges}}}).encode(),
		"00ac02" + "01" + "0201020c" + "010200":                                            encodeFindings([]source.Finding{{Rows: 300, Samples: []source.Sample{{Key: []byte{1, 2}, Rows: 12}}}, {Rows: 2, Exact: true}}),
		"ac02" + "020102" + "01" + "03617070":                                              peer.Encode(0, (&annotatedRowRequest{epoch: 300, key: []byte{1, 2}, one: true, id: "app"}).fields),
		"01" + "039003" + "01" + "02" + "016100" + "01620178":                              encodeAnnotated(&n),
		"ac02" + "02" + "0101" + "020203":                                                  peer.Encode(0, (&annotationsRequest{epoch: 300, keys: [][]byte{{1}, {2, 3}}}).fields),
		"00" + "010d" + "01" + "039003" + "01" + "02" + "016100" + "01620178":              encodeAnnotations([]answered{{}, {n, true}}),
	} {
		if got := hex.EncodeToString(m); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func parse[M interface{ fields(*peer.Coder) }](b []byte, m M) (M, error) {
	return m, peer.Decode(b, m.fields)
}

func parseRequest(b []byte) (*request, error) { return parse(b, new(request)) }

func parseSurvey(b []byte) (*survey, error) { return parse(b, new(survey)) }

func encodeFindings(found []source.Finding) []byte { return peer.Encode(0, codeFindings(found)) }

func parseFindings(b []byte, asked []question) ([]source.Finding, error) {
	found := make([]source.Finding, len(asked))
	return found, peer.Decode(b, codeFindings(found))
}

// Surveys and their answers come back as they were, and what is cut does not.
func TestSurveyCodec(t *testing.T) {
	q := &survey{epoch: 7, limit: 100, filter: filterOf(triple.Pattern{Predicate: iri("p")}), questions: []question{
		{places: 5, least: 40, ranges: []triple.Range{triple.OrderRange(triple.POS)}},
		{ranges: []triple.Range{{Lo: []byte{1, 2}, Hi: []byte{1, 3}}, {Lo: []byte{1, 4}}}},
	}}
	b := q.encode()
	have, err := parseSurvey(b)
	if err != nil || !reflect.DeepEqual(have, q) {
		t.Fatalf("%+v, %v, want %+v", have, err, q)
	}
	key, _ := triple.AppendKey(nil, triple.POS, student(1))
	found := []source.Finding{{Rows: 300, Samples: []source.Sample{{Key: key, Rows: 12}}}, {Rows: 2, Exact: true}}
	answer := encodeFindings(found)
	if have, err := parseFindings(answer, q.questions); err != nil || !reflect.DeepEqual(have, found) {
		t.Fatalf("%+v, %v, want %+v", have, err, found)
	}
	for n := range b {
		if _, err := parseSurvey(b[:n]); err == nil {
			t.Errorf("a survey of %d bytes is taken, cut at %d", len(b), n)
		}
	}
	for n := range answer {
		if _, err := parseFindings(answer[:n], q.questions); err == nil {
			t.Errorf("an answer of %d bytes is taken, cut at %d", len(answer), n)
		}
	}
	q.questions = make([]question, maxQuestions+1)
	for i := range q.questions {
		q.questions[i].ranges = []triple.Range{{}}
	}
	if _, err := parseSurvey(q.encode()); err == nil {
		t.Errorf("%d questions are taken", len(q.questions))
	}
}

// The answer to a call for rows comes back as it was; others are errors.
func TestRowsCodec(t *testing.T) {
	frame := []byte{frameRows, 0, 1, 9, 1, 8}
	for _, more := range []bool{false, true} {
		last := row{index: 3, key: []byte("key")}
		b := appendRows(nil, frame, more, last)
		again, index, key, rows, err := parseRows(b)
		if err != nil || again != more || !bytes.Equal(rows, frame) || more && (index != 3 || string(key) != "key") {
			t.Errorf("more %v: %v, %d, %q, %q, %v", more, again, index, key, rows, err)
		}
	}
	for _, bad := range [][]byte{nil, {frameBeat}, {frameEnd, frameMore}, {frameMore}, {frameMore, 1, 200}} {
		if _, _, _, _, err := parseRows(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func FuzzSurvey(f *testing.F) {
	f.Add((&survey{epoch: 1, questions: []question{{places: 2, ranges: []triple.Range{{}}}}}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if q, err := parseSurvey(b); err == nil {
			if again, err := parseSurvey(q.encode()); err != nil || len(again.questions) != len(q.questions) {
				t.Errorf("%+v does not come back: %v", q, err)
			}
		}
		_, _ = parseFindings(b, make([]question, 3))
		_, _, _, _, _ = parseRows(b)
	})
}
