// The names of departments, in six languages.

package dataset

// subjects are the names of departments, each in all languages in the order of languages.
var subjects = [25][6]string{
	{"Mathematics", "Mathematik", "Mathématiques", "Matemática", "Математика", "数学"},
	{"Physics", "Physik", "Physique", "Física", "Физика", "物理学"},
	{"Chemistry", "Chemie", "Chimie", "Química", "Химия", "化学"},
	{"Biology", "Biologie", "Biologie", "Biologia", "Биология", "生物学"},
	{"Computer Science", "Informatik", "Informatique", "Ciência da Computação", "Информатика", "計算機科学"},
	{"History", "Geschichte", "Histoire", "História", "История", "歴史学"},
	{"Philosophy", "Philosophie", "Philosophie", "Filosofia", "Философия", "哲学"},
	{"Economics", "Volkswirtschaft", "Économie", "Economia", "Экономика", "経済学"},
	{"Law", "Rechtswissenschaft", "Droit", "Direito", "Право", "法学"},
	{"Medicine", "Medizin", "Médecine", "Medicina", "Медицина", "医学"},
	{"Geology", "Geologie", "Géologie", "Geologia", "Геология", "地質学"},
	{"Geography", "Erdkunde", "Géographie", "Geografia", "География", "地理学"},
	{"Astronomy", "Astronomie", "Astronomie", "Astronomia", "Астрономия", "天文学"},
	{"Linguistics", "Sprachwissenschaft", "Linguistique", "Linguística", "Языкознание", "言語学"},
	{"Psychology", "Psychologie", "Psychologie", "Psicologia", "Психология", "心理学"},
	{"Sociology", "Soziologie", "Sociologie", "Sociologia", "Социология", "社会学"},
	{"Music", "Musik", "Musique", "Música", "Музыка", "音楽"},
	{"Architecture", "Architektur", "Architecture", "Arquitetura", "Архитектура", "建築学"},
	{"Statistics", "Statistik", "Statistique", "Estatística", "Статистика", "統計学"},
	{"Engineering", "Ingenieurwesen", "Génie civil", "Engenharia", "Инженерное дело", "工学"},
	{"Botany", "Pflanzenkunde", "Botanique", "Botânica", "Ботаника", "植物学"},
	{"Zoology", "Zoologie", "Zoologie", "Zoologia", "Зоология", "動物学"},
	{"Education", "Erziehungswissenschaft", "Éducation", "Educação", "Педагогика", "教育学"},
	{"Theology", "Theologie", "Théologie", "Teologia", "Теология", "神学"},
	{"Oceanography", "Meereskunde", "Océanographie", "Oceanografia", "Океанология", "海洋学"},
}
