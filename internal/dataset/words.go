// The vocabularies of natural-looking text: common words and words made of syllables.

package dataset

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// wordOctaves is the size of a vocabulary in octaves of stream.zipf.
const wordOctaves = 14

// language holds the parts of words and names. tag is its language tag in RDF, separator is put
// between words, and stop at the end of a sentence.
type language struct {
	tag, separator, stop string
	common               string // the most frequent words, in descending order of frequency
	syllables            string
	given, family        string
}

// vocabulary holds the words of a language: a list of common words, and 16,000 rarer ones made of
// syllables. A smaller index is a more frequent word. It is immutable.
type vocabulary struct {
	language
	words         []string
	runes         []uint8 // lengths of words
	given, family []string
}

// vocabularies returns one vocabulary for each of the languages. They are the same for all seeds.
var vocabularies = sync.OnceValue(func() []*vocabulary {
	all := make([]*vocabulary, len(languages))
	for i, l := range languages {
		all[i] = newVocabulary(l, uint64(i))
	}
	return all
})

// english is the index of English in languages and in tables by language.
const english = 0

func newVocabulary(l language, number uint64) *vocabulary {
	v := &vocabulary{
		language: l,
		words:    strings.Fields(l.common),
		given:    strings.Fields(l.given),
		family:   strings.Fields(l.family),
	}
	r := newStream(0x776f726473, 0, number)
	syllables := strings.Fields(l.syllables)
	for len(v.words) < 1<<wordOctaves-1 {
		var b strings.Builder
		for range r.intBetween(2, 4) {
			b.WriteString(syllables[r.zipf(5)%len(syllables)])
		}
		v.words = append(v.words, b.String())
	}
	v.runes = make([]uint8, len(v.words))
	for i, w := range v.words {
		v.runes[i] = uint8(utf8.RuneCountInString(w))
	}
	return v
}

// appendWords appends n of the 1<<octaves - 1 most frequent words.
func (v *vocabulary) appendWords(dst []byte, r *stream, n, octaves int) []byte {
	for i := range n {
		if i > 0 {
			dst = append(dst, v.separator...)
		}
		dst = append(dst, v.words[r.zipf(octaves)]...)
	}
	return dst
}

// appendName appends a person's name.
func (v *vocabulary) appendName(dst []byte, r *stream) []byte {
	dst = append(dst, v.given[r.n(len(v.given))]...)
	dst = append(dst, ' ')
	return append(dst, v.family[r.n(len(v.family))]...)
}

