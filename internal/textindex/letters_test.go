// Tests of single ideographs, and of letters of scripts without spaces.

package textindex

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// TestSingleLetters: a letter that texts have in pairs is found wherever it stands: at the beginning, in the middle, at the
// end and alone.
func TestSingleLetters(t *testing.T) {
	a := NewAnalyzer()
	b := NewBuilder(a, "x:p", 0)
	for _, text := range []string{
		"北京大学@zh", "京@zh", "上海 (京)@zh-Hant", "東京都に@ja", "京都@ja", "カタカナ@ja", "東京 kyō@ja", "学ぶ@ja", "京都", "大学", "kyoto@en", "ภาษาไทย@th", "ภาษาไทย", "zz 学@ja", "ทำน@th", "ໝນ@lo",
	} {
		literal, tag, _ := strings.Cut(text, "@")
		require.NoError(t, b.Add(Document{Key: []byte(text), Text: []byte(literal), Tag: tag}))
	}
	segment, err := b.Finish()
	require.NoError(t, err)
	parts := []*Part{{Segment: segment}}
	for query, want := range map[string]string{
		"京":          "上海 (京)@zh-Hant, 京@zh, 京都, 京都@ja, 北京大学@zh, 東京 kyō@ja, 東京都に@ja",
		"\" 京 \"":    "上海 (京)@zh-Hant, 京@zh, 京都, 京都@ja, 北京大学@zh, 東京 kyō@ja, 東京都に@ja",
		"学":          "zz 学@ja, 北京大学@zh, 大学, 学ぶ@ja",
		"学 -京":       "zz 学@ja, 大学, 学ぶ@ja",
		"に":          "東京都に@ja",
		"カ":          "カタカナ@ja",
		"ナ":          "カタカナ@ja",
		"京 AND kyo*": "東京 kyō@ja",
		"ย":          "ภาษาไทย, ภาษาไทย@th",
		"海":          "上海 (京)@zh-Hant",
		"น":          "ทำน@th", // behind a letter that is two runes in terms
		"ำ":          "ทำน@th",
		"ນ":          "ໝນ@lo",
		"z":          "",
		"京*":         "上海 (京)@zh-Hant, 京@zh, 京都, 京都@ja, 北京大学@zh, 東京都に@ja",
	} {
		q, err := Parse(query)
		require.NoError(t, err)
		request := &Request{Query: q}
		stats, err := Collect(a, request, parts, noCheck)
		require.NoError(t, err)
		hits, err := Search(a, request, &stats, parts, 100, nil, noCheck)
		require.NoError(t, err)
		var got []string
		for i := range hits {
			got = append(got, string(hits[i].Key))
		}
		if slices.Sort(got); strings.Join(got, ", ") != want {
			t.Errorf("%s finds %q, want %s", query, got, want)
		}
	}
	q, err := Parse("学")
	require.NoError(t, err)
	if got := Snippet(a, q, "北京大学", "zh"); got != "北京"+MarkBegin+"大学"+MarkEnd {
		t.Errorf("the snippet is %s", got)
	}
	if q, err = Parse("น"); err != nil {
		t.Fatal(err)
	}
	if got := Snippet(a, q, "ทำน", "th"); got != "ท"+MarkBegin+"ำน"+MarkEnd {
		t.Errorf("the snippet is %s", got)
	}
	if _, err := Parse(strings.Repeat("京 ", MaxExpanded+1)); err == nil || !strings.Contains(err.Error(), fmt.Sprint(MaxExpanded)) {
		t.Errorf("%d ideographs: %v", MaxExpanded+1, err)
	}
}
