// The statements of a department of LUBM.

package dataset

import "strconv"

// Classes and properties in the form of a line.
const (
	univ = "<" + univNS

	pName           = " " + univ + "name> "
	pEmail          = " " + univ + "emailAddress> "
	pTelephone      = " " + univ + "telephone> "
	pAge            = " " + univ + "age> "
	pBirthDate      = " " + univ + "birthDate> "
	pSubOrg         = " " + univ + "subOrganizationOf> "
	pWorksFor       = " " + univ + "worksFor> "
	pHeadOf         = " " + univ + "headOf> "
	pMemberOf       = " " + univ + "memberOf> "
	pTeacherOf      = " " + univ + "teacherOf> "
	pTakesCourse    = " " + univ + "takesCourse> "
	pAssistantOf    = " " + univ + "teachingAssistantOf> "
	pAdvisor        = " " + univ + "advisor> "
	pUndergradFrom  = " " + univ + "undergraduateDegreeFrom> "
	pMastersFrom    = " " + univ + "mastersDegreeFrom> "
	pDoctoralFrom   = " " + univ + "doctoralDegreeFrom> "
	pAuthor         = " " + univ + "publicationAuthor> "
	pInterest       = " " + univ + "researchInterest> "
	pTenured        = " " + univ + "tenured> "
	pPublic         = " " + univ + "public> "
	pCredits        = " " + univ + "credits> "
	pGPA            = " " + univ + "gpa> "
	pEnrolled       = " " + univ + "enrolled> "
	pPublished      = " " + univ + "published> "
	referenceYear   = 2025
	researchTopics  = 30
	studentMinAge   = 17
	graduateMinAge  = 21
	professorMinAge = 28
)

// emit implements source.
func (g lubm) emit(e *emitter, unit int64) {
	university, department := unit/unitsAUniversity, int(unit%unitsAUniversity)-1
	switch {
	case department < 0:
		g.emitUniversity(e, university)
	case department < g.departments(university):
		d := newDepartmentWriter(e, g.shape(university, department), university, department)
		d.emitOrganisations()
		d.emitFaculty()
		d.emitUndergraduates()
		d.emitGraduates()
	}
}

func (g lubm) emitUniversity(e *emitter, university int64) {
	s := appendUniversity(nil, int(university))
	number := strconv.FormatInt(university, 10)
	r := newStream(g.seed, tagUniversity, uint64(university))
	r.intBetween(15, maxDepartments) // the number of departments: see lubm.departments
	e.term(s, rdfType, univ+"University>")
	e.term(s, pName, `"University`+number+`"`)
	e.boolean(s, pPublic, r.oneIn(2))
	e.text(s, rdfsLabel, "University "+number, "en")
	e.text(s, rdfsLabel, "Universität "+number, "de")
	e.text(s, rdfsLabel, "大学 "+number, "ja")
}

func appendUniversity(dst []byte, number int) []byte {
	dst = append(dst, "<http://www.University"...)
	dst = strconv.AppendInt(dst, int64(number), 10)
	return append(dst, ".edu>"...)
}

// departmentWriter writes one department. Each of its byte slices is an IRI, and is overwritten by
// the next thing of its kind.
type departmentWriter struct {
	*emitter
	*departmentShape
	which      int    // number of the department in its university
	host       string // Department0.University0.edu
	department []byte
	university []byte
	subject    []byte
	object     []byte
	subjects   *[6]string // of the department, by language
	phone      string     // the first digits of its telephone numbers
}

func newDepartmentWriter(e *emitter, shape *departmentShape, university int64, department int) *departmentWriter {
	d := &departmentWriter{
		emitter:         e,
		departmentShape: shape,
		which:           department,
		host:            "Department" + strconv.Itoa(department) + ".University" + strconv.FormatInt(university, 10) + ".edu",
		university:      appendUniversity(nil, int(university)),
		subjects:        &subjects[(university+int64(department))%int64(len(subjects))],
		phone:           "+1-" + strconv.FormatInt(200+university%800, 10) + "-" + strconv.Itoa(200+department) + "-",
	}
	d.department = append(d.department, "<http://www."+d.host+">"...)
	return d
}

// thing appends the IRI of a thing of the department.
func (d *departmentWriter) thing(dst []byte, name string, number int) []byte {
	dst = append(dst, "<http://www."...)
	dst = append(dst, d.host...)
	dst = append(dst, '/')
	dst = append(dst, name...)
	dst = strconv.AppendInt(dst, int64(number), 10)
	return append(dst, '>')
}

// member appends the IRI of a faculty member.
func (d *departmentWriter) member(dst []byte, f int) []byte {
	rank, number := d.rank(f)
	return d.thing(dst, rankNames[rank], number)
}