var languages = []language{
	{
		tag: "en", separator: " ", stop: ".",
		common: `the and of to a in is for with it on that this you as are be from at by or your an can not we all
			will has more one use was which have new our their when time made also out up than other about its
			water light size good hand day work home very set case only over any into well small easy black high
			year first white long fits life design quality product available include material weight garden`,
		syllables: `er in al tion re ing con ter en de ma li ra per sta com tra ver pro men der ble sen car
			ton ful gra ster lin mar`,
		given: `James Mary Olivia Noah Emma Liam Grace Henry Alice George Ruth Arthur Siân Zoë Chloë Edith Walter
			Iris Hugh Nora`,
		family: `Smith Jones Taylor Brown Wilson Evans Walker Wright Green Hall Wood Clarke Turner Hill O'Neill
			Carter Brontë Shaw Fox Webb`,
	},
	{
		tag: "de", separator: " ", stop: ".",
		common: `die der und in das mit für ist den von zu auf ein eine sich im nicht auch dem als an es aus bei oder
			wird sind einer durch werden zum nach über sehr wie einem hat aber noch nur kann bis zur mehr größe
			farbe zeit gut schön haus licht wasser grün weiß jahr leicht tür straße früher natürlich qualität
			gerät geprüft geeignet höhe länge gewicht`,
		syllables: `en er ge ver be ung lich keit sch ein stel ter schaft ten heit haf bar zei wer gen ü ö ä lan
			ber ste for mel trä ßen`,
		given: `Jürgen Käthe Sören Anna Lukas Hannah Björn Grete Karl Emilie Moritz Frieda Götz Lotte Heinz Ursula
			Zoë Paul Mia Max`,
		family: `Müller Schmidt Schröder Fischer Weiß Schäfer Groß Köhler Krüger Böhm Jäger Vogt Günther Möller
			Strauß Kühn Busch Lang Voß Zöllner`,
	},
	{
		tag: "fr", separator: " ", stop: ".",
		common: `de la le et les des en un une du pour à dans est que par sur plus au avec ce il qui se ne sont pas aux
			vous cette son sa ou être très tout même bien été peut fait votre nos après deux où elle leur sans
			qualité légère taille année lumière maison eau jour façon élégant côté forêt garçon œuvre cœur hauteur
			prêt durée matière modèle`,
		syllables: `re té on en an ment eur ion é le que ti ra lé ma ou ai per con pré dé res vi la sé ver ble ère
			our çon`,
		given: `Hélène François Léa Zoé Émile Benoît Chloé Rémi Agnès Noël Inès Gaëlle Jérôme Maëlle Lucie Hugo
			Camille Louis Jules Élise`,
		family: `Lefèvre Martin Dubois Gérard Bézier Rousseau Fournier Lemaître Besançon Girard Béranger Mercier
			Blanchet Guérin Châtelet Noël Leclercq Prévost Renard Sévigné`,
	},
	{
		tag: "pt-BR", separator: " ", stop: ".",
		common: `de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à
			seu sua ou ser quando muito há nos já está eu também só pelo pela até isso ela entre era depois sem
			mesmo aos ter seus quem nas me esse eles estão você tinha água luz ano tamanho coração avião função
			pão leve altura`,
		syllables: `ção ra do ta de co men ri ca to es pa se ma te li po não do são vi lo ni ba re qui lhe nho fi
			gua`,
		given: `João Maria José Ana Antônio Luís Inês Conceição Tomé Glória Fábio Júlia Sérgio Íris Otávio Débora
			César Letícia Raí Mônica`,
		family: `Silva Santos Conceição Araújo Gonçalves Magalhães Simões Falcão Brandão Leão Assunção Galvão Peçanha
			Guimarães Lemos Castro Moraes Vidal Luz Paixão`,
	},
	{
		tag: "ru", separator: " ", stop: ".",
		common: `и в не на что с по как это он из для у за к но все так же от бы только или мы был еще быть до год вы
			их при время очень можно день после дом свет вода цвет размер качество легкий новый хороший большой
			белый черный жизнь работа высота вес`,
		syllables: `ни ст ра но ко ть ен то ров ла ки пре ос ва ли те по на ре про ме де ти ка ль ся до ви об за`,
		given: `Анна Иван Ольга Пётр Мария Фёдор Наталья Дмитрий Юлия Сергей Елена Лев Алёна Игорь Софья Глеб Ирина
			Яков Вера Юрий`,
		family: `Иваненко Смирнов Кузнец Попов Соколов Лебедев Козлов Новик Морозов Волков Зайцев Соловей Щербак
			Королёв Гусев Белых Журавель Черных Мельник Шмелёв`,
	},
	{
		tag: "ja", separator: "", stop: "。",
		common: `の に は を た が で て と し れ さ ある いる も する から な こと として い や など なっ ない この ため
			その 年 日 大 人 中 水 光 家 色 白 黒 新しい 良い 大きさ 品質 製品 仕事 生活 時間 軽い 高さ 重さ 庭 本 写真 図書館 大学`,
		syllables: `ん い か し と の は り た こ さ ー ス ト ル ラ リ 学 物 品 山 川 木 手 力 田 気 上 下 心`,
		given:     `花子 太郎 陽子 健 美咲 翔太 直樹 さくら 明 恵 結衣 大輔 千尋 拓也 葵 蓮 凛 悠斗 莉子 湊`,
		family:    `佐藤 鈴木 高橋 田中 伊藤 渡辺 山本 中村 小林 加藤 吉田 山田 佐々木 松本 井上 木村 清水 林 斎藤 森`,
	},
}
