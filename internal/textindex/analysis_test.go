// Tests of the analysis by language.

package textindex

import (
	"fmt"
	"strings"
	"testing"
)

func wordsOf(lang, text string) string {
	var words []string
	NewAnalyzer().Words(lang, []byte(text), func(w Word) bool { words = append(words, w.Term); return true })
	return strings.Join(words, " ")
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ lang, text, want string }{
		{"", "Hello, WÖRLD! can't 3.14 naïve e\u0301te\u0301 Ｆｕｌｌ STRAẞE", "hello world can't 3.14 naive ete full strasse"},
		{"", "The end of the line", "the end of the line"}, // stop words are words
		{"en", "Graph databases storing stores, running café", "graph databas store store run cafe"},
		{"fr", "l'étude d'étudiantes", "etud etudiant"},
		{"de", "Häuser", "haus"},
		{"nb", "bilene", "bil"},
		{"xx", "Graph databases", "graph databases"},
		{"ja", "東京都に カタカナ abc", "東京 京都 都に カタ タカ カナ abc"},
		{"", "東京都", "東 京 都"},
		{"ar", "المكتبة", "مكتب"},
		{"he", "שלום עולם", "שלום עולם"},
		{"tr", "İSTANBUL'da", "istanbul"},
		{"fa", "کتاب\u200cها", "كتاب ها"},
		{"th", "ภาษาไทย", "ภา าษ ษา าไ ไท ทย"},
		{"", "ໂລກ abc", "ໂລ ລກ abc"},
		{"", "ΟΔΥΣΣΕΎΣ Οδυσσεύς Ελλάδα", "οδυσσευσ οδυσσευσ ελλαδα"},
		{"", "зелёный Зеленый", "зеленый зеленый"},
		{"", "がぎ 한국어", "が ぎ 한국어"},
		{"en", "", ""},
		{"en", " ... \x00 \xff", ""},
	} {
		if got := wordsOf(c.lang, c.text); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.text, c.lang, got, c.want)
		}
	}
}

// TestAccents: a word has the same terms with and without accents, in every language with Latin letters.
func TestAccents(t *testing.T) {
	for lang := range analyzed {
		for with, without := range map[string]string{"étudiées": "etudiees", "canción": "cancion", "Größe": "Grosse", "señor": "senor", "kaſſe": "kasse", "İstanbul": "Istanbul"} {
			if a, b := wordsOf(lang, with), wordsOf(lang, without); a != b {
				t.Errorf("%s: %q has the terms %q, and %q has %q", lang, with, a, without, b)
			}
		}
	}
}

// TestLongWords: a word of any length has a bounded term.
func TestLongWords(t *testing.T) {
	for _, lang := range []string{"", "en", "ja", "de", "tr"} {
		for _, letter := range []string{"a", "é", "東", "\u0301", "ﷺ"} {
			NewAnalyzer().Words(lang, []byte(strings.Repeat(letter, 1<<16)), func(w Word) bool {
				if len(w.Term) > maxWordBytes {
					t.Fatalf("a term of %d bytes of %q in %q", len(w.Term), letter, lang)
				}
				return true
			})
		}
	}
}

// TestPlaces: the places of words are those in the text.
func TestPlaces(t *testing.T) {
	text := "Ein Häuschen, 東京都!"
	var got []string
	NewAnalyzer().Words("ja", []byte(text), func(w Word) bool { got = append(got, text[w.Start:w.End]); return true })
	if fmt.Sprint(got) != "[Ein Häuschen 東京 京都]" {
		t.Error(got)
	}
}