// rank returns a faculty member's rank, and its number within the rank.
func (d *departmentWriter) rank(f int) (rank, number int) {
	for f >= d.ranks[rank] {
		f -= d.ranks[rank]
		rank++
	}
	return rank, f
}

// person writes the 4 triples of every person.
func (d *departmentWriter) person(r *stream, class string, number int) {
	d.term(d.subject, rdfType, univ+class+">")
	d.open(d.subject, pName)
	d.nameNumber(class, number)
	d.open(d.subject, pEmail)
	d.buf = append(d.buf, '"')
	d.buf = append(d.buf, class...)
	d.number(number)
	d.buf = append(d.buf, '@')
	d.buf = append(d.buf, d.host...)
	d.buf = append(d.buf, '"')
	d.end()
	d.open(d.subject, pTelephone)
	d.buf = append(d.buf, '"')
	d.buf = append(d.buf, d.phone...)
	digits := r.n(10000)
	d.buf = appendTwo(d.buf, digits/100)
	d.buf = appendTwo(d.buf, digits%100)
	d.buf = append(d.buf, '"')
	d.end()
}

// nameNumber ends a line with a plain string such as "Course7".
func (d *departmentWriter) nameNumber(name string, number int) {
	d.buf = append(d.buf, '"')
	d.buf = append(d.buf, name...)
	d.number(number)
	d.buf = append(d.buf, '"')
	d.end()
}

func (d *departmentWriter) born(r *stream, age int) {
	d.integer(d.subject, pAge, age)
	d.date(d.subject, pBirthDate, referenceYear-age, r.intBetween(1, 12), r.intBetween(1, 28))
}

func (d *departmentWriter) degree(r *stream, p string) {
	d.object = appendUniversity(d.object[:0], r.n(alumniOf))
	d.ref(d.subject, p, d.object)
}

func (d *departmentWriter) emitOrganisations() {
	d.term(d.department, rdfType, univ+"Department>")
	d.open(d.department, pName)
	d.nameNumber("Department", d.which)
	d.ref(d.department, pSubOrg, d.university)
	other := 2 + d.which%(len(languages)-2)
	d.text(d.department, rdfsLabel, "Department of "+d.subjects[english], "en")
	d.text(d.department, rdfsLabel, "Institut für "+d.subjects[1], "de")
	d.text(d.department, rdfsLabel, d.subjects[other], languages[other].tag)
	for i := range d.groups {
		d.subject = d.thing(d.subject[:0], "ResearchGroup", i)
		d.term(d.subject, rdfType, univ+"ResearchGroup>")
		d.ref(d.subject, pSubOrg, d.department)
	}
}

func (d *departmentWriter) emitFaculty() {
	paper := 0
	for f := 0; f < d.faculty && !d.done(); f++ {
		// 1. The member. The draws must stay in this order, because the golden data depend on it.
		rank, number := d.rank(f)
		r := newStream(d.seed, tagFaculty, uint64(f))
		d.subject = d.member(d.subject[:0], f)
		if f == 0 {
			d.ref(d.subject, pHeadOf, d.department)
		}
		d.person(&r, rankNames[rank], number)
		d.ref(d.subject, pWorksFor, d.department)
		d.degree(&r, pUndergradFrom)
		d.degree(&r, pMastersFrom)
		d.degree(&r, pDoctoralFrom)
		d.born(&r, professorMinAge+r.n(43))
		// 2. The name in one language, then the extra triples of professors.
		v := vocabularies()[r.n(len(languages))]
		d.open(d.subject, rdfsLabel)
		d.buf = append(d.buf, '"')
		d.buf = v.appendName(d.buf, &r)
		d.endText(v.tag)
		if rank != lecturer {
			d.open(d.subject, pInterest)
			d.nameNumber("Research", r.n(researchTopics))
			d.boolean(d.subject, pTenured, rank == fullProfessor || r.oneIn(3))
		}
		// 3. The courses and publications. Their numbers must be those of triples.
		d.teach("Course", tagCourse, d.courses[f], d.courses[f+1])
		d.teach("GraduateCourse", tagGraduateCourse, d.graduateCourse[f], d.graduateCourse[f+1])
		for i := range d.papers[f] {
			d.publication(f, i, paper)
			paper++
		}
	}
}

