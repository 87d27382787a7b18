// The LUBM-like data set, and the numbers of its departments and people.

package dataset

import (
	"context"
	"io"
)

// univNS is the namespace of the classes and properties of LUBM.
const univNS = "http://trefoil.example/onto/univ-bench.owl#"

// LUBM is a data set in the shape of the Lehigh University Benchmark. It has the same classes,
// properties, proportions and instance IRIs, such as
// http://www.Department0.University0.edu/FullProfessor0, in the namespace univNS. There is no
// inference: each thing has only its most special class (assistants have two). In addition to the
// original there are
//
//	age             xsd:integer   students 17-34, faculty 28-70
//	birthDate       xsd:date      graduate students and faculty; fits the age in 2025
//	gpa             xsd:decimal   students, 1.00-4.00
//	credits         xsd:integer   courses, 1-6
//	enrolled        xsd:dateTime  students, 2018-2025, in September or February
//	published       xsd:dateTime  publications, 1995-2025
//	tenured, public xsd:boolean   professors; universities
//	rdfs:label      language strings in en, de, fr, pt-BR, ru and ja
//
// A university has 15-25 departments, about 200,000 triples. Degrees are from universities 0-999,
// even if these are not in the data, as in the original.
type LUBM struct {
	Seed    uint64
	Triples int64 // the exact number; 0 means defaultTriples
}

// Generate implements Generator.
func (g LUBM) Generate(ctx context.Context, w io.Writer) (Counts, error) {
	return write(ctx, w, lubm{g.Seed}, g.Triples)
}

// MediaType implements Generator.
func (g LUBM) MediaType() string { return MediaTypeNTriples }

// lubm is the source of LUBM. The unit university*unitsAUniversity is the university itself. The
// units after it are its departments; if it has fewer, the rest are empty.
type lubm struct{ seed uint64 }

const (
	maxDepartments   = 25
	unitsAUniversity = 1 + maxDepartments
	alumniOf         = 1000 // number of universities that degrees are from
)

// Tags of derived seeds.
const (
	tagUniversity = iota
	tagDepartment
	tagFaculty
	tagCourse
	tagGraduateCourse
	tagPublication
	tagUndergraduate
	tagGraduate
)

// The ranks of faculty, with bounds of their numbers and of their publications.
const (
	fullProfessor = iota
	associateProfessor
	assistantProfessor
	lecturer
	ranks
)

var (
	rankNames  = [ranks]string{"FullProfessor", "AssociateProfessor", "AssistantProfessor", "Lecturer"}
	rankCounts = [ranks][2]int{{7, 10}, {10, 14}, {8, 11}, {5, 7}}
	rankPapers = [ranks][2]int{{15, 20}, {10, 18}, {5, 10}, {0, 5}}
)

const maxFaculty = 10 + 14 + 11 + 7

// departmentShape holds the numbers of a department's parts.
type departmentShape struct {
	seed                    uint64 // of everything in the department
	ranks                   [ranks]int
	faculty                 int
	groups                  int
	undergraduates          int
	graduates               int
	courses, graduateCourse [maxFaculty + 1]int // faculty member f teaches the courses [c[f], c[f+1])
	papers                  [maxFaculty]int
}

func (g lubm) departments(university int64) int {
	r := newStream(g.seed, tagUniversity, uint64(university))
	return r.intBetween(15, maxDepartments)
}

func (g lubm) shape(university int64, department int) *departmentShape {
	d := &departmentShape{
		seed: derive(g.seed, tagDepartment, uint64(university)*maxDepartments+uint64(department)),
	}
	r := newStream(d.seed, tagDepartment, 0)
	for rank, bounds := range rankCounts {
		d.ranks[rank] = r.intBetween(bounds[0], bounds[1])
		for range d.ranks[rank] {
			f := d.faculty
			d.courses[f+1] = d.courses[f] + r.intBetween(1, 2)
			d.graduateCourse[f+1] = d.graduateCourse[f] + r.intBetween(1, 2)
			d.papers[f] = r.intBetween(rankPapers[rank][0], rankPapers[rank][1])
			d.faculty++
		}
	}
	d.groups = r.intBetween(10, 20)
	d.undergraduates = d.faculty*8 + r.n(d.faculty*6+1)
	d.graduates = d.faculty*3 + r.n(d.faculty+1)
	return d
}

// professors returns the number of faculty without lecturers. Lecturers come last.
func (d *departmentShape) professors() int { return d.faculty - d.ranks[lecturer] }

func drawPublication(r *stream) (coauthors int) { return r.n(3) }

func drawUndergraduate(r *stream) (courses int, advised bool) {
	return r.intBetween(2, 4), r.oneIn(5)
}

// drawGraduate returns the number of the student's courses. assists is 0 for a teaching assistant,
// 1 for a research assistant, and 2 or 3 for neither.
func drawGraduate(r *stream) (courses, assists int) { return r.intBetween(1, 3), r.n(4) }
