// Tests of the shape of the data sets.

package dataset

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// TestBSBMShape counts the things of ten markets and follows each reference to a product.
func TestBSBMShape(t *testing.T) {
	seed.Slow(t)
	data := generate(t, BSBM{Seed: 1, Triples: unitsSize(t, bsbm{1}, 0, 11)})
	for class, want := range map[string]int{"ProductType": types, "ProductFeature": types * typeFeatures, "Producer": 10, "Vendor": 10,
		"Product": 10 * marketProducts, "Offer": 10 * marketOffers, "Review": 10 * marketReviews} {
		if n := bytes.Count(data, []byte(rdfType+shopVocabulary+class+">")); n != want {
			t.Errorf("%d of class %s, want %d", n, class, want)
		}
	}
	products := map[string]bool{}
	for _, m := range regexp.MustCompile(`(<\S+>)`+rdfType+shopVocabulary+`Product>`).FindAllSubmatch(data, -1) {
		products[string(m[1])] = true
	}
	for _, m := range regexp.MustCompile(`v01/vocabulary/(?:reviewFor|product)> (<\S+>)`).FindAllSubmatch(data, -1) {
		if !products[string(m[1])] {
			t.Fatalf("an offer or a review is of %s, which is no product", m[1])
		}
	}
	// A type's parent has the number of its level: 1, then 2-9, then 10-73.
	for number, want := range map[int]int{2: 1, 9: 1, 10: 2, 17: 2, 18: 3, 73: 9} {
		if got := parentType(number); got != want {
			t.Errorf("type %d is below %d, want %d", number, got, want)
		}
	}
}

func TestLUBMShape(t *testing.T) {
	g := LUBM{Seed: 1, Triples: unitsSize(t, lubm{1}, 0, unitsAUniversity)}
	data := generate(t, g)
	lines := bytes.Count(data, []byte("\n"))
	if lines < 130_000 || lines > 280_000 {
		t.Errorf("a university of %d triples", lines)
	}
	if perLine := len(data) / lines; perLine < 163 || perLine > 175 {
		t.Errorf("%d bytes a line, want about 170", perLine)
	}
	count := func(text string) int { return bytes.Count(data, []byte(text)) }
	class := func(name string) int { return count(rdfType + univ + name + ">") }
	departments := class("Department")
	faculty := 0
	for rank, name := range rankNames {
		n := class(name)
		faculty += n
		if n < departments*rankCounts[rank][0] || n > departments*rankCounts[rank][1] {
			t.Errorf("%d of class %s in %d departments", n, name, departments)
		}
	}
	within := func(what string, n, low, high int) {
		if n < low || n > high {
			t.Errorf("%d %s, want %d to %d", n, what, low, high)
		}
	}
	within("departments", departments, 15, 25)
	within("undergraduates", class("UndergraduateStudent"), faculty*8, faculty*14)
	within("graduates", class("GraduateStudent"), faculty*3, faculty*4)
	within("heads", count("#headOf>"), departments, departments)
	within("courses", class("Course"), faculty, 2*faculty)
	for _, p := range []string{"name", "emailAddress", "telephone", "age", "birthDate", "subOrganizationOf", "worksFor",
		"memberOf", "teacherOf", "takesCourse", "teachingAssistantOf", "advisor", "undergraduateDegreeFrom",
		"mastersDegreeFrom", "doctoralDegreeFrom", "publicationAuthor", "researchInterest", "tenured", "public",
		"credits", "gpa", "enrolled", "published"} {
		if count("#"+p+">") == 0 {
			t.Errorf("no property %s", p)
		}
	}
	for _, l := range languages {
		if count(`"@`+l.tag+" .\n") == 0 {
			t.Errorf("no label in %s", l.tag)
		}
	}
	for _, m := range regexp.MustCompile(`#age> "(\d+)"`).FindAllSubmatch(data, -1) {
		if age, _ := strconv.Atoi(string(m[1])); age < 17 || age > 70 {
			t.Fatalf("age %d", age)
		}
	}
}

// TestLUBMReferences checks that every referenced thing of a department has a class, because joins
// must find it.
func TestLUBMReferences(t *testing.T) {
	data := string(generate(t, LUBM{Seed: 4, Triples: unitsSize(t, lubm{4}, 0, unitsAUniversity)}))
	typed := make(map[string]bool)
	for line := range strings.Lines(data) {
		if s, _, ok := strings.Cut(line, rdfType); ok {
			typed[s] = true
		}
	}
	for line := range strings.Lines(data) {
		if strings.Contains(line, "DegreeFrom>") || strings.Contains(line, rdfType) {
			continue
		}
		fields := strings.Fields(line)
		if !typed[fields[0]] || strings.HasPrefix(fields[2], "<") && !typed[fields[2]] {
			t.Fatalf("a reference to nothing: %s", line)
		}
	}
}

func TestTextsShape(t *testing.T) {
	data := string(generate(t, Texts{Seed: 1, Triples: 20_000}))
	long, chars, languagesSeen := 0, 0, make(map[string]bool)
	for line := range strings.Lines(data) {
		if !strings.Contains(line, pDescription) && !strings.Contains(line, pText) {
			continue
		}
		object := line[strings.IndexByte(line, '"') : len(line)-len(" .\n")]
		text, err := triple.ParseTerm(object)
		if err != nil {
			t.Fatal(err)
		}
		n := utf8.RuneCountInString(text.Value())
		if n < textMinChars || n > textMaxChars {
			t.Fatalf("a text of %d characters: %s", n, line)
		}
		long++
		chars += n
		languagesSeen[text.Lang()] = true
	}
	if len(languagesSeen) != len(languages) {
		t.Errorf("texts in %d languages", len(languagesSeen))
	}
	if mean := chars / long; mean < 500 || mean > 700 {
		t.Errorf("a mean of %d characters", mean)
	}
	if share := len(data) / 20_000; share < 280 || share > 360 {
		t.Errorf("%d bytes a line", share)
	}
	for _, escape := range []string{`\"`, `\\`, `\n`, `\t`, `\u20AC`, `\U0001F331`} {
		if !strings.Contains(data, escape) {
			t.Errorf("no %s", escape)
		}
	}
}