// teach writes the courses [from, to) with the subject as their teacher.
func (d *departmentWriter) teach(class string, tag uint64, from, to int) {
	for i := from; i < to; i++ {
		r := newStream(d.seed, tag, uint64(i))
		d.object = d.thing(d.object[:0], class, i)
		d.ref(d.subject, pTeacherOf, d.object)
		d.term(d.object, rdfType, univ+class+">")
		d.open(d.object, pName)
		d.nameNumber(class, i)
		d.integer(d.object, pCredits, r.intBetween(1, 6))
		for _, language := range [2]int{english, r.intBetween(1, len(languages)-1)} {
			d.open(d.object, rdfsLabel)
			d.buf = append(d.buf, '"')
			d.buf = append(d.buf, d.subjects[language]...)
			d.buf = append(d.buf, ' ')
			if class == "GraduateCourse" {
				d.buf = append(d.buf, 'G')
			}
			d.number(i)
			d.endText(languages[language].tag)
		}
	}
}

// publication writes a faculty member's publication, given by its number for the member and in the
// department.
func (d *departmentWriter) publication(f, number, paper int) {
	r := newStream(d.seed, tagPublication, uint64(paper))
	coauthors := drawPublication(&r)
	d.object = d.member(d.object[:0], f)
	s := append(d.subject[:0], d.object[:len(d.object)-1]...)
	s = append(s, "/Publication"...)
	s = strconv.AppendInt(s, int64(number), 10)
	s = append(s, '>')
	d.term(s, rdfType, univ+"Publication>")
	d.open(s, pName)
	d.nameNumber("Publication", number)
	d.ref(s, pAuthor, d.object)
	var students [2]int
	r.distinct(students[:coauthors], d.graduates)
	for _, student := range students[:coauthors] {
		d.object = d.thing(d.object[:0], "GraduateStudent", student)
		d.ref(s, pAuthor, d.object)
	}
	d.dateTime(s, pPublished, r.intBetween(1995, 2025), r.intBetween(1, 12), r.intBetween(1, 28), r.n(24*60)*60)
	v := vocabularies()[r.zipf(3)%len(languages)]
	d.open(s, rdfsLabel)
	d.buf = append(d.buf, '"')
	d.buf = v.appendWords(d.buf, &r, r.intBetween(3, 6), 10)
	d.endText(v.tag)
	d.subject = s
}

func (d *departmentWriter) emitUndergraduates() {
	var taken [4]int
	for i := 0; i < d.undergraduates && !d.done(); i++ {
		r := newStream(d.seed, tagUndergraduate, uint64(i))
		courses, advised := drawUndergraduate(&r)
		d.subject = d.thing(d.subject[:0], "UndergraduateStudent", i)
		d.person(&r, "UndergraduateStudent", i)
		d.student(&r)
		d.integer(d.subject, pAge, studentMinAge+r.n(4)+r.n(5))
		r.distinct(taken[:courses], d.courses[d.faculty])
		d.take("Course", taken[:courses])
		if advised {
			d.object = d.member(d.object[:0], r.n(d.professors()))
			d.ref(d.subject, pAdvisor, d.object)
		}
	}
}

func (d *departmentWriter) emitGraduates() {
	var taken [3]int
	for i := 0; i < d.graduates && !d.done(); i++ {
		r := newStream(d.seed, tagGraduate, uint64(i))
		courses, assists := drawGraduate(&r)
		d.subject = d.thing(d.subject[:0], "GraduateStudent", i)
		d.person(&r, "GraduateStudent", i)
		d.student(&r)
		d.born(&r, graduateMinAge+r.n(7)+r.n(8))
		d.degree(&r, pUndergradFrom)
		d.object = d.member(d.object[:0], r.n(d.professors()))
		d.ref(d.subject, pAdvisor, d.object)
		r.distinct(taken[:courses], d.graduateCourse[d.faculty])
		d.take("GraduateCourse", taken[:courses])
		switch assists {
		case 0:
			d.term(d.subject, rdfType, univ+"TeachingAssistant>")
			d.object = d.thing(d.object[:0], "Course", r.n(d.courses[d.faculty]))
			d.ref(d.subject, pAssistantOf, d.object)
		case 1:
			d.term(d.subject, rdfType, univ+"ResearchAssistant>")
		}
	}
}

// student writes the 3 triples of every student.
func (d *departmentWriter) student(r *stream) {
	d.ref(d.subject, pMemberOf, d.department)
	d.decimal(d.subject, pGPA, 100+r.n(151)+r.n(151))
	month := 9
	if r.oneIn(4) {
		month = 2
	}
	d.dateTime(d.subject, pEnrolled, r.intBetween(2018, 2025), month, r.intBetween(1, 28), r.intBetween(8, 17)*3600)
}

func (d *departmentWriter) take(class string, courses []int) {
	for _, c := range courses {
		d.object = d.thing(d.object[:0], class, c)
		d.ref(d.subject, pTakesCourse, d.object)
	}
}
